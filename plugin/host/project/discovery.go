// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source/rootfs"
)

// Options say where to look. The zero value is the project in the working directory.
type Options struct {
	// FS is read instead of the disk where it is set. Links in it are those of
	// fs.ReadLinkFS, and are followed as on disk. It must not change, and be safe for
	// concurrent use.
	FS fs.FS
	// Args are files, directories and "-" for Stdin; "." where there are neither
	// arguments nor Documents.
	Args []string
	// Documents are files that the caller has read. Paths in them are relative to the
	// folder of their name, which is like one of Args.
	Documents []spec.File
	// Specs are specs that the caller has made, whose paths are relative to Dir. No folder is
	// searched where there are some and no arguments.
	Specs []spec.Transform
	// Dir is the directory that Args and Root, and positions, are relative to; "." where
	// it is "". With FS, "." is the root of FS, as is /, and all are slash-separated.
	Dir string
	// Root is the directory that no read leaves. Where it is "", it is all of FS; on
	// disk it is the nearest directory at or above an argument that holds .git; without
	// one, the nearest that holds cue.mod for an argument that is a folder of a CUE
	// package, and else the directory of the argument.
	Root string
	// Stdin is read for the argument "-".
	Stdin io.Reader
	// Held are files, relative to Dir, whose documents Stdin has: they are not read.
	Held []string
	// Values are the values files, FILE or SPEC:FILE, which a search takes for no specs.
	Values []string
	// AllowEmpty accepts a folder without anything to render.
	AllowEmpty bool
	// Charge, if set, is called with each text before it is parsed and kept, and with an empty
	// one now and then. Its error ends the discovery; see [Discovery.Ended].
	Charge func(text spec.File) error
}

// StdinName is the name of standard input in positions.
const StdinName = "stdin"

// Discovery collects the files of documents that the arguments name. Close it.
type Discovery struct {
	// Files are the files that hold documents, in the order in which they were found.
	Files []spec.File
	// Bundles are the bundles of Timoni, in the order in which they were found.
	Bundles []Bundle
	// Errs are the errors so far; callers append theirs.
	Errs object.Errors
	// Missed is true where a project names a file or a folder that is not there.
	Missed bool

	opts Options
	// given are the files that a user or a project names, and singles those that are components.
	given   []string
	singles []single
	// held are those of Options.Held.
	held []string
	// memory is the root of Options.FS, nil on disk. With it all paths are relative to
	// it and slash-separated.
	memory    rootfs.Folder
	base      string
	roots     []*Root
	locations map[string]Location // by the name of the file in positions
	// folders are those that were searched because an argument names them, and patterns
	// those of projects that lead to more than one file.
	folders  []folder
	patterns []pattern
	// beside are the folders that were searched and hold specs.
	beside []Location
	// manifests are the files of plain manifests that searches found.
	manifests []string
	// nested are the files of projects that searches left out.
	nested []string
	// walks and candidates are the folders and the files that searches have been to: many
	// patterns may lead there.
	walks      map[Location]*walk
	candidates map[string]candidate
	deployed   map[string]bool
	instead    map[string]spec.Transform // of Instead
	// ended is the error of Options.Charge.
	ended error
}

