// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/configmap"
	"github.com/ropewalk/ropewalk/source/flux/ignore"
	"github.com/ropewalk/ropewalk/source/local"
	"github.com/ropewalk/ropewalk/source/rootfs"
)

const (
	kindConfigMap = "ConfigMap"
	flag          = "--local-sources "
)

// sourceKinds returns the kinds of the sources of Flux.
func sourceKinds() []string {
	return []string{"GitRepository", "OCIRepository", "Bucket", "ExternalArtifact"}
}

// Sources are the folders of sources and the manifests of ConfigMaps, by Kind/namespace/name.
type Sources map[string]string

// ParseSources reads Kind/namespace/name=PATH.
func ParseSources(args []string) (Sources, error) {
	out := Sources{}
	kinds := append(sourceKinds(), kindConfigMap)
	for _, arg := range args {
		name, at, _ := strings.Cut(arg, "=")
		parts := strings.Split(name, "/")
		switch {
		case at == "" || len(parts) != 3 || slices.Contains(parts, ""):
			return nil, fmt.Errorf("%q: expected Kind/namespace/name=PATH, such as GitRepository/flux-system/app=deploy", arg)
		case parts[0] == "Secret":
			return nil, fmt.Errorf("%q: no value of a Secret gets into a render, and none is needed: credentials of modules are given with --secrets FILE", name)
		case !slices.Contains(kinds, parts[0]):
			hint := ""
			if near, ok := object.Nearest(parts[0], kinds); ok {
				hint = ": did you mean " + near + "?"
			}
			return nil, fmt.Errorf("%q: the kind is one of %s%s", name, strings.Join(kinds, ", "), hint)
		case out[name] != "":
			return nil, fmt.Errorf("%q is given twice", name)
		}
		out[name] = at
	}
	return out, nil
}

// folder is the folder of a source.
type folder struct {
	dir   string
	files rootfs.Folder // nil is none
}

// openFolder opens the folder of a source in files; nil is the disk. Files that the
// source-controller leaves out of its artifact are not in it.
func openFolder(files fs.FS, dir, source string) (folder, error) {
	var root rootfs.Folder
	var err error
	if files == nil {
		root, err = rootfs.Open(dir)
	} else {
		root, err = rootfs.Of(files, path.Clean(dir))
	}
	if err == nil {
		_, err = root.List(".", 1)
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	var gone map[string]bool
	if err == nil {
		kind, _, _ := strings.Cut(source, "/")
		gone, err = ignore.LeftOut(root, kind, "") // The field spec.ignore is in the cluster.
	}
	return folder{dir: dir, files: visible{root, gone}}, err
}

// visible is a folder without its hidden files, and without what is gone.
type visible struct {
	rootfs.Folder
	gone map[string]bool
}

// check returns an error for a name that is not in the artifact of the source.
func (v visible) check(op, name string) error {
	hidden := name != "." && strings.Contains("/"+name, "/.")
	for at := name; at != "." && at != "/" && !hidden; at = path.Dir(at) {
		hidden = v.gone[at]
	}
	if hidden {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return nil
}

// Open opens a file or a folder.
func (v visible) Open(name string) (fs.File, error) {
	if err := v.check("open", name); err != nil {
		return nil, err
	}
	f, err := v.Folder.Open(name)
	if err != nil {
		return nil, err
	}
	return struct{ fs.File }{f}, nil // ReadDir lists a folder.
}

// Stat describes the target of a name.
func (v visible) Stat(name string) (fs.FileInfo, error) {
	if err := v.check("stat", name); err != nil {
		return nil, err
	}
	return v.Folder.Stat(name)
}

// Lstat describes a name itself.
func (v visible) Lstat(name string) (fs.FileInfo, error) {
	if err := v.check("lstat", name); err != nil {
		return nil, err
	}
	return v.Folder.Lstat(name)
}

// ReadDir implements [fs.ReadDirFS].
func (v visible) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := v.check("readdir", name); err != nil {
		return nil, err
	}
	return v.List(name, math.MaxInt)
}

// List lists a folder.
func (v visible) List(name string, most int) ([]fs.DirEntry, error) {
	entries, err := v.Folder.List(name, most)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return v.check("list", path.Join(name, e.Name())) != nil }), err
}

