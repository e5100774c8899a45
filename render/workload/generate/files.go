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

// The ends of the names of the objects that hold files: one object of each kind for all
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

// fileVolume is a volume of the pod that holds files.
type fileVolume struct {
	name  string
	items []object.Value
}

// filing sorts the files of a workload into volumes.
type filing struct {
	errs                       *mistakes
	backend                    backend
	volumes                    *volumes
	data, binary               members
	sealed                     members
	secret                     externalSecret
	configVolume, secretVolume fileVolume
	sealedVolume               fileVolume
	// clusterVolumes are volumes of Secrets of the cluster, by the name of the Secret in
	// the order in which files name them.
	clusterVolumes []*fileVolume
	clusterSecrets []string
	// The files of the ConfigMap, of the ExternalSecret and of the Secret whose data is in
	// the manifests.
	configFiles, secretFiles, sealedFiles []keyedFile
}

// mountFiles mounts every file by itself, so that other files of the image in the same directory
// stay. Plain files come from the ConfigMap, files with secrets from the Secret that an
// ExternalSecret makes, and files that equal a key of a Secret of the cluster from that Secret.
func mountFiles(errs *mistakes, r *Resolved, v *volumes) objects {
	files := keyedFiles(r.Containers)
	if len(files) == 0 {
		return objects{}
	}
	f := &filing{errs: errs, backend: backend{&r.Config.Secrets}, volumes: v}
	for _, p := range files {
		f.add(p)
	}

	// Check the size of each object.
	errs.checkSize("the ConfigMap of the files", len(f.configFiles), func(i int) int {
		p := f.configFiles[i]
		return len(p.key) + len(p.file.Content.Plain()) + len(p.file.Binary)
	}, func(i int) (object.Pos, object.Path) { return f.configFiles[i].source(), f.path(f.configFiles[i]) })
	errs.checkSize("the Secret of the files", len(f.secretFiles), func(i int) int {
		return len(f.secretFiles[i].key) + len(f.secret.templates[i].Value.Text)
	}, func(i int) (object.Pos, object.Path) { return f.secretFiles[i].source(), f.path(f.secretFiles[i]) })
	errs.checkSize("the Secret of the files in the manifests", len(f.sealedFiles), func(i int) int {
		return len(f.sealedFiles[i].key) + len(f.sealed[i].Value.Text)*3/4
	}, func(i int) (object.Pos, object.Path) { return f.sealedFiles[i].source(), f.path(f.sealedFiles[i]) })
	return f.finish(r.Workload.Name.Value)
}

func (f *filing) path(p keyedFile) object.Path {
	return f.errs.path("containers", p.name, "files", p.file.Spec.Target)
}

