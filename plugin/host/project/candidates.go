// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// found is the result of a search.
type found struct {
	// specs are the files that may hold documents of ours.
	specs []string
	// manifests is the first file that seems to hold other manifests; "" is none.
	manifests string
	// projects are folders that were left out.
	projects []string
	// bundles are the bundles of Timoni in the folder itself.
	bundles []string
	// warnings are about files without a document.
	warnings object.Errors
	failed   bool
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
		if d.addBundleIn(r, full) {
			m := d.search(r, full, "", p.Pos)
			d.Errs = append(d.Errs, m.warnings...)
			d.refuseUnreadBundles(r, m, "name it in spec.specs of the project")
			return
		}
	case err == nil && path.Ext(full) == ".cue":
		d.addCUEFile(r, full, p.Pos, false)
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
		m = d.search(r, start, match, p.Pos)
		if m.failed {
			return
		}
	}
	d.Errs = append(d.Errs, m.warnings...)
	d.patterns = append(d.patterns, pattern{Pattern: p, specs: m.specs})
}

// search adds every file with documents of Ropewalk below a folder, or of these the files that
// match pattern, if it is set.
func (d *Discovery) search(r *Root, rel, pattern string, pos object.Pos) found {
	// A folder is walked once, whatever is searched for in it.
	w, err := d.walkOnce(r, rel)
	if err != nil {
		d.Fail(pos, "", err)
		return found{failed: true}
	}
	d.Errs = append(d.Errs, w.unreadable...)

	// Projects below are not entered.
	var out found
	for _, p := range w.projects {
		out.projects = append(out.projects, r.Display(p))
		if file := path.Join(p, spec.ProjectFile); isFile(r, file) {
			d.nested = append(d.nested, r.Display(file))
		}
	}

	// Files that match are read, and those that a walk passed are mentioned.
	for _, name := range w.files {
		if d.hasEnded() {
			return found{failed: true}
		}
		if pattern != "" {
			match, err := w.matches(pattern, name)
			if err != nil {
				d.Fail(pos, "", fmt.Errorf("%q is not a pattern: %w", pattern, err))
				return found{failed: true}
			}
			if !match {
				continue
			}
		}
		d.addCandidate(r, name, w.isForeign(name), &out)
	}
	for _, file := range w.passed {
		d.reportPassed(r, file, &out)
	}

	// Bundles are read only where they are named.
	for _, name := range w.cue {
		if d.hasEnded() {
			return found{failed: true}
		}
		data, err := r.read(name, spec.MaxFile)
		shown := r.Display(name)
		switch {
		case err != nil || pattern != "" || !isBundle(data) || !bytes.Contains(data, []byte("instances")) || d.locations[shown] != (Location{}):
		case path.Dir(name) == path.Clean(rel):
			out.bundles = append(out.bundles, name)
		default:
			out.warnings = append(out.warnings, &object.Error{
				Stage: object.StageSpec, Severity: object.SeverityWarning, Pos: object.Pos{File: shown},
				Err: fmt.Errorf("%w: a search finds no bundles in subfolders", ErrUnreadBundle), Hint: "pass it or its folder, or name it in spec.specs of the project",
			})
		}
	}
	return out
}

// walkOnce walks a folder once, however many patterns begin there.
func (d *Discovery) walkOnce(r *Root, rel string) (*walk, error) {
	at := Location{r, rel}
	if w, ok := d.walks[at]; ok {
		return w, nil
	}
	w, err := walkFrom(r, rel)
	if err == nil {
		d.walks[at] = w
	}
	return w, err
}

// candidate is what a search has found in a file.
type candidate struct {
	// near is set if it may hold a document of ours, and other if it seems to hold another
	// manifest only.
	near, other bool
	// why is why nothing is read of it, and err why it cannot be read.
	why string
	err error
}

// addCandidate adds a file of a search if it may hold a document of Ropewalk.
func (d *Discovery) addCandidate(r *Root, name string, foreign bool, out *found) {
	shown := r.Display(name)
	if d.deployed[shown] {
		d.manifests = append(d.manifests, shown)
		out.manifests = cmp.Or(out.manifests, shown)
		return
	}
	c, known := d.candidates[shown]
	if !known {
		c = d.look(r, name, shown, foreign)
		d.candidates[shown] = c
	}
	if c.err != nil {
		d.Fail(object.Pos{File: shown}, "", c.err)
		return
	}
	if c.near {
		out.specs = append(out.specs, shown)
	}
	if c.why != "" {
		out.warnings = append(out.warnings, &object.Error{
			Stage: object.StageSpec, Severity: object.SeverityWarning, Pos: object.Pos{File: shown},
			Err: errors.New(c.why), Hint: "remove the file if that is meant",
		})
	}
	if c.other && out.manifests == "" {
		out.manifests = shown
	}
}