// entry is the text of an entry of a ConfigMap.
type entry struct {
	value  object.Value
	blocks map[object.Pos]spec.Block
}

// configMap reads the manifest of a ConfigMap. The error is an object.Errors.
func configMap(files fs.FS, namespace, name, file string) (spec.Manifest, error) {
	data, err := readFile(files, file)
	if err != nil {
		return spec.Manifest{}, broken(kindConfigMap+"/"+namespace+"/"+name+"="+file, "", err)
	}
	docs, err := spec.ParseManifests(spec.File{Name: file, Data: data}, project.MaxManifests)
	if err != nil {
		return spec.Manifest{}, err
	}
	for _, d := range docs {
		if in := text(d.Value, "metadata", "namespace"); isConfigMap(d.Value) && text(d.Value, "metadata", "name") == name && (in == "" || in == namespace) {
			return d, nil
		}
	}
	return spec.Manifest{}, object.Errors{{
		Stage: object.StageResolve, Pos: object.Pos{File: file}, Err: fmt.Errorf("holds no ConfigMap %q of namespace %q", name, namespace),
	}}
}

// readFile reads a file of files; nil is the disk.
func readFile(files fs.FS, name string) ([]byte, error) {
	var data []byte
	var err error
	if files == nil {
		data, err = os.ReadFile(name) //nolint:gosec // the user names it
	} else {
		data, err = fs.ReadFile(files, path.Clean(name))
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return data, err
}

// broken returns a mistake in a value of the flag.
func broken(arg, hint string, err error) object.Errors {
	return object.Errors{{Stage: object.StageResolve, Pos: object.Pos{File: flag + arg}, Hint: hint, Err: err}}
}

// decodeConfigMap returns a ConfigMap as a module has it.
func decodeConfigMap(name string, d spec.Manifest) (configmap.ConfigMap, error) {
	out := configmap.ConfigMap{Name: name, Data: map[string]string{}, BinaryData: map[string][]byte{}}
	var found object.Errors
	fail := func(pos object.Pos, format string, args ...any) {
		found = append(found, &object.Error{Stage: object.StageResolve, Pos: pos, Err: fmt.Errorf(format, args...)})
	}
	data, _ := d.Value.Get("data")
	for _, m := range data.Members {
		if m.Value.Kind != object.KindString {
			fail(m.Value.Pos, "data.%s of ConfigMap %q is no text: write it in quotes", m.Name, name)
		}
		out.Data[m.Name] = m.Value.Text
	}
	data, _ = d.Value.Get("binaryData")
	for _, m := range data.Members {
		decoded, err := base64.StdEncoding.DecodeString(m.Value.Text)
		if err != nil {
			fail(m.Value.Pos, "binaryData.%s of ConfigMap %q is not base64", m.Name, name)
		}
		out.BinaryData[m.Name] = decoded
	}
	return out, found.Err()
}

// fetcher returns a fetcher of modules of the type source from the folders.
func (s Sources) fetcher(files fs.FS) source.Fetcher {
	return source.FetcherFunc(func(ctx context.Context, ref source.Ref) (source.Tree, error) {
		name, _, _ := strings.Cut(ref.Ref, "@")
		dir, ok := s[name]
		if !ok {
			return source.Tree{}, source.Refuse(source.ErrNotFound, fmt.Sprintf("%s is not given: pass %s%s=DIR", name, flag, name))
		}
		opened, err := openFolder(files, dir, name)
		if err != nil {
			return source.Tree{}, source.Refuse(source.ErrNotFound, fmt.Sprintf("%s%s=%s: %v", flag, name, dir, err))
		}
		from := local.Fetcher{Root: ".", FS: opened.files}
		return from.Fetch(ctx, source.Ref{Type: source.TypePath, Ref: ".", Path: ref.Path})
	})
}

// near returns the source that is given under the same name, or one that is near.
func (s Sources) near(name string) string {
	for _, given := range slices.Sorted(maps.Keys(s)) {
		if path.Base(given) == path.Base(name) {
			return given
		}
	}
	near, _ := object.Nearest(name, slices.Collect(maps.Keys(s)))
	return near
}
