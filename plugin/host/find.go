// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source/rootfs"
)

// stdinName is the name of standard input in positions.
const stdinName = "stdin"

// maxRoom is how large a file may be whose room the next one gets.
const maxRoom = 1 << 20

// place is where a file of documents lies.
type place struct {
	area *area
	// dir is the folder of the file in the area.
	dir string
}

// finding collects the files of documents that the arguments name.
type finding struct {
	opts Options
	// memory is all of the file system that is read instead of the disk, nil for
	// the disk. Every path is one of it then, and slash-separated.
	memory rootfs.Folder
	base   string
	areas  []*area
	files  []spec.File
	// places are the places of files by their name in positions.
	places map[string]place
	// folders are those that were searched because an argument names them.
	folders []folder
	// room is what files are read into until one is kept: most of a large folder
	// is nothing of ours, and would be in memory twice.
	room []byte
	errs object.Errors
}

func newFinding(opts Options) (*finding, error) {
	f := &finding{opts: opts, base: ".", places: map[string]place{}}
	var err error
	if opts.FS != nil {
		if f.memory, err = rootfs.Of(opts.FS, "."); err != nil {
			return nil, err
		}
		// A working directory is nothing that a file system has: Dir begins at its root.
		f.base, err = f.full(opts.Dir)
	} else {
		f.base, err = filepath.Abs(opts.Dir)
	}
	if err != nil {
		return nil, err
	}
	if opts.Root != "" {
		if f.opts.Root, err = f.full(opts.Root); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// close gives the directories back.
func (f *finding) close() {
	for _, a := range f.areas {
		_ = a.root.Close()
	}
}

func (f *finding) fail(pos object.Pos, hint string, err error) {
	f.errs = append(f.errs, &object.Error{Stage: object.StageSpec, Pos: pos, Err: err, Hint: hint})
}

// all finds everything that the arguments name.
func (f *finding) all() {
	args := f.opts.Args
	for _, file := range f.opts.Documents {
		f.document(file)
	}
	if len(args)+len(f.opts.Documents) == 0 {
		args = []string{"."}
	}
	for _, arg := range args {
		if arg == "-" {
			f.stdin()
			continue
		}
		f.argument(arg)
	}
}

// document adds a file that the caller has read.
func (f *finding) document(file spec.File) {
	full, err := f.full(path.Dir(file.Name))
	if err != nil {
		f.fail(object.Pos{File: file.Name}, "", err)
		return
	}
	a, rel, err := f.area(full, false)
	if err != nil {
		f.fail(object.Pos{File: file.Name}, "", err)
		return
	}
	f.add(file, place{a, rel})
}

// full is a path of the user's as an absolute one, or as one of the file system
// that is read, where a path that begins with / begins at its root.
func (f *finding) full(name string) (string, error) {
	if f.memory == nil {
		if filepath.IsAbs(name) {
			return filepath.Clean(name), nil
		}
		return filepath.Join(f.base, name), nil
	}
	full := path.Join(f.base, name)
	if path.IsAbs(name) {
		full = path.Join(".", name[1:])
	}
	if !filepath.IsLocal(full) {
		return "", fmt.Errorf("%q leaves the files of the project", name)
	}
	return full, nil
}

// stat describes what a full path leads to.
func (f *finding) stat(full string) (fs.FileInfo, error) {
	if f.memory != nil {
		return f.memory.Stat(full)
	}
	return os.Stat(full)
}

// at opens the area of what a user named: where that is and whether it is a
// folder. The area of a file is that of its folder.
func (f *finding) at(name string) (a *area, rel string, folder bool, err error) {
	full, err := f.full(name)
	if err != nil {
		return nil, "", false, err
	}
	info, err := f.stat(full)
	if err != nil {
		return nil, "", false, notThere(err)
	}
	dir := full
	if !info.IsDir() {
		dir = filepath.Dir(full)
	}
	if a, rel, err = f.area(dir, f.memory == nil && filepath.IsAbs(name)); err != nil {
		return nil, "", false, err
	}
	if !info.IsDir() {
		rel = path.Join(rel, filepath.Base(full))
	}
	return a, rel, info.IsDir(), nil
}

// stdin reads standard input; references in it are relative to the working
// directory.
func (f *finding) stdin() {
	pos := object.Pos{File: stdinName}
	if f.opts.Stdin == nil {
		f.fail(pos, "", errors.New("there is no standard input"))
		return
	}
	data, err := readAll(nil, f.opts.Stdin, 0, spec.MaxFile)
	if err != nil {
		f.fail(pos, "", err)
		return
	}
	a, rel, err := f.area(f.base, false)
	if err != nil {
		f.fail(pos, "", err)
		return
	}
	file := spec.File{Name: stdinName, Data: data}
	if !f.add(file, place{a, rel}) {
		return
	}
	for _, p := range projects(file) {
		f.patterns(a, rel, p)
	}
}

// projects are the projects in a file. Its mistakes are found again when all
// files are read together.
func projects(file spec.File) []spec.Project {
	if !bytes.Contains(file.Data, []byte(spec.KindProject)) {
		return nil
	}
	docs, _ := spec.Parse([]spec.File{file})
	return docs.Projects
}

// area opens the area of a directory, once.
func (f *finding) area(dir string, absolute bool) (*area, string, error) {
	a, rel, err := f.openArea(dir, absolute)
	if err != nil {
		return nil, "", err
	}
	for _, known := range f.areas {
		if known.dir == a.dir && known.absolute == a.absolute {
			_ = a.root.Close()
			return known, rel, nil
		}
	}
	f.areas = append(f.areas, a)
	return a, rel, nil
}

// argument finds the files of one argument.
func (f *finding) argument(arg string) {
	pos := object.Pos{File: filepath.ToSlash(filepath.Clean(arg))}
	a, rel, folder, err := f.at(arg)
	switch {
	case err != nil:
		f.fail(pos, "", err)
	case folder:
		f.directory(a, rel, pos)
	case path.Ext(rel) == ".cue":
		f.fail(pos, "name its folder", errors.New("a file of CUE is a part of a package, and no spec"))
	default:
		f.named(a, rel)
	}
}

func notThere(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		// The cause stays: a caller tells a file that is not there from a mistake.
		return fmt.Errorf("there is %w", plain(err))
	}
	return plain(err)
}

// directory takes the project of a directory, or searches it.
func (f *finding) directory(a *area, rel string, pos object.Pos) {
	if _, err := a.root.Lstat(path.Join(rel, spec.ProjectFile)); err == nil {
		f.named(a, path.Join(rel, spec.ProjectFile))
		return
	}
	if s := f.search(a, rel, "", pos); !s.failed {
		f.folders = append(f.folders, folder{searched: s, place: place{area: a, dir: rel}, pos: pos})
	}
}

// searched is what a search came to.
type searched struct {
	// matched are the files that may hold documents of ours.
	matched []string
	// manifests is the first file that seems to hold manifests of others; "" is none.
	manifests string
	// projects are folders that were left out.
	projects []string
	failed   bool
}

// search adds every file with documents of ours below a folder, those that
// match a pattern where there is one.
func (f *finding) search(a *area, rel, pattern string, pos object.Pos) searched {
	s := search{area: a}
	if err := s.folder(rel, 0); err != nil {
		f.fail(pos, "", err)
		return searched{failed: true}
	}
	var out searched
	for _, p := range s.projects {
		out.projects = append(out.projects, a.display(p))
	}
	for _, name := range s.found {
		if pattern != "" {
			match, err := matches(pattern, name)
			if err != nil {
				f.fail(pos, "", fmt.Errorf("%q is no pattern: %w", pattern, err))
				return searched{failed: true}
			}
			if !match {
				continue
			}
		}
		f.found(a, name, &out)
	}
	return out
}

// found adds a file that a search found, where it may hold anything of ours.
func (f *finding) found(a *area, name string, out *searched) {
	shown := a.display(name)
	data, err := a.readInto(f.room, name, spec.MaxFile)
	if err != nil {
		f.fail(object.Pos{File: shown}, "", err)
		return
	}
	if cap(data) <= maxRoom {
		f.room = data
	}
	ours := spec.Mentions(data)
	if ours || bytes.Contains(data, []byte("ConfigMap")) {
		f.add(spec.File{Name: shown, Data: bytes.Clone(data), Found: true}, place{a, path.Dir(name)})
	}
	switch {
	case ours:
		out.matched = append(out.matched, shown)
	case out.manifests == "" && bytes.Contains(data, []byte("apiVersion")) && bytes.Contains(data, []byte("kind")):
		out.manifests = shown
	}
}

// named adds a file that a user named, and what it names if it is a project.
func (f *finding) named(a *area, name string) {
	data, err := a.read(name, spec.MaxFile)
	if err != nil {
		f.fail(object.Pos{File: a.display(name)}, "", err)
		return
	}
	file := spec.File{Name: a.display(name), Data: data}
	if !f.add(file, place{a, path.Dir(name)}) {
		return
	}
	for _, p := range projects(file) {
		if len(p.Specs) == 0 {
			f.search(a, path.Dir(name), "", p.Pos)
		}
		f.patterns(a, path.Dir(name), p)
	}
}

// add keeps a file, once.
func (f *finding) add(file spec.File, at place) bool {
	if _, known := f.places[file.Name]; known {
		return false
	}
	f.places[file.Name] = at
	f.files = append(f.files, file)
	return true
}

// patterns finds the specs that a project names.
func (f *finding) patterns(a *area, dir string, p spec.Project) {
	for _, pattern := range p.Specs {
		f.pattern(a, path.Join(dir, pattern.Glob), pattern)
	}
}

// pattern finds what one pattern of a project names: a file, a folder, or
// what matches.
func (f *finding) pattern(a *area, full string, p spec.Pattern) {
	if !filepath.IsLocal(full) {
		f.fail(p.Pos, "", fmt.Errorf("%q leaves the root of the project", p.Glob))
		return
	}
	if info, err := a.root.Stat(full); err == nil {
		if !info.IsDir() {
			f.named(a, full)
			return
		}
		f.search(a, full, "", p.Pos)
		return
	}
	meta := strings.IndexAny(full, "*?[")
	if meta < 0 {
		f.fail(p.Pos, "", fmt.Errorf("%q: there is no such file or folder", p.Glob))
		return
	}
	// The search begins at the last folder that is named in full.
	var s searched
	start := path.Dir(full[:meta] + "x")
	if _, err := a.root.Stat(start); err == nil {
		if s = f.search(a, start, full, p.Pos); s.failed {
			return
		}
	}
	if len(s.matched) == 0 {
		f.fail(p.Pos, "", fmt.Errorf("%q matches no file with a spec", p.Glob))
	}
}
