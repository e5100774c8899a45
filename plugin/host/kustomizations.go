// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/component/kustomize"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source"
)

// maxRemoteRounds limits the depth at which remote bases refer to further bases.
const maxRemoteRounds = 16

// kustomizationFiles finds the files of a kustomization, and fetches its references until nothing is
// missing.
func kustomizationFiles(ctx context.Context, c *spec.Component, f *files) ([]string, error) {
	c.Kustomize.Remotes = map[string]string{}
	c.Kustomize.Charts = map[string]string{}

	// A base that was fetched may refer to more.
	for range maxRemoteRounds {
		found, err := kustomize.Collect(f, f.dir, *c, f.position)
		if err != nil || len(found.Remotes)+len(found.Charts) == 0 {
			return found.Files, f.explain(err)
		}

		// Remote bases and charts are fetched together.
		wanted := make([]part, 0, len(found.Remotes)+len(found.Charts))
		for _, r := range found.Remotes {
			var refs []spec.CueRef
			for _, text := range r.Refs {
				refs = append(refs, spec.CueRef{Type: spec.RefType(r.Type), Ref: text, Pos: r.Pos, RefPos: r.Pos, TypePos: r.Pos})
			}
			mounted := func(folder string) { c.Kustomize.Remotes[r.URL] = path.Join(folder, r.Path) }
			wanted = append(wanted, part{name: r.URL, refs: refs, mounted: mounted})
		}
		for _, chart := range found.Charts {
			ref, _ := chartOf(helmChart(chart))
			key := spec.ChartKey(chart.Repo, chart.Name, chart.Version)
			mounted := func(folder string) { c.Kustomize.Charts[key] = folder }
			wanted = append(wanted, part{name: "chart " + chart.Name, refs: []spec.CueRef{ref}, mounted: mounted})
		}

		// Maps that an engine was given do not change: new entries go into copies.
		c.Kustomize.Remotes = maps.Clone(c.Kustomize.Remotes)
		c.Kustomize.Charts = maps.Clone(c.Kustomize.Charts)
		if err := f.fetch(ctx, wanted); err != nil {
			return nil, err
		}
	}
	return nil, object.Errors{{
		Stage: object.StageResolve, Pos: c.Pos, Path: c.Path.String(), Err: fmt.Errorf("remote bases refer to further ones more than %d times", maxRemoteRounds),
	}}
}

// explain adds a description of the root to the error of a path that leaves it.
func (f *files) explain(err error) error {
	var errs object.Errors
	if f.at.Root == nil || !errors.As(err, &errs) {
		return err
	}
	for _, e := range errs {
		if strings.Contains(e.Err.Error(), "leaves the source") {
			e.Hint = f.at.Root.Describe()
		}
	}
	return errs
}

// helmChart returns a chart of a kustomization as the chart of a component.
func helmChart(c kustomize.Chart) spec.Helm {
	textAt := func(text string) spec.Text { return spec.Text{Text: text, Pos: c.Pos} }
	h := spec.Helm{Chart: textAt(c.Name), Repo: textAt(c.Repo), Version: textAt(c.Version)}
	if strings.HasPrefix(c.Repo, "oci://") {
		h.Chart = textAt(strings.TrimSuffix(c.Repo, "/") + "/" + c.Name)
		h.Repo = textAt("")
	}
	return h
}

// part is a tree that is wanted for a component.
type part struct {
	// name is its name in the provenance.
	name string
	// refs are tried in order, until a tree is found.
	refs []spec.CueRef
	// mounted is called with the folder of the tree, or with its only file.
	mounted func(name string)
}

// fetch fetches trees and mounts them.
func (f *files) fetch(ctx context.Context, wanted []part) error {
	// Each part is tried under its next reference, as long as it is not found.
	found := make([]reference, len(wanted))
	open := slices.Repeat([]bool{true}, len(wanted))
	var errs object.Errors
	for try := 0; slices.Contains(open, true); try++ {
		var pending []reference
		for i, p := range wanted {
			if !open[i] {
				continue
			}
			w, ok := f.modules.reference(p.refs[try], nil) // It reports what is not available here.
			w.key.files = true
			found[i] = w
			open[i] = ok
			if ok {
				pending = append(pending, w)
			}
		}
		if err := f.modules.fetch(ctx, pending); err != nil {
			return err
		}
		for i, p := range wanted {
			err := f.modules.errs[found[i].key]
			missing := errors.Is(err, source.ErrNotFound) || errors.Is(err, source.ErrOffline) || errors.Is(err, source.ErrLocked)
			open[i] = open[i] && missing && try+1 < len(p.refs)
		}
	}

	// A tree that was fetched is mounted, and its path goes into the kustomization.
	for i, p := range wanted {
		tree, ok := f.modules.trees[found[i].key]
		if err := f.modules.errs[found[i].key]; err != nil || !ok {
			if err != nil {
				errs = append(errs, &object.Error{Stage: object.StageResolve, Pos: p.refs[0].Pos, Err: fmt.Errorf("%s: %w", p.name, err)})
			}
			continue
		}
		f.addSource(p.name, tree)
		folder := f.mount(strconv.Itoa(len(f.mounts)), tree)
		if p.refs[0].Type == kustomize.TypeHTTP {
			folder = path.Join(folder, only(tree))
		}
		p.mounted(folder)
	}
	return errs.Err()
}

// only returns the name of the only file of a tree.
func only(tree source.Tree) (name string) {
	entries, _ := fs.ReadDir(tree.FS, ".") // A tree in memory is read without errors.
	for _, e := range entries {
		name = e.Name()
	}
	return name
}
