// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// rootName is the name of a spec that is the root itself: what a checkout is called
// differs from one to the next, and the same files give the same bytes everywhere.
const rootName = "app"

// folder is one that an argument names, and that was searched for specs.
type folder struct {
	searched
	place
	pos object.Pos
}

// folderModules makes a spec of each folder that holds no document of ours and is a
// CUE package: a Transform of it and of nothing else. Any other folder without a
// document is a mistake.
func (l *loading) folderModules() {
	known := map[string]bool{}
	for _, t := range l.docs.Transforms {
		known[t.Pos.File] = true
	}
	for _, w := range l.docs.Workloads {
		known[w.Pos.File] = true
	}
	for _, p := range l.docs.Projects {
		known[p.Pos.File] = true
	}
	for _, e := range l.errs {
		known[e.Pos.File] = true
	}
	taken := map[place]bool{}
	for _, f := range l.folders {
		// A file may name us and hold no document of ours.
		documents := false
		for _, name := range f.matched {
			documents = documents || known[name]
		}
		if documents || taken[f.place] {
			continue
		}
		taken[f.place] = true
		l.folderModule(f)
	}
}

// folderModule is one of folderModules.
func (l *loading) folderModule(f folder) {
	what, err := f.holds()
	switch {
	case err != nil:
		l.fail(f.pos, "", err)
		return
	case what != holdsPackage:
		l.nothing(f, what)
		return
	}
	name := l.opts.Name
	if name == "" && f.dir != "." {
		name = path.Base(f.dir)
	}
	name = label(name)
	for _, other := range names(l.docs) {
		if other == name {
			l.fail(f.pos, "write a Transform for each that names it", fmt.Errorf("a second spec is called %q", name))
			return
		}
	}
	at := f.place
	if at.dir, err = at.area.resolve(f.dir); err != nil {
		l.fail(f.pos, "", plain(err))
		return
	}
	l.places[f.pos.File] = at
	l.alone[name] = true
	l.docs.Transforms = append(l.docs.Transforms, spec.Transform{
		Name: name, Pos: f.pos, NamePos: f.pos,
		CueRef: spec.CueRef{Type: spec.RefPath, Ref: ".", Pos: f.pos, TypePos: f.pos, RefPos: f.pos},
	})
}

// nothing says what was looked for in a folder that holds nothing to render.
func (l *loading) nothing(f folder, what holding) {
	err := errors.New("no spec is here: neither a document of " + spec.APIVersion + " nor a Score file nor a CUE package")
	hint := "ropewalk init makes a project"
	switch {
	case len(f.projects) > 0:
		err, hint = errors.New("no spec is here"), "projects below: "+strings.Join(f.projects, ", ")
	case what == holdsModule:
		err, hint = errors.New("no spec is here: the CUE module has no package in this folder"), "name the folder of a package: one with .cue files"
	case f.manifests != "":
		err = fmt.Errorf("no spec is here: %q holds manifests that need no render", f.manifests)
		hint = "give the folder to the engine as it is; a spec begins with apiVersion: " + spec.APIVersion
	}
	l.fail(f.pos, hint, err)
}

// holding is what a folder holds of CUE.
type holding int

const (
	holdsNothing holding = iota
	// holdsModule is a cue.mod alone.
	holdsModule
	// holdsPackage is at least one file of CUE, whatever its cue.mod is.
	holdsPackage
)

// holds looks at the entries of the folder itself.
func (p place) holds() (holding, error) {
	entries, err := p.area.root.List(p.dir, maxFound)
	if err != nil {
		return holdsNothing, plain(err)
	}
	return holdsCUE(entries), nil
}

// holdsCUE is what the entries of a folder come to.
func holdsCUE(entries []fs.DirEntry) holding {
	out := holdsNothing
	for _, e := range entries {
		switch {
		case e.IsDir() && e.Name() == "cue.mod":
			out = max(out, holdsModule)
		// CUE leaves out files that begin with a dot or an underscore.
		case e.Type().IsRegular() && path.Ext(e.Name()) == ".cue" && !strings.HasPrefix(e.Name(), ".") && !strings.HasPrefix(e.Name(), "_"):
			out = holdsPackage
		}
	}
	return out
}

// label is a text as a DNS label (RFC 1123): "My App" is my-app.
func label(text string) string {
	out := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(text))
	out = strings.Trim(out, "-")
	if out = strings.TrimRight(out[:min(len(out), 63)], "-"); out == "" {
		return rootName
	}
	return out
}