// add puts one file into its volume.
func (f *filing) add(p keyedFile) {
	switch pieces := p.file.Content.Pieces; {
	case p.file.Spec.Secret.IsValid() && !p.file.Content.Tainted():
		f.seal(p)
	case !p.file.IsText:
		f.binary.put(p.key, object.TextAt(base64.StdEncoding.EncodeToString(p.file.Binary), p.pos()))
		f.addToConfig(p)
	case !p.file.Content.Tainted():
		warnValue(f.errs, p.file.Content.private(), p.pos(), f.path(p))
		f.data.put(p.key, object.TextAt(p.file.Content.Plain(), p.pos()))
		f.addToConfig(p)
	case len(pieces) == 1 && f.backend.direct(pieces[0]):
		if checkReadable(f.errs, pieces[0].Secret, p.pos(), f.path(p)) {
			v := f.inSecret(pieces[0].Secret.Key)
			f.mount(v, p, pieces[0].Secret.Property)
		}
	case f.checkWritable(p, pieces):
		warnUnescaped(f.errs, pieces, p.pos(), f.path(p))
		f.secret.addTemplate(p.key, p.pos(), pieces, p.pos())
		f.secretFiles = append(f.secretFiles, p)
		f.secretVolume.name = f.volumes.name(f.secretVolume.name, filesSecret)
		f.mount(&f.secretVolume, p, p.key)
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
	f.sealedFiles = append(f.sealedFiles, p)
	f.sealedVolume.name = f.volumes.name(f.sealedVolume.name, "files-own")
	f.mount(&f.sealedVolume, p, p.key)
}

func (f *filing) addToConfig(p keyedFile) {
	f.configFiles = append(f.configFiles, p)
	f.configVolume.name = f.volumes.name(f.configVolume.name, filesConfig)
	f.mount(&f.configVolume, p, p.key)
}

// inSecret returns the volume of a Secret of the cluster, and adds it if it is new.
func (f *filing) inSecret(name string) *fileVolume {
	i := slices.Index(f.clusterSecrets, name)
	if i < 0 {
		i = len(f.clusterSecrets)
		f.clusterSecrets = append(f.clusterSecrets, name)
		f.clusterVolumes = append(f.clusterVolumes, &fileVolume{name: f.volumes.name("", "secret-"+strings.ReplaceAll(name, ".", "-"))})
	}
	return f.clusterVolumes[i]
}

// checkWritable reports whether an ExternalSecret can make the text of a file, and adds a mistake if
// it cannot.
func (f *filing) checkWritable(p keyedFile, pieces []Piece) bool {
	for _, s := range pieces {
		if s.Secret == nil || !f.backend.clustered(s) {
			continue
		}
		if !f.backend.external() {
			f.errs.fail(p.pos(), f.path(p), "let the file hold the secret only, or use the backend external-secrets",
				"the file has text around %s, which the backend kubernetes cannot write", s.Secret.reference())
			return false
		}
		if f.backend.config.KubernetesStore == "" {
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

// mount adds a file to its volume and to the mounts of its container. The argument key is the key in
// the object; the file in the volume is called p.key.
func (f *filing) mount(v *fileVolume, p keyedFile, key string) {
	target := p.file.Spec
	var mode object.Value
	if target.Mode != nil {
		mode = object.NumberAt(*target.Mode, target.ModePos)
	}
	v.items = append(v.items, MapOf(target.Pos, StringMember("key", key, target.Pos),
		StringMember("path", p.key, target.Pos), member("mode", mode)))
	mount := MapOf(target.Pos, StringMember("name", v.name, target.Pos),
		StringMember("mountPath", target.Target, target.Pos), StringMember("subPath", p.key, target.Pos),
		BoolMember("readOnly", true, target.Pos))
	f.volumes.mounts[p.container] = append(f.volumes.mounts[p.container], mount)
}

// finish adds the volumes to the pod, and returns their objects.
func (f *filing) finish(workload string) (read objects) {
	noPos := object.Pos{}
	if len(f.configVolume.items) > 0 {
		read.configs.put(filesConfig, MapOf(noPos, member("data", f.data.value(noPos)), member("binaryData", f.binary.value(noPos))))
		f.volumes.pod = append(f.volumes.pod, MapOf(noPos, StringMember("name", f.configVolume.name, noPos), member("configMap",
			MapOf(noPos, StringMember("name", workload+"-"+filesConfig, noPos), member("items", lowerList(f.configVolume.items, noPos))))))
	}
	secret := func(v *fileVolume, name string) {
		f.volumes.pod = append(f.volumes.pod, MapOf(noPos, StringMember("name", v.name, noPos), member("secret",
			MapOf(noPos, StringMember("secretName", name, noPos), member("items", lowerList(v.items, noPos))))))
	}
	if len(f.secretVolume.items) > 0 {
		read.secrets.put(filesSecret, f.secret.value(f.backend.config))
		secret(&f.secretVolume, workload+"-"+filesSecret)
	}
	if len(f.sealedVolume.items) > 0 {
		read.sealed = f.sealed
		secret(&f.sealedVolume, workload+"-"+filesConfig)
	}
	for i, v := range f.clusterVolumes {
		secret(v, f.clusterSecrets[i])
	}
	return read
}

// keyedFiles returns the files of all containers, each with a key of its own.
func keyedFiles(containers []Container) []keyedFile {
	var files []keyedFile
	for i := range containers {
		c := &containers[i]
		for j := range c.Files {
			files = append(files, keyedFile{container: i, name: c.Spec.Name, file: &c.Files[j]})
		}
	}
	if len(files) > 0 {
		nameFiles(files)
	}
	return files
}

// nameFiles gives each file its key: the container and the path with . for /. Files with equal keys
// all get a hash of container and path at the end, so that no key depends on the order of files. A
// plain key that equals a hashed key becomes hashed too, and two equal short hashes become long.
func nameFiles(files []keyedFile) {
	hashed := make([]int, len(files))
	for {
		users := make(map[string][]int, len(files))
		for i := range files {
			files[i].key = fileKey(files[i], hashed[i])
			users[files[i].key] = append(users[files[i].key], i)
		}
		clash := false
		for i := range files {
			if len(users[files[i].key]) > 1 && hashed[i] < fullHash {
				hashed[i]++
				clash = true
			}
		}
		if !clash {
			return
		}
	}
}

// fullHash limits how often the key of a file is made longer.
const fullHash = 2

// fileKey returns the key of a file: without hash, with a short hash or with a full hash.
func fileKey(p keyedFile, hashed int) string {
	const longest = 253
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
	return object.Shorten(string(key), longest-len(tail)) + tail
}

func isKeyByte(c byte) bool {
	letterOrDigit := (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
	return letterOrDigit || c == '-' || c == '_' || c == '.'
}
