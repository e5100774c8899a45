// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// The ends of the names of the objects that hold files: one of each for all
// containers of a workload.
const (
	filesConfig = "files"
	filesSecret = "files-secret"
)

// keyedFile is a file of a container with the key that holds it.
type keyedFile struct {
	container int
	name      string
	file      *File
	key       string
}

func (p keyedFile) pos() object.Pos {
	if p.file.IsText && p.file.Content.Pos.IsValid() {
		return p.file.Content.Pos
	}
	return p.file.Spec.Pos
}

// source returns the position where the author names a file whose content is not in the document.
func (p keyedFile) source() object.Pos {
	if s := p.file.Spec.Source; s != nil {
		return s.Pos
	}
	return p.pos()
}

// fileVolume is a volume of the pod in the making that holds files.
type fileVolume struct {
	name  string
	items []object.Value
}

// filing is the files of a workload on their way into volumes.
type filing struct {
	errs         *mistakes
	from         backend
	volumes      *volumes
	data, binary members
	sealed       members
	secret       externalSecret
	config, made fileVolume
	own          fileVolume
	// direct are volumes of Secrets of the cluster, by the name of the Secret in
	// the order in which files name them.
	direct  []*fileVolume
	secrets []string
	// kept, hidden and shut are the files of the ConfigMap, of the ExternalSecret and of the
	// Secret whose data is in the manifests.
	kept, hidden, shut []keyedFile
}

// mountFiles mounts every file by itself, so that other files of the image in the same directory
// stay. Plain files come from the ConfigMap, those with secrets from the Secret that an
// ExternalSecret makes, and those that are a Secret of the cluster from there.
func mountFiles(errs *mistakes, r *Resolved, v *volumes) objects {
	all := keyedFiles(r.Containers)
	if len(all) == 0 {
		return objects{}
	}
	f := &filing{errs: errs, from: backend{&r.Config.Secrets}, volumes: v}
	for _, p := range all {
		f.add(p)
	}
	errs.checkSize("the ConfigMap of the files", len(f.kept), func(i int) int {
		p := f.kept[i]
		return len(p.key) + len(p.file.Content.Plain()) + len(p.file.Binary)
	}, func(i int) (object.Pos, object.Path) { return f.kept[i].source(), f.path(f.kept[i]) })
	errs.checkSize("the Secret of the files", len(f.hidden), func(i int) int {
		return len(f.hidden[i].key) + len(f.secret.templates[i].Value.Text)
	}, func(i int) (object.Pos, object.Path) { return f.hidden[i].source(), f.path(f.hidden[i]) })
	errs.checkSize("the Secret of the files in the manifests", len(f.shut), func(i int) int {
		return len(f.shut[i].key) + len(f.sealed[i].Value.Text)*3/4
	}, func(i int) (object.Pos, object.Path) { return f.shut[i].source(), f.path(f.shut[i]) })
	return f.finish(r.Workload.Name.Value)
}

func (f *filing) path(p keyedFile) object.Path {
	return f.errs.at("containers", p.name, "files", p.file.Spec.Target)
}

// add puts one file into the volume that it comes from.
func (f *filing) add(p keyedFile) {
	switch pieces := p.file.Content.Pieces; {
	case p.file.Spec.Secret.IsValid() && !p.file.Content.Tainted():
		f.seal(p)
	case !p.file.IsText:
		f.binary.put(p.key, object.TextAt(base64.StdEncoding.EncodeToString(p.file.Binary), p.pos()))
		f.keep(p)
	case !p.file.Content.Tainted():
		warnValue(f.errs, p.file.Content.private(), p.pos(), f.path(p))
		f.data.put(p.key, object.TextAt(p.file.Content.Plain(), p.pos()))
		f.keep(p)
	case len(pieces) == 1 && f.from.direct(pieces[0]):
		if checkReadable(f.errs, pieces[0].Secret, p.pos(), f.path(p)) {
			v := f.inSecret(pieces[0].Secret.Key)
			f.mount(v, p, pieces[0].Secret.Property)
		}
	case f.checkWritable(p, pieces):
		warnUnescaped(f.errs, pieces, p.pos(), f.path(p))
		f.secret.addTemplate(p.key, p.pos(), pieces, p.pos())
		f.hidden = append(f.hidden, p)
		f.made.name = f.volumes.name(f.made.name, filesSecret)
		f.mount(&f.made, p, p.key)
	}
}

// seal puts a file into a Secret, which the author has to allow: its content is in the manifests.
func (f *filing) seal(p keyedFile) {
	name := f.errs.document.Name.Value + "-" + filesConfig
	allows := func(pattern score.Text) bool {
		matched, err := path.Match(pattern.Value, name)
		return err == nil && matched
	}
	if !slices.ContainsFunc(f.errs.document.AllowSecrets, allows) {
		f.errs.fail(p.file.Spec.Secret, f.path(p).Append(object.Field("secret")),
			"write "+f.errs.extra("allowSecrets").String()+": ["+name+"], or use a secret of the store",
			"the file is in the manifests with the Secret %q, which nothing allows", name)
		return
	}
	content := p.file.Binary
	if p.file.IsText {
		content = []byte(p.file.Content.Plain())
	}
	f.sealed.put(p.key, object.TextAt(base64.StdEncoding.EncodeToString(content), p.pos()))
	f.shut = append(f.shut, p)
	f.own.name = f.volumes.name(f.own.name, "files-own")
	f.mount(&f.own, p, p.key)
}

