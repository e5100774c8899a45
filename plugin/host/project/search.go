// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/plugin/host/output"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source/rootfs"
)

// maxDepth limits the depth of a search, in folders.
const maxDepth = 32

// walk finds the YAML and JSON files below a folder, sorted by path. Links that stay in the root are
// followed; a file that is reached twice is found once.
type walk struct {
	root  *Root
	files []string
	// projects are folders below that are projects of their own.
	projects []string
	// cue are CUE files, which may be bundles of Timoni, outside of its modules.
	cue []string
	// passed are files that are not read and may hold specs.
	passed []passed
	// foreign are the folders of other tools.
	foreign map[string]bool
	// unreadable are the mistakes of names of documents that are not files of the root.
	unreadable object.Errors

	entries int
	// links are the links that are not followed yet.
	links []string
	// seen are the folders and documents that were found, by their path without links.
	seen map[string]bool
	// reals are the paths without links of files, by their name in the walk.
	reals map[string]string
	// others are links to files that were found under another name.
	others []link
}

// link is a link with the path of its target, without links.
type link struct{ name, real string }

// passed is a file that a search does not read, and why.
type passed struct {
	name, why, hint string
	severity        object.Severity
}

const whyName = "its name keeps it from being read"

// walkFrom walks the folder rel.
func walkFrom(r *Root, rel string) (*walk, error) {
	w := &walk{root: r, seen: map[string]bool{}, reals: map[string]string{}, foreign: map[string]bool{}}
	real, _, err := rootfs.Resolve(r.folder, rel)
	if err != nil {
		return w, bare(err)
	}
	if err := w.walkFolder(rel, real, 0); err != nil {
		return w, err
	}

	// Files are found under their own names first; a link may lead to further links.
	for i := 0; i < len(w.links); i++ {
		if err := w.followLink(w.links[i]); err != nil {
			return w, err
		}
	}
	slices.Sort(w.files)
	return w, nil
}

// walkFolder walks the folder rel, which is real without links. The depth is 0 if the walk begins
// there.
func (w *walk) walkFolder(rel, real string, depth int) error {
	w.seen[real] = true
	entries, err := w.list(rel)
	if err != nil {
		return err
	}

	// The names in a folder decide what it is.
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	if slices.Contains(names, output.MarkerFile) {
		return w.walkOutput(rel, names)
	}
	if depth > 0 && slices.Contains(names, spec.ProjectFile) {
		w.projects = append(w.projects, rel)
		return nil
	}

	// Files of a chart, of a kustomization or of a module are not searched like others.
	w.foreign[rel] = isForeign(names, depth) || w.isForeign(rel)
	if depth > 0 && slices.Contains(names, bundleFile) {
		w.projects = append(w.projects, rel)
	}
	if depth > maxDepth {
		return fmt.Errorf("%q is nested more than %d folders deep (no flag raises this limit)", rel, maxDepth)
	}
	parent := inFolder{
		rel:    rel,
		real:   real,
		depth:  depth,
		module: slices.Contains(names, timoniFile),
		chart:  slices.Contains(names, chartFile),
	}

	// Each entry is walked, kept or passed.
	for _, e := range entries {
		if err := w.addEntry(parent, e); err != nil {
			return err
		}
	}
	return nil
}

// inFolder is the folder that is walked, which may hold a module of Timoni or a chart.
type inFolder struct {
	rel, real     string
	depth         int
	module, chart bool
}

// addEntry adds a file or a link of a folder, and walks a folder below it.
func (w *walk) addEntry(parent inFolder, e fs.DirEntry) error {
	name := path.Join(parent.rel, e.Name())
	real := path.Join(parent.real, e.Name())
	switch {
	case strings.HasPrefix(e.Name(), ".") && IsDocument(name) && e.Type().IsRegular():
		w.reals[name] = real
		w.passed = append(w.passed, passed{name, whyName, "rename it without the dot, or remove it", object.SeverityWarning})
	case strings.HasPrefix(e.Name(), "."), e.Name() == "cue.mod", e.Name() == "node_modules":
	// Files there that look like specs are templates, and objects of the chart.
	case parent.chart && e.Name() == "templates", parent.chart && parent.depth == 0 && (e.Name() == "crds" || e.Name() == "charts"):
	case e.IsDir():
		return w.walkFolder(name, real, parent.depth+1)
	case e.Type()&fs.ModeSymlink != 0:
		w.links = append(w.links, name)
	case !parent.module && e.Type().IsRegular() && path.Ext(name) == ".cue":
		w.cue = append(w.cue, name)
	default:
		w.addFile(name, real, e.Type())
	}
	return nil
}

// walkOutput adds the files in the folder of a render's output that no render wrote.
func (w *walk) walkOutput(rel string, names []string) error {
	data, err := w.root.read(path.Join(rel, output.MarkerFile), spec.MaxFile)
	if err != nil {
		return err
	}
	for _, name := range names {
		if full := path.Join(rel, name); IsDocument(name) && !output.Lists(data, name) && isFile(w.root, full) {
			w.passed = append(w.passed, passed{full, "it lies in the output of a render", "move it to the other specs", object.SeverityError})
		}
	}
	return nil
}

// isForeign reports whether a file or folder is in a folder of another tool.
func (w *walk) isForeign(name string) bool { return w.foreign[path.Dir(name)] }

