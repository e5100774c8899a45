// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"io"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Report collects the mistakes of all files.
type Report struct {
	// Errs are the errors so far; callers append theirs.
	Errs object.Errors
}

// Fail adds an error of a document or an argument.
func (r *Report) Fail(pos object.Pos, hint string, err error) {
	r.Errs = append(r.Errs, &object.Error{Stage: object.StageSpec, Pos: pos, Err: err, Hint: hint})
}

// FailAt adds an error of a field of a document.
func (r *Report) FailAt(pos object.Pos, field object.Path, hint string, err error) {
	r.Errs = append(r.Errs, &object.Error{Stage: object.StageSpec, Pos: pos, Path: field.String(), Err: err, Hint: hint})
}

// Suggest returns the hint for an unknown word, for the first hundred mistakes. A user with many
// mistakes and many names has no use for more, and would wait for them.
func (r *Report) Suggest(word string, known []string) string {
	const most = 100
	if len(r.Errs) > most {
		return ""
	}
	return object.Suggest(word, known)
}

// Texts are the files that are kept, each once, with their locations.
type Texts struct {
	// Files are the files that hold documents, in the order in which they were found.
	Files []spec.File
	// Bundles are the bundles of Timoni, in the order in which they were found.
	Bundles []Bundle

	locations map[string]Location // by the name of the file in positions
	// charged is Options.Charge, and ended is its error.
	charged func(text spec.File) error
	ended   error
}

// Bundle is a bundle of Timoni that was found: a CUE file with the field bundle.
type Bundle struct {
	// File is the bundle; its name is also its location.
	File spec.File
	// More are files that the user named beside it, which are unified with it.
	More []spec.File
	// Runtime is runtime.cue beside it, with the clusters; its Name is "" where the file does
	// not exist.
	Runtime spec.File
	// argument is set for a bundle that the command line names as a file.
	argument bool
}

// Files returns the files that are unified: File comes first.
func (b Bundle) Files() []spec.File { return append([]spec.File{b.File}, b.More...) }

// Location returns the location of a file, by its name in positions. It is the zero value if the
// file was not found.
func (t *Texts) Location(file string) Location { return t.locations[file] }

// knows reports whether a file was found, by its name in positions.
func (t *Texts) knows(file string) bool { return t.locations[file] != (Location{}) }

// add keeps a file, once, and reports whether it did.
func (t *Texts) add(file spec.File, location Location) bool {
	if t.knows(file.Name) || t.charge(file) != nil {
		return false
	}
	t.locations[file.Name] = location
	t.Files = append(t.Files, file)
	return true
}

// charge charges for a text. After an error it charges for nothing more.
func (t *Texts) charge(text spec.File) error {
	if t.ended == nil && t.charged != nil {
		t.ended = t.charged(text)
	}
	return t.ended
}

// hasEnded reports whether the discovery has ended.
func (t *Texts) hasEnded() bool { return t.charge(spec.File{}) != nil }

// Ended returns the error with which Options.Charge has ended the discovery, which is incomplete.
func (t *Texts) Ended() error { return t.ended }

// mentionedLater reports whether a file may hold a document of Ropewalk behind the part that a
// search reads, up to MaxManifests.
func (t *Texts) mentionedLater(r *Root, name string) bool {
	f, err := r.folder.Open(name)
	if err != nil {
		return false // It was read a moment ago.
	}
	defer func() { _ = f.Close() }()
	const overlap = 1 << 10
	buffer := make([]byte, overlap+1<<20)
	start := 0
	for read := 0; read < MaxManifests && !t.hasEnded(); {
		n, err := io.ReadFull(f, buffer[start:])
		if ours, _ := spec.Mentions(buffer[:start+n]); ours {
			return true
		}
		if err != nil {
			return false
		}
		read += n
		start = copy(buffer, buffer[len(buffer)-overlap:])
	}
	return false
}

// Beside reads a file that the file document names by a path relative to its folder. A file of
// documents is kept, for excerpts: paths in it are relative to the same folder.
func (t *Texts) Beside(document, name string) (spec.File, error) {
	location := t.locations[document]
	i := slices.IndexFunc(t.Files, func(f spec.File) bool { return f.Name == document })
	if i >= 0 && path.Clean(name) == path.Base(document) {
		return t.Files[i], nil
	}
	data, err := location.Read(name)
	if err != nil {
		return spec.File{}, err
	}
	file := spec.File{Name: location.Root.Display(path.Join(location.Dir, name)), Data: spec.UTF8(data)}
	if IsDocument(name) {
		t.add(file, location)
	}
	return file, t.Ended()
}

// Below returns the files at and below a folder that the file document names, by paths relative to
// that folder, sorted. It returns at most one file more than most.
func (t *Texts) Below(document, folder string, most int) (out []string, err error) {
	location := t.locations[document]
	var list func(rel string) error
	list = func(rel string) error {
		entries, err := location.Root.folder.List(path.Join(location.Dir, folder, rel), maxEntries)
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := path.Join(rel, e.Name())
			switch {
			case len(out) > most || e.Name() == ".gitkeep":
			case e.IsDir() && strings.Count(name, "/") < most:
				if err := list(name); err != nil {
					return err
				}
			default:
				out = append(out, name)
			}
		}
		return nil
	}
	err = list(".")
	slices.Sort(out)
	return out, err
}
