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
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source"
)

// maxRemoteRounds is how deep remote bases may refer to further ones.
const maxRemoteRounds = 16

// kustomization finds the files of a kustomization, and fetches what it refers to until
// nothing is missing.
func (l *loading) kustomization(ctx context.Context, t spec.Transform, b *built, f *files) ([]string, error) {
	b.Kustomize.Remotes, b.Kustomize.Charts = map[string]string{}, map[string]string{}
	for range maxRemoteRounds {
		c, err := kustomize.Collect(f, f.dir, b.Component, f.position)
		if err != nil || len(c.Remotes)+len(c.Charts) == 0 {
			return c.Files, f.explain(err)
		}
		wanted := make([]part, 0, len(c.Remotes)+len(c.Charts))
		for _, r := range c.Remotes {
			var refs []spec.CueRef
			for _, text := range r.Refs {
				refs = append(refs, spec.CueRef{Type: spec.RefType(r.Type), Ref: text, Pos: r.Pos, RefPos: r.Pos, TypePos: r.Pos})
			}
			wanted = append(wanted, part{name: r.URL, refs: refs, to: func(at string) { b.Kustomize.Remotes[r.URL] = path.Join(at, r.Path) }})
		}
		for _, chart := range c.Charts {
			ref, _ := chartOf(helmChart(chart))
			key := spec.ChartKey(chart.Repo, chart.Name, chart.Version)
			wanted = append(wanted, part{name: "chart " + chart.Name, refs: []spec.CueRef{ref}, to: func(at string) { b.Kustomize.Charts[key] = at }})
		}
		// An engine does not change what it was given.
		b.Kustomize.Remotes, b.Kustomize.Charts = maps.Clone(b.Kustomize.Remotes), maps.Clone(b.Kustomize.Charts)
		if err := l.parts(ctx, t, f, wanted); err != nil {
			return nil, err
		}
	}
	return nil, object.Errors{{
		Stage: object.StageResolve, Pos: b.Pos, Path: b.Path.String(), Err: fmt.Errorf("remote bases refer to further ones more than %d times", maxRemoteRounds),
	}}
}

// components renders the folder of a CUE package as the chart or the kustomization that lies
// there too, where the package makes no objects: it is a part of the work with these then.
func (l *loading) components(ctx context.Context) error {
	for i, t := range l.docs.Transforms {
		other, ok := l.Instead(t.Name)
		if !ok || !l.packages[t.Name] || l.opts.Evaluator == nil || len(l.opts.Expressions) > 0 {
			continue
		}
		w, ok := l.modules.reference(t.CueRef, nil)
		if !ok {
			continue
		}
		tree, err := l.modules.complete(ctx, w.key)
		if err == nil {
			var result evaluate.Result
			result, err = l.opts.Evaluator.Evaluate(ctx, evaluate.Request{
				Spec: t.Name, Pos: t.Pos, Module: l.modules.module(w, tree, l.runtime.over(t.Tags, tree)), Limits: l.opts.Limits, AllowEmpty: true,
			})
			if err == nil && result.Flavour == evaluate.FlavourPlain && len(result.Nodes) == 0 {
				delete(l.packages, t.Name)
				l.packages[other.Name], l.docs.Transforms[i] = true, other
			}
		}
		// The render reports any other error.
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// explain says of a path that leaves the root what that is.
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

// helmChart is a chart of a kustomization as that of a component.
func helmChart(c kustomize.Chart) spec.Helm {
	at := func(text string) spec.Text { return spec.Text{Text: text, Pos: c.Pos} }
	h := spec.Helm{Chart: at(c.Name), Repo: at(c.Repo), Version: at(c.Version)}
	if strings.HasPrefix(c.Repo, "oci://") {
		h.Chart, h.Repo = at(strings.TrimSuffix(c.Repo, "/")+"/"+c.Name), at("")
	}
	return h
}

// part is a tree that is wanted for a component.
type part struct {
	// name is that of its provenance.
	name string
	// refs are tried in order, until one is found.
	refs []spec.CueRef
	// to gets the folder of the tree, or the file where it is one alone.
	to func(at string)
}

// parts fetches trees and mounts them.
func (l *loading) parts(ctx context.Context, t spec.Transform, f *files, wanted []part) error {
	found := make([]reference, len(wanted))
	open := slices.Repeat([]bool{true}, len(wanted))
	var errs object.Errors
	for try := 0; slices.Contains(open, true); try++ {
		var all []reference
		for i, p := range wanted {
			if !open[i] {
				continue
			}
			w, ok := l.modules.reference(p.refs[try], nil) // It reports what is not available here.
			w.key.files = true
			if found[i], open[i] = w, ok; ok {
				all = append(all, w)
			}
		}
		if err := l.modules.fetch(ctx, all); err != nil {
			return err
		}
		for i, p := range wanted {
			err := l.modules.errs[found[i].key]
			missing := errors.Is(err, source.ErrNotFound) || errors.Is(err, source.ErrOffline) || errors.Is(err, source.ErrLocked)
			open[i] = open[i] && missing && try+1 < len(p.refs)
		}
	}
	for i, p := range wanted {
		tree, ok := l.modules.trees[found[i].key]
		if err := l.modules.errs[found[i].key]; err != nil || !ok {
			if err != nil {
				errs = append(errs, &object.Error{Stage: object.StageResolve, Pos: p.refs[0].Pos, Err: fmt.Errorf("%s: %w", p.name, err)})
			}
			continue
		}
		s := sourceOf(t.Name, "", tree)
		s.Part = p.name
		f.sources = append(f.sources, s)
		at := f.mount(strconv.Itoa(len(f.mounts)), tree)
		if p.refs[0].Type == kustomize.TypeHTTP {
			at = path.Join(at, only(tree))
		}
		p.to(at)
	}
	return errs.Err()
}

// only is the name of the only file of a tree.
func only(tree source.Tree) (name string) {
	entries, _ := fs.ReadDir(tree.FS, ".") // A tree in memory is read without errors.
	for _, e := range entries {
		name = e.Name()
	}
	return name
}