// followLink follows a link, unless its target was found already.
func (w *walk) followLink(name string) error {
	real, info, err := rootfs.Resolve(w.root.folder, name)
	switch {
	case err != nil:
		e := w.root.unfollowed(name, err)
		target, _ := w.root.folder.ReadLink(name) // It is a link.
		switch {
		case IsDocument(name):
			w.unreadable = append(w.unreadable, e)
		case path.Ext(name) == "" && !path.IsAbs(target): // Builds make absolute links.
			e.Severity = object.SeverityWarning // It may be a folder of specs.
			w.unreadable = append(w.unreadable, e)
		}
	case w.seen[real]:
		w.others = append(w.others, link{name, real})
	case info.IsDir():
		return w.walkFolder(name, real, strings.Count(name, "/"))
	default:
		w.addFile(name, real, info.Mode().Type())
	}
	return nil
}

// addFile adds a file of a search, which is real without links. The argument mode is its type.
func (w *walk) addFile(name, real string, mode fs.FileMode) {
	if w.seen[real] {
		w.others = append(w.others, link{name, real})
		return
	}
	w.reals[name] = real
	isSame := func(p passed) bool { return w.reals[p.name] == real }
	switch {
	case !IsDocument(name):
		if slices.ContainsFunc(w.passed, isSame) {
			return
		}
		// A link that is named as a document may lead here.
		if mode.IsRegular() && isMisnamed(name) {
			w.passed = append(w.passed, passed{name, whyName, "rename it to end in .yaml, .yml or .json", object.SeverityError})
		} else if mode.IsRegular() && isTemplate(name) {
			const hint = "write what it makes into a file that ends in .yaml, .yml or .json"
			w.passed = append(w.passed, passed{name, whyName, hint, object.SeverityWarning})
		}
		return
	case mode.IsRegular():
		w.files = append(w.files, name)
		w.passed = slices.DeleteFunc(w.passed, isSame)
	default:
		w.fail(name, "rename or remove it", errors.New("not a regular file"))
	}
	w.seen[real] = true
}

// matches reports whether a pattern matches a file that was found, by its name or by the name of a
// link to it or to a folder above it.
func (w *walk) matches(pattern, name string) (bool, error) {
	match, err := matches(pattern, name)
	for _, l := range w.others {
		if match || err != nil {
			break
		}
		if below, ok := strings.CutPrefix(w.reals[name], l.real); ok && (below == "" || below[0] == '/') {
			match, err = matches(pattern, l.name+below)
		}
	}
	return match, err
}

// fail keeps the mistake of a file that cannot be read.
func (w *walk) fail(name, hint string, err error) {
	w.unreadable = append(w.unreadable, &object.Error{
		Stage: object.StageSpec, Pos: object.Pos{File: w.root.Display(name)}, Err: err, Hint: hint,
	})
}

// list lists a folder, and refuses too many entries in all.
func (w *walk) list(rel string) ([]fs.DirEntry, error) {
	entries, err := w.root.folder.List(rel, maxEntries-w.entries+1)
	if err != nil {
		return nil, bare(err)
	}
	w.entries += len(entries)
	if w.entries > maxEntries {
		const format = "more than %d files and folders to search, at %q: name a folder below it (no flag raises this limit)"
		return nil, fmt.Errorf(format, maxEntries, rel)
	}
	return entries, nil
}

// isMisnamed reports whether the name of a file misses the extensions of YAML and JSON by a slip, or
// has only the extension of Score: api.yamll, apiyaml, api.yaml.txt, api.score. Copies of an editor,
// api.yaml~, are left out, and so are copies by other conventions, api.yaml.bak.
func isMisnamed(name string) bool {
	base := strings.ToLower(path.Base(name))
	ext := path.Ext(base)
	isScore := base == "score" || ext == ".score"
	if isScore || IsDocument(strings.TrimSuffix(base, ".txt")) {
		return true
	}
	hasSlip := slices.ContainsFunc(extensions(), func(e string) bool {
		lacksDot := ext == "" && strings.HasSuffix(base, e[1:])
		return lacksDot || object.Distance(ext, e) <= 1
	})
	return hasSlip && !strings.HasSuffix(base, "~")
}

// isTemplate reports whether a file is a template of a document, by its name.
func isTemplate(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return slices.Contains([]string{".tpl", ".tmpl", ".gotmpl", ".j2"}, ext) && IsDocument(strings.TrimSuffix(strings.ToLower(name), ext))
}

// matches reports whether a path matches a pattern, in which ** is any number of folders and the
// rest is as in path.Match. Only the last ** that was passed is tried with more folders: the folders
// that earlier ** have matched are as good as any others.
func matches(pattern, name string) (bool, error) {
	want := strings.Split(pattern, "/")
	have := strings.Split(name, "/")
	if want[len(want)-1] == "**" {
		want = append(want, "*") // The pattern matches files, and not the folder itself.
	}

	// The last **, and the part of the path where it was tried. A part that does not match goes to
	// that **.
	star, begun := -1, 0
	p, n := 0, 0
	for n < len(have) {
		switch {
		case p < len(want) && want[p] == "**":
			star, begun = p, n
			p++
			continue
		case p < len(want):
			ok, err := path.Match(want[p], have[n])
			if err != nil {
				return false, err
			}
			if ok {
				p++
				n++
				continue
			}
		}
		if star < 0 {
			return false, nil
		}
		begun++
		p, n = star+1, begun
	}
	return p == len(want), nil
}

// literal returns the last folder that a pattern names without wildcards, or a pattern without
// wildcards itself.
func literal(pattern string) string {
	if meta := strings.IndexAny(pattern, "*?["); meta >= 0 {
		return path.Dir(pattern[:meta] + "x")
	}
	return pattern
}