func (f *filing) keep(p keyedFile) {
	f.kept = append(f.kept, p)
	f.config.name = f.volumes.name(f.config.name, filesConfig)
	f.mount(&f.config, p, p.key)
}

// inSecret returns the volume of a Secret of the cluster, and adds it if it is new.
func (f *filing) inSecret(name string) *fileVolume {
	i := slices.Index(f.secrets, name)
	if i < 0 {
		i = len(f.secrets)
		f.secrets = append(f.secrets, name)
		f.direct = append(f.direct, &fileVolume{name: f.volumes.name("", "secret-"+strings.ReplaceAll(name, ".", "-"))})
	}
	return f.direct[i]
}

// checkWritable reports whether an ExternalSecret can make the text of a file. It adds a mistake
// if not.
func (f *filing) checkWritable(p keyedFile, pieces []Piece) bool {
	for _, s := range pieces {
		if s.Secret == nil || !f.from.clustered(s) {
			continue
		}
		if !f.from.external() {
			f.errs.fail(p.pos(), f.path(p), "let the file hold the secret only, or use the backend external-secrets",
				"the file has text around %s, which the backend kubernetes cannot write", s.Secret.reference())
			return false
		}
		if f.from.config.KubernetesStore == "" {
			f.errs.fail(p.pos(), f.path(p), kubernetesStoreHint,
				"the file has text around %s, a Secret of the cluster, which External Secrets can read from a store only", s.Secret.reference())
			return false
		}
		if !checkReadable(f.errs, s.Secret, p.pos(), f.path(p)) {
			return false
		}
	}
	return true
}

// mount adds a file to its volume and to the mounts of its container. The file has the name p.key
// in the volume, whatever its key in the object is.
func (f *filing) mount(v *fileVolume, p keyedFile, key string) {
	target := p.file.Spec
	var mode object.Value
	if target.Mode != nil {
		mode = object.NumberAt(*target.Mode, target.ModePos)
	}
	v.items = append(v.items, MapOf(target.Pos, StringMember("key", key, target.Pos),
		StringMember("path", p.key, target.Pos), with("mode", mode)))
	f.volumes.mounts[p.container] = append(f.volumes.mounts[p.container], MapOf(target.Pos, StringMember("name", v.name, target.Pos),
		StringMember("mountPath", target.Target, target.Pos), StringMember("subPath", p.key, target.Pos),
		BoolMember("readOnly", true, target.Pos)))
}

// finish adds the volumes to the pod, and returns the objects that they are made of.
func (f *filing) finish(workload string) (made objects) {
	none := object.Pos{}
	if len(f.config.items) > 0 {
		made.configs.put(filesConfig, MapOf(none, with("data", f.data.value(none)), with("binaryData", f.binary.value(none))))
		f.volumes.pod = append(f.volumes.pod, MapOf(none, StringMember("name", f.config.name, none), with("configMap",
			MapOf(none, StringMember("name", workload+"-"+filesConfig, none), with("items", lowerList(f.config.items, none))))))
	}
	secret := func(v *fileVolume, name string) {
		f.volumes.pod = append(f.volumes.pod, MapOf(none, StringMember("name", v.name, none), with("secret",
			MapOf(none, StringMember("secretName", name, none), with("items", lowerList(v.items, none))))))
	}
	if len(f.made.items) > 0 {
		made.secrets.put(filesSecret, f.secret.value(f.from.config))
		secret(&f.made, workload+"-"+filesSecret)
	}
	if len(f.own.items) > 0 {
		made.sealed = f.sealed
		secret(&f.own, workload+"-"+filesConfig)
	}
	for i, v := range f.direct {
		secret(v, f.secrets[i])
	}
	return made
}

// keyedFiles returns the files of all containers, each with a key of its own.
func keyedFiles(containers []Container) []keyedFile {
	var all []keyedFile
	for i := range containers {
		c := &containers[i]
		for j := range c.Files {
			all = append(all, keyedFile{container: i, name: c.Spec.Name, file: &c.Files[j]})
		}
	}
	if len(all) > 0 {
		nameFiles(all)
	}
	return all
}

// nameFiles gives each file its key: the container and the path with . for /. Files whose keys
// would be the same all get a hash of container and path at the end, so that none depends on
// which of them comes first. A plain key that equals a hashed one becomes hashed too, and two
// equal short hashes become long.
func nameFiles(all []keyedFile) {
	hashed := make([]int, len(all))
	for {
		users := make(map[string][]int, len(all))
		for i := range all {
			all[i].key = fileKey(all[i], hashed[i])
			users[all[i].key] = append(users[all[i].key], i)
		}
		clash := false
		for i := range all {
			if len(users[all[i].key]) > 1 && hashed[i] < fullHash {
				hashed[i]++
				clash = true
			}
		}
		if !clash {
			return
		}
	}
}

// fullHash is how often the key of a file can be made longer.
const fullHash = 2

// fileKey returns the key of a file: with no hash, a short one or a full one.
func fileKey(p keyedFile, hashed int) string {
	const most = 253
	full := p.name + p.file.Spec.Target
	key := []byte(full)
	for i, c := range key {
		switch {
		case c == '/':
			key[i] = '.'
		case !isKeyByte(c):
			key[i] = '_'
		}
	}
	tail := ""
	switch {
	case hashed == 1:
		tail = "-" + object.ShortHash(full)
	case hashed > 1:
		sum := sha256.Sum256([]byte(full))
		tail = "-" + hex.EncodeToString(sum[:])
	}
	return object.Shorten(string(key), most-len(tail)) + tail
}

func isKeyByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.'
}