// Open starts a discovery, which has found nothing yet.
func Open(opts Options) (*Discovery, error) {
	d := &Discovery{opts: opts, base: ".", locations: map[string]Location{}, walks: map[Location]*walk{}, candidates: map[string]candidate{}, instead: map[string]spec.Transform{}}
	var err error
	if opts.FS != nil {
		d.memory, err = rootfs.Of(opts.FS, ".")
		if err != nil {
			return nil, err
		}
		// A file system has no working directory: Dir begins at its root.
		d.base, err = d.full(opts.Dir)
	} else {
		d.base, err = filepath.Abs(opts.Dir)
	}
	if err != nil {
		return nil, err
	}
	if opts.Root != "" {
		d.opts.Root, err = d.full(opts.Root)
		if err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Close releases the directories.
func (d *Discovery) Close() {
	for _, r := range d.roots {
		_ = r.folder.Close()
	}
}

// Fail adds an error of a document or an argument.
func (d *Discovery) Fail(pos object.Pos, hint string, err error) {
	d.Errs = append(d.Errs, &object.Error{Stage: object.StageSpec, Pos: pos, Err: err, Hint: hint})
}

// charge charges for a text. After an error it charges for nothing more.
func (d *Discovery) charge(text spec.File) error {
	if d.ended == nil && d.opts.Charge != nil {
		d.ended = d.opts.Charge(text)
	}
	return d.ended
}

// hasEnded reports whether the discovery has ended.
func (d *Discovery) hasEnded() bool { return d.charge(spec.File{}) != nil }

// Ended returns the error with which Options.Charge has ended the discovery, which is incomplete.
func (d *Discovery) Ended() error { return d.ended }

// Suggest returns the hint for an unknown word, for the first hundred mistakes. A user with many
// mistakes and many names has no use for more, and would wait for them.
func (d *Discovery) Suggest(word string, known []string) string {
	const most = 100
	if len(d.Errs) > most {
		return ""
	}
	return object.Suggest(word, known)
}

// Location returns the location of a file, by its name in positions. It is the zero value if the
// file was not found.
func (d *Discovery) Location(file string) Location { return d.locations[file] }

// Find finds everything that the options name.
func (d *Discovery) Find() {
	args := d.opts.Args
	for _, file := range d.opts.Documents {
		d.addDocument(file)
	}
	if len(args)+len(d.opts.Documents)+len(d.opts.Specs) == 0 {
		args = []string{"."}
	}
	d.placeSpecs()
	for _, arg := range args {
		if arg == "-" {
			d.readStdin()
			continue
		}
		d.FindArg(arg)
	}
}

// placeSpecs notes where the specs of the caller have their files.
func (d *Discovery) placeSpecs() {
	for _, t := range d.opts.Specs {
		r, rel, err := d.openRootOnce(d.base, false)
		if err != nil {
			d.Fail(t.Pos, "", err)
			return
		}
		d.locations[t.Pos.File] = Location{r, rel}
	}
}

// addDocument adds a file that the caller has read.
func (d *Discovery) addDocument(file spec.File) {
	full, err := d.full(path.Dir(file.Name))
	if err != nil {
		d.Fail(object.Pos{File: file.Name}, "", err)
		return
	}
	r, rel, err := d.openRootOnce(full, false)
	if err != nil {
		d.Fail(object.Pos{File: file.Name}, "", err)
		return
	}
	d.add(file, Location{r, rel})
}

// full returns a path of the user's as an absolute one. In a file system in memory, a path that
// begins with / begins at its root.
func (d *Discovery) full(name string) (string, error) {
	if d.memory == nil {
		if filepath.IsAbs(name) {
			return filepath.Clean(name), nil
		}
		return filepath.Join(d.base, name), nil
	}
	full := path.Join(d.base, name)
	if path.IsAbs(name) {
		full = path.Join(".", name[1:])
	}
	if !filepath.IsLocal(full) {
		return "", fmt.Errorf("%q is outside the files of the project", name)
	}
	return full, nil
}

// stat describes the target of a full path.
func (d *Discovery) stat(full string) (fs.FileInfo, error) {
	if d.memory != nil {
		return d.memory.Stat(full)
	}
	return os.Stat(full)
}

// openNamed opens the root of what a user named. The result rel is its path there. The root of a
// file is that of its folder.
func (d *Discovery) openNamed(name string) (r *Root, rel string, folder bool, err error) {
	full, err := d.full(name)
	if err != nil {
		return nil, "", false, err
	}
	info, err := d.stat(full)
	if err != nil {
		return nil, "", false, bare(err)
	}
	dir := full
	if !info.IsDir() {
		dir = filepath.Dir(full)
	}
	r, rel, err = d.openRootOnce(dir, d.memory == nil && filepath.IsAbs(name))
	if err != nil {
		return nil, "", false, err
	}
	if !info.IsDir() {
		rel = path.Join(rel, filepath.Base(full))
	}
	return r, rel, info.IsDir(), nil
}

// readStdin reads standard input. References in it are relative to the working directory.
func (d *Discovery) readStdin() {
	// The text is bounded as a file is.
	pos := object.Pos{File: StdinName}
	if d.opts.Stdin == nil {
		d.Fail(pos, "", errors.New("there is no standard input"))
		return
	}
	data, err := readAll(d.opts.Stdin, 0, spec.MaxFile)
	if err != nil {
		d.Fail(pos, "", err)
		return
	}
	data = spec.UTF8(data)

	// It has the working directory for its folder.
	r, rel, err := d.openRootOnce(d.base, false)
	if err != nil {
		d.Fail(pos, "", err)
		return
	}
	file := spec.File{Name: StdinName, Data: data}
	d.addManifestsOfStdin(data)
	file.Found = d.isSingle(StdinName)
	if !d.add(file, Location{r, rel}) {
		return
	}

	// The specs of its project are files, or came with it.
	for _, name := range d.opts.Held {
		name = path.Join(rel, name)
		d.locations[r.Display(name)] = Location{r, path.Dir(name)}
		d.held = append(d.held, r.Display(name))
	}
	for _, p := range projects(file) {
		d.addSpecsOf(r, rel, p)
	}
}

// projects returns the projects in a file. Its mistakes are reported when all files are parsed
// together.
func projects(file spec.File) []spec.Project {
	if !bytes.Contains(file.Data, []byte(spec.KindProject)) {
		return nil
	}
	docs, _ := spec.Parse([]spec.File{file})
	return docs.Projects
}

// openRootOnce opens the root of a directory, once.
func (d *Discovery) openRootOnce(dir string, absolute bool) (*Root, string, error) {
	r, rel, err := d.openRoot(dir, absolute)
	if err != nil {
		return nil, "", err
	}
	for _, known := range d.roots {
		if known.Dir == r.Dir && known.absolute == r.absolute {
			_ = r.folder.Close()
			return known, rel, nil
		}
	}
	d.roots = append(d.roots, r)
	return r, rel, nil
}

// FindArg finds the files of one argument.
func (d *Discovery) FindArg(arg string) {
	pos := argPos(arg)
	r, rel, folder, err := d.openNamed(arg)
	switch {
	case err != nil:
		d.Fail(pos, d.near(arg), err)
	case folder:
		d.addDirectory(r, rel, pos)
	case path.Ext(rel) == ".cue":
		d.addCUEFile(r, rel, pos, true)
	case path.Ext(rel) == ".tgz":
		d.addArchive(r, rel)
	case !d.addManifestsIn(r, rel):
		d.addNamed(r, rel)
	}
}

// argPos returns the position of an argument.
func argPos(arg string) object.Pos { return object.Pos{File: filepath.ToSlash(filepath.Clean(arg))} }

// addDirectory adds the project of a directory, or its bundle and what a search finds.
func (d *Discovery) addDirectory(r *Root, rel string, pos object.Pos) {
	if _, err := r.folder.Lstat(path.Join(rel, spec.ProjectFile)); err == nil {
		d.addNamed(r, path.Join(rel, spec.ProjectFile))
		return
	}
	d.markDeployed(r, rel)
	m := d.search(r, rel, "", pos)
	if len(m.specs) > 0 {
		d.Errs = append(d.Errs, m.warnings...)
	}
	bundle := d.addBundleIn(r, rel)
	if !d.refuseUnreadBundles(r, m, "pass the file itself, or move it into a folder of its own") && !bundle && !m.failed {
		d.folders = append(d.folders, folder{found: m, Location: Location{Root: r, Dir: rel}, pos: pos})
	}
}

// addNamed adds a file that a user named, and the specs of its projects.
func (d *Discovery) addNamed(r *Root, name string) {
	data, err := r.read(name, spec.MaxFile)
	if err != nil {
		d.Fail(object.Pos{File: r.Display(name)}, "", err)
		return
	}
	file := spec.File{Name: r.Display(name), Data: spec.UTF8(data)}
	file.Found = d.isSingle(file.Name)
	if !d.add(file, Location{r, path.Dir(name)}) {
		return
	}
	d.given = append(d.given, file.Name)
	for _, p := range projects(file) {
		if len(p.Specs) == 0 {
			m := d.search(r, path.Dir(name), "", p.Pos)
			d.Errs = append(d.Errs, m.warnings...)
			d.refuseUnreadBundles(r, m, "name it in spec.specs of the project, beside its other specs")
			d.folders = append(d.folders, folder{found: m, Location: Location{Root: r, Dir: path.Dir(name)}, pos: p.Pos, project: true})
		}
		d.addSpecsOf(r, path.Dir(name), p)
	}
}

// add keeps a file, once, and reports whether it did.
func (d *Discovery) add(file spec.File, at Location) bool {
	if _, known := d.locations[file.Name]; known || d.charge(file) != nil {
		return false
	}
	d.locations[file.Name] = at
	d.Files = append(d.Files, file)
	return true
}

// addSpecsOf finds the specs that a project names.
func (d *Discovery) addSpecsOf(r *Root, dir string, p spec.Project) {
	for _, pattern := range p.Specs {
		if d.hasEnded() {
			return
		}
		d.addPattern(r, path.Join(dir, pattern.Glob), pattern)
	}
}

// pattern is one of a project, with the files that it leads to.
type pattern struct {
	spec.Pattern
	specs []string
}

// Module returns the module in the folder arg, as if a document there referenced it. It returns
// false if the folder cannot be opened.
func (d *Discovery) Module(arg string) (spec.NamedModule, bool) {
	pos := argPos(arg)
	r, rel, _, err := d.openNamed(arg)
	if err != nil {
		d.Fail(pos, "", err)
		return spec.NamedModule{}, false
	}
	d.locations[pos.File] = Location{r, rel}
	return spec.NamedModule{Name: path.Base(path.Join(filepath.ToSlash(r.Dir), rel)), Pos: pos, CueRef: here(pos)}, true
}

// here returns the reference to the folder of the file at pos.
func here(pos object.Pos) spec.CueRef {
	return spec.CueRef{Type: spec.RefPath, Ref: ".", Pos: pos, TypePos: pos, RefPos: pos}
}