// look reads a file for a search.
func (d *Discovery) look(r *Root, name, shown string, foreign bool) (c candidate) {
	data, err := r.read(name, spec.MaxFile)
	if err != nil {
		return candidate{err: err}
	}
	large := len(data) > spec.MaxFile
	data = spec.UTF8(data)
	ours, near := spec.Mentions(data)
	if !ours && d.isValues(shown) {
		return
	}
	if large && !ours && d.mentionedLater(r, name) {
		return candidate{err: fmt.Errorf("it has more than %d MiB, and a document behind them that may be a spec: move that into a file of its own", spec.MaxFile>>20)}
	}
	if near || bytes.Contains(data, []byte("ConfigMap")) {
		d.add(spec.File{Name: shown, Data: data, Found: true}, Location{r, path.Dir(name)})
	}
	if !foreign && isManifest(data) {
		d.manifests = append(d.manifests, shown)
	}
	other := !ours && bytes.Contains(data, []byte("apiVersion")) && bytes.Contains(data, []byte("kind"))
	return candidate{near: near, other: other, why: unread(name, data)}
}

// mentionedLater reports whether a file may hold a document of Ropewalk behind the part that a
// search reads, up to MaxManifests.
func (d *Discovery) mentionedLater(r *Root, name string) bool {
	f, err := r.folder.Open(name)
	if err != nil {
		return false // It was read a moment ago.
	}
	defer func() { _ = f.Close() }()
	const overlap = 1 << 10
	buffer := make([]byte, overlap+1<<20)
	from := 0
	for read := 0; read < MaxManifests && !d.hasEnded(); {
		n, err := io.ReadFull(f, buffer[from:])
		if ours, _ := spec.Mentions(buffer[:from+n]); ours {
			return true
		}
		if err != nil {
			return false
		}
		read += n
		from = copy(buffer, buffer[len(buffer)-overlap:])
	}
	return false
}

// isValues reports whether an option names the file as one of values.
func (d *Discovery) isValues(shown string) bool {
	return slices.ContainsFunc(d.opts.Values, func(arg string) bool {
		_, file, _ := strings.Cut(arg, ":")
		return argPos(arg).File == shown || argPos(file).File == shown
	})
}

// emptyFile is what is wrong with a file without content.
const emptyFile = "the file is empty"

// unread returns why nothing is read of a file that a reader would take for a spec, or "" if there
// is no such reason.
func unread(name string, data []byte) string {
	const pointer = "version https://git-lfs.github.com/spec/"
	base := path.Base(name)
	switch {
	// Those of Helm and of kustomize may well be empty.
	case strings.Contains(base, "values"), strings.HasPrefix(base, "kustomization"), strings.ToLower(path.Ext(base)) == ".json":
	case len(bytes.TrimSpace(data)) == 0:
		return emptyFile
	case bytes.HasPrefix(data, []byte(pointer)):
		return "the file is a pointer of Git LFS: what it leads to is not checked out"
	case bytes.IndexByte(data, 0) >= 0:
		return "the file is not text, and is not read"
	}
	return ""
}

// reportPassed reports a file that is not read, if it holds a document of Ropewalk.
func (d *Discovery) reportPassed(r *Root, file passed, out *found) {
	data, err := r.read(file.name, spec.MaxFile)
	if err != nil {
		return // It is no more than a guess that it is a document.
	}
	data = spec.UTF8(data)
	if !holdsSpec(data) || !misses(spec.File{Data: data}) {
		return
	}
	e := &object.Error{
		Stage: object.StageSpec, Severity: file.severity, Pos: object.Pos{File: r.Display(file.name)},
		Err: errors.New("the file holds a spec, and " + file.why), Hint: file.hint,
	}
	if e.Severity == object.SeverityError {
		d.Errs = append(d.Errs, e)
		return
	}
	out.warnings = append(out.warnings, e)
}
