// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/generate"
	"github.com/ropewalk/ropewalk/render/workload/placeholder"
	"github.com/ropewalk/ropewalk/render/workload/resource"
)

// refer finds the resources that the params of i refer to, and reports placeholders that cannot be
// resolved, which break i.
func (i *instance) refer() object.Errors {
	if i.writer == nil {
		return nil
	}
	if k := i.params.Kind; k != object.KindMap {
		i.broken = true
		return object.Errors{{
			Stage: object.StageSpec, Pos: i.params.Pos, Path: i.writer.paramsPath(i.written).String(),
			Err: fmt.Errorf("must be a map, got a %s", k),
		}}
	}
	s := scope{member: i.writer, result: func(*instance) *resource.Result { return nil }}
	path := i.writer.paramsPath(i.written)
	_, _, errs := mapTexts(i.params, path, func(v object.Value, path object.Path) (object.Value, bool, object.Errors) {
		_, ok, errs := s.expand(v.Text, position{pos: v.Pos, path: path.String})
		if !ok && errs.Err() == nil {
			i.collect(v)
		}
		return v, true, errs
	})
	i.broken = i.broken || errs.Err() != nil
	return errs
}

// collect adds the references in one text of the params.
func (i *instance) collect(v object.Value) {
	for _, part := range placeholder.Parse(v.Text) {
		if len(part.Ref) < 3 || part.Ref[0] != generate.RootResources {
			continue
		}
		if n, ok := i.writer.resource(part.Ref[1]); ok {
			i.references = append(i.references, reference{i.writer.instances[n], part.Ref[1], v.Pos})
		}
	}
}

// reportCycles reports resources whose params refer to one another in a cycle. They are broken
// then.
func reportCycles(instances []*instance) object.Errors {
	w := walk{state: make(map[*instance]int, len(instances))}
	for _, i := range instances {
		w.visit(i)
	}
	return w.errs
}

// walk goes through resources along their references, depth first.
type walk struct {
	state map[*instance]int
	// steps are the references from the first resource to the current one.
	steps []step
	errs  object.Errors
}

type step struct {
	from *instance
	reference
}

const (
	visiting = 1 + iota
	visited
)

func (w *walk) visit(i *instance) {
	if w.state[i] != 0 {
		return
	}
	w.state[i] = visiting
	for _, r := range i.references {
		w.steps = append(w.steps, step{i, r})
		if w.state[r.to] == visiting {
			w.report(r.to)
		}
		w.visit(r.to)
		w.steps = w.steps[:len(w.steps)-1]
	}
	w.state[i] = visited
}

// report adds an error for the cycle that begins and ends at i.
func (w *walk) report(i *instance) {
	cycle := w.steps
	for cycle[0].from != i {
		cycle = cycle[1:]
	}
	sameOwner := true
	for _, s := range cycle {
		sameOwner = sameOwner && s.from.owner == i.owner
	}

	// Resources of several workloads need the names of those too.
	name := func(i *instance) string {
		if sameOwner {
			return i.resource.Name
		}
		return i.owner.name() + "." + i.resource.Name
	}

	// Write the cycle, and a note for each of its references.
	var b strings.Builder
	e := &object.Error{
		Stage: object.StageSpec, Pos: cycle[0].pos, Path: i.writer.paramsPath(i.written).String(),
		Hint: "remove one of these placeholders",
	}
	for _, s := range cycle {
		s.from.broken = true
		fmt.Fprintf(&b, "%s (%s) -> ", name(s.from), s.pos)
		e.Notes = append(e.Notes, object.Note{Pos: s.pos, Text: fmt.Sprintf("%s refers to %s", name(s.from), name(s.to))})
	}
	e.Err = fmt.Errorf("resources refer to each other in a cycle: %s%s", b.String(), name(i))
	w.errs = append(w.errs, e)
}
