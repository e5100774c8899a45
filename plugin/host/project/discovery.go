// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"path/filepath"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Discovery collects the files of documents that the arguments name. Close it.
type Discovery struct {
	Report
	Texts
	// Places are the directories that they are in.
	Places *Places
	// Missed is true where a project names a file or a folder that does not exist.
	Missed bool

	opts       Options
	searcher   searcher
	bundles    bundles
	components components
	// given are the files that a user or a project names, and held the files of Options.Held.
	given, held []string
	// folders are the folders that were searched because an argument names them, and patterns
	// the patterns of projects that lead to more than one file.
	folders  []folder
	patterns []pattern
}

// Open starts a discovery, which has found nothing yet.
func Open(opts Options) (*Discovery, error) {
	places, err := openPlaces(opts)
	if err != nil {
		return nil, err
	}
	d := &Discovery{Places: places, opts: opts, Texts: Texts{locations: map[string]Location{}, charged: opts.Charge}}
	d.searcher = searcher{
		report:     &d.Report,
		texts:      &d.Texts,
		values:     opts.Values,
		walks:      map[Location]*walk{},
		candidates: map[string]candidate{},
		deployed:   map[string]bool{},
	}
	d.bundles = bundles{&d.Report, &d.Texts}
	d.components = components{texts: &d.Texts}
	return d, nil
}

// Close releases the directories.
func (d *Discovery) Close() { d.Places.close() }

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
		r, rel, err := d.Places.openRootOnce(d.Places.base, false)
		if err != nil {
			d.Fail(t.Pos, "", err)
			return
		}
		d.locations[t.Pos.File] = Location{r, rel}
	}
}

// addDocument adds a file that the caller has read.
func (d *Discovery) addDocument(file spec.File) {
	full, err := d.Places.full(path.Dir(file.Name))
	if err != nil {
		d.Fail(object.Pos{File: file.Name}, "", err)
		return
	}
	r, rel, err := d.Places.openRootOnce(full, false)
	if err != nil {
		d.Fail(object.Pos{File: file.Name}, "", err)
		return
	}
	d.add(file, Location{r, rel})
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
	r, rel, err := d.Places.openRootOnce(d.Places.base, false)
	if err != nil {
		d.Fail(pos, "", err)
		return
	}
	file := spec.File{Name: StdinName, Data: data}
	d.components.addManifestsOfStdin(data)
	file.Found = d.components.holds(StdinName)
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

// FindArg finds the files of one argument.
func (d *Discovery) FindArg(arg string) {
	pos := argPos(arg)
	r, rel, folder, err := d.Places.openNamed(arg)
	switch {
	case err != nil:
		d.Fail(pos, d.Places.near(arg), err)
	case folder:
		d.addDirectory(r, rel, pos)
	case path.Ext(rel) == ".cue":
		d.bundles.addCUEFile(r, rel, pos, true)
	case path.Ext(rel) == ".tgz":
		d.components.addArchive(r, rel)
	case !d.components.addManifestsIn(r, rel):
		d.addNamed(r, rel)
	}
}

// addDirectory adds the project of a directory, or its bundle and what a search finds.
func (d *Discovery) addDirectory(r *Root, rel string, pos object.Pos) {
	if _, err := r.folder.Lstat(path.Join(rel, spec.ProjectFile)); err == nil {
		d.addNamed(r, path.Join(rel, spec.ProjectFile))
		return
	}
	d.searcher.markDeployed(r, rel)
	m := d.searcher.search(r, rel, "", pos)
	if len(m.specs) > 0 {
		d.Errs = append(d.Errs, m.warnings...)
	}
	bundle := d.bundles.addBundleIn(r, rel)
	if !d.bundles.refuseUnreadBundles(r, m, "pass the file itself, or move it into a folder of its own") && !bundle && !m.failed {
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
	file.Found = d.components.holds(file.Name)
	if !d.add(file, Location{r, path.Dir(name)}) {
		return
	}
	d.given = append(d.given, file.Name)
	for _, p := range projects(file) {
		if len(p.Specs) == 0 {
			m := d.searcher.search(r, path.Dir(name), "", p.Pos)
			d.Errs = append(d.Errs, m.warnings...)
			d.bundles.refuseUnreadBundles(r, m, "name it in spec.specs of the project, beside its other specs")
			d.folders = append(d.folders, folder{found: m, Location: Location{Root: r, Dir: path.Dir(name)}, pos: p.Pos, project: true})
		}
		d.addSpecsOf(r, path.Dir(name), p)
	}
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

// addPattern finds what one pattern of a project names: a file, a folder, or the files that match.
func (d *Discovery) addPattern(r *Root, full string, p spec.Pattern) {
	if !filepath.IsLocal(full) {
		d.Fail(p.Pos, "", fmt.Errorf("%q leaves the root of the project", p.Glob))
		return
	}

	// A pattern without wildcards is a path, and any other begins at a folder without them.
	start := full
	match := ""
	info, err := r.folder.Stat(full)
	if err != nil {
		start = literal(full)
		match = full
	}
	switch {
	case err == nil && info.IsDir():
		if d.bundles.addBundleIn(r, full) {
			m := d.searcher.search(r, full, "", p.Pos)
			d.Errs = append(d.Errs, m.warnings...)
			d.bundles.refuseUnreadBundles(r, m, "name it in spec.specs of the project")
			return
		}
	case err == nil && path.Ext(full) == ".cue":
		d.bundles.addCUEFile(r, full, p.Pos, false)
		return
	case err == nil:
		d.addNamed(r, full)
		return
	case start == full:
		d.Fail(p.Pos, "", fmt.Errorf("%q: no such file or folder", p.Glob))
		d.Missed = true
		return
	}

	// A folder that does not exist matches nothing, which is reported with all files.
	var m found
	if _, err := r.folder.Stat(start); err == nil {
		m = d.searcher.search(r, start, match, p.Pos)
		if m.failed {
			return
		}
	}
	d.Errs = append(d.Errs, m.warnings...)
	d.patterns = append(d.patterns, pattern{Pattern: p, specs: m.specs})
}

// Module returns the module in the folder arg, as if a document there referenced it. It returns
// false if the folder cannot be opened.
func (d *Discovery) Module(arg string) (spec.NamedModule, bool) {
	pos := argPos(arg)
	r, rel, _, err := d.Places.openNamed(arg)
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
