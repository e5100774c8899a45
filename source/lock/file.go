// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/internal/reftype"
	"github.com/ropewalk/ropewalk/source"
)

// Name names the file, which lies at the root of a project.
const Name = "ropewalk.lock"

// What the file says of itself.
const (
	APIVersion = "ropewalk.dev/v1alpha1"
	Kind       = "Lock"
)

// header is the comment at its top.
const header = "# Written by ropewalk lock: what each reference of this project leads to. Commit it, do not edit it.\n"

// File is the content of a lock. The zero value is an empty lock. Files that Parse and Recorder
// give are sorted, with each entry once.
type File struct {
	Sources []Source
	Modules []Module
	// Images lists what the render runs: a record that nothing is fetched by. Nil means that the
	// lock does not record images, and an empty list that the render runs no image.
	Images []Image
}

// Source is a locked reference.
type Source struct {
	// Type, Ref and Path repeat the reference: source.Ref.
	Type string `yaml:"type"`
	Ref  string `yaml:"ref"`
	Path string `yaml:"path,omitempty"`
	// Revision says what Ref led to, such as v1.2.0@sha256:…; "" where the type has no revisions.
	Revision string `yaml:"revision,omitempty"`
	// Pinned is a reference of the same type that always leads there; "" where the type has no such
	// reference, and then the digest alone is checked.
	Pinned string `yaml:"pinned,omitempty"`
	// Digest identifies the tree: sha256:<hex>.
	Digest string `yaml:"digest"`
}

// Module is a locked dependency of a CUE module.
type Module struct {
	// Module is the path without the major version.
	Module string `yaml:"module"`
	// Version is the version with its v.
	Version string `yaml:"version"`
	// Digest is sha256:<hex> of the zip of the module.
	Digest string `yaml:"digest"`
}

// Image is a container image that the render of some environment runs.
type Image struct {
	// Image is the image as the objects name it.
	Image string `yaml:"image"`
	// Digest identifies the manifest or the index that its registry had for it: sha256:<hex>.
	Digest string `yaml:"digest"`
}

// name returns the reference of s for messages.
func (s Source) name() string {
	if s.Path == "" {
		return fmt.Sprintf("%s %q", s.Type, s.Ref)
	}
	return fmt.Sprintf("%s %q, path %q", s.Type, s.Ref, s.Path)
}

func (s Source) compare(o Source) int {
	return cmp.Or(strings.Compare(s.Type, o.Type), strings.Compare(s.Ref, o.Ref), strings.Compare(s.Path, o.Path))
}

func (m Module) compare(o Module) int {
	return cmp.Or(strings.Compare(m.Module, o.Module), strings.Compare(m.Version, o.Version))
}

func (i Image) compare(o Image) int { return strings.Compare(i.Image, o.Image) }

// Locks reports whether references of a type are locked. The others are part of the project
// itself.
func Locks(kind string) bool {
	t, _ := reftype.Of(kind)
	return t.Locked
}

// Find returns the entry of a reference; false if there is none.
func (f File) Find(ref source.Ref) (Source, bool) {
	for _, s := range f.Sources {
		if s.Type == ref.Type && s.Ref == ref.Ref && s.Path == ref.Path {
			return s, true
		}
	}
	return Source{}, false
}

// Locked returns the digests of the modules by path@version, as modules.Registry.Complete
// takes them.
func (f File) Locked() map[string]string {
	out := make(map[string]string, len(f.Modules))
	for _, m := range f.Modules {
		out[m.Module+"@"+m.Version] = m.Digest
	}
	return out
}

// Add returns f with an entry, in place of one for the same reference.
func (f File) Add(s Source) File {
	f.Sources = insert(f.Sources, s, Source.compare)
	return f
}

// AddModule returns f with an entry, in place of one for the same version.
func (f File) AddModule(m Module) File {
	f.Modules = insert(f.Modules, m, Module.compare)
	return f
}

// insert returns a sorted copy of entries with e in it, in place of one that compares equal.
func insert[E any](entries []E, e E, compare func(a, b E) int) []E {
	out := slices.DeleteFunc(slices.Clone(entries), func(o E) bool { return compare(o, e) == 0 })
	out = append(out, e)
	slices.SortFunc(out, compare)
	return out
}

// sorted returns f in the order of its text.
func (f File) sorted() File {
	f.Sources, f.Modules, f.Images = slices.Clone(f.Sources), slices.Clone(f.Modules), slices.Clone(f.Images)
	slices.SortFunc(f.Sources, Source.compare)
	slices.SortFunc(f.Modules, Module.compare)
	slices.SortFunc(f.Images, Image.compare)
	return f
}

// Equal reports whether both files have the same entries, and whether both record images or neither
// does.
func (f File) Equal(other File) bool {
	f, other = f.sorted(), other.sorted()
	sameImages := slices.Equal(f.Images, other.Images) && (f.Images == nil) == (other.Images == nil)
	return slices.Equal(f.Sources, other.Sources) && slices.Equal(f.Modules, other.Modules) && sameImages
}

// wire is the text of a file.
type wire struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Sources    []Source `yaml:"sources,omitempty"`
	Modules    []Module `yaml:"modules,omitempty"`
	Images     *[]Image `yaml:"images,omitempty"`
}

// Bytes returns the canonical text: equal files give equal bytes, and Parse reads them back.
// What Parse would refuse is an error.
func (f File) Bytes() ([]byte, error) {
	f = f.sorted()
	var b bytes.Buffer
	b.WriteString(header)
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	out := wire{APIVersion: APIVersion, Kind: Kind, Sources: f.Sources, Modules: f.Modules}
	if f.Images != nil {
		out.Images = &f.Images
	}
	if err := e.Encode(out); err != nil {
		return nil, err
	}
	if err := e.Close(); err != nil {
		return nil, err
	}
	if _, err := Parse(Name, b.Bytes()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
