// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"slices"

	"cuelang.org/go/cue"

	"github.com/ropewalk/ropewalk/render/object"
)

// maxSteps bounds how many values one trace looks at.
const maxSteps = 400

// trace answers queries by following references from the rendered value to
// the input. CUE knows most of the way, comprehension variables included; what
// it does not say is read from the module's syntax.
func (s *session) trace(queries []Query) ([]Origin, error) {
	out := make([]Origin, len(queries))
	if s.module.provisioners != nil {
		return out, s.traceResources(queries, out)
	}
	f, find, err := s.rendered()
	if err != nil {
		return nil, err
	}
	for i, q := range queries {
		t := &tracer{session: s, filled: f}
		out[i] = t.origin(find(q.Node), q.Path)
	}
	return out, nil
}

// traceResources answers queries for the objects of resources; those of others
// stay as they are.
func (s *session) traceResources(queries []Query, out []Origin) error {
	resources, err := s.resources()
	if err != nil {
		return err
	}
	for _, a := range resources {
		f := a.fill(a.session.input, a.config)
		nodes, err := f.root.LookupPath(cue.MakePath(cue.Str(fieldGraph), cue.Str(fieldNodes))).Fields()
		for err == nil && nodes.Next() {
			id := a.session.nodeID(nodes.Selector().Unquoted())
			for i, q := range queries {
				if q.Node == id {
					t := &tracer{session: a.session, filled: f}
					out[i] = t.origin(nodes.Value().LookupPath(cue.MakePath(cue.Str(fieldObject))), q.Path)
				}
			}
		}
	}
	return nil
}

// rendered is the module with its input, and a way to find objects in it.
func (s *session) rendered() (filled, func(object.ID) cue.Value, error) {
	if s.module.flavour == FlavourNative {
		f, err := s.fillNative(s.input)
		if err != nil {
			return f, nil, err
		}
		return f, func(id object.ID) cue.Value {
			return f.root.LookupPath(cue.MakePath(
				cue.Str(fieldGraph), cue.Str(fieldNodes), cue.Str(id.Node()), cue.Str("object")))
		}, nil
	}
	f, w, err := s.walked()
	if err != nil {
		return f, nil, err
	}
	if err := s.nameNodes(w.nodes); err != nil {
		return f, nil, err
	}
	byID := map[object.ID]cue.Value{}
	for n, v := range w.values {
		byID[n.ID] = v
	}
	return f, func(id object.ID) cue.Value { return byID[id] }, nil
}

// walked is the objects of a plain or a Timoni module.
func (s *session) walked() (filled, *walker, error) {
	w := &walker{session: s, values: map[*object.Node]cue.Value{}}
	if s.module.flavour == FlavourTimoni {
		f, err := s.fillTimoni()
		if err != nil {
			return f, nil, err
		}
		w.filled, w.timoni = f, true
		sets, err := f.root.LookupPath(cue.ParsePath("timoni.apply")).Fields()
		for err == nil && sets.Next() {
			w.set(sets.Selector().Unquoted(), sets.Value())
		}
		return f, w, nil
	}
	if err := s.plainInput(); err != nil {
		return filled{}, nil, err
	}
	w.filled = s.fillPlain(s.input)
	w.walk(w.filled.root, 0)
	return w.filled, w, nil
}

// tracer answers one query.
type tracer struct {
	session *session
	filled  filled
	steps   int
}

// origin is where the part of root at path comes from.
func (t *tracer) origin(root cue.Value, path object.Path) Origin {
	if !root.Exists() {
		return Origin{}
	}
	chain := []cue.Value{root}
	for _, step := range path {
		next := child(chain[len(chain)-1], step)
		if !next.Exists() {
			break
		}
		chain = append(chain, next)
	}
	last := chain[len(chain)-1]
	var o Origin
	at, ok := t.follow(last)
	if !ok {
		at, ok = t.fromSyntax(chain, path[:len(chain)-1])
	}
	// What is said of a struct as a whole is said of what is in it; where a part
	// of the path is missing it is that part that is wrong.
	if !ok && len(chain) == len(path)+1 {
		at, ok = t.below(last, 0)
	}
	if ok {
		o.InputPath = at
		written := t.session.written
		if t.session.resource != "" {
			written = t.session.req.Input
		}
		// What the module gives itself is not the user's.
		if _, n := written.Lookup(at); n == len(at) {
			o.Input = written.NearestPos(at)
		}
	}
	for i := len(chain) - 1; i >= 0 && !o.Module.IsValid(); i-- {
		o.Module = t.session.ownPos(chain[i])
	}
	return o
}

// below is the path in the input that the first field of v comes from that
// comes from there at all.
func (t *tracer) below(v cue.Value, depth int) (object.Path, bool) {
	const deepest = 2
	fields, err := v.Fields()
	for err == nil && fields.Next() {
		if path, ok := t.follow(fields.Value()); ok {
			return path, true
		}
		if depth < deepest {
			if path, ok := t.below(fields.Value(), depth+1); ok {
				return path, true
			}
		}
	}
	return nil, false
}

func child(v cue.Value, step object.Step) cue.Value {
	if step.IsIndex {
		return v.LookupPath(cue.MakePath(cue.Index(step.Index)))
	}
	return v.LookupPath(cue.MakePath(cue.Str(step.Name)))
}

// follow is the path in the input that v was computed from.
func (t *tracer) follow(v cue.Value) (path object.Path, ok bool) {
	// CUE's reflection gives up on some values; those have no origin then.
	defer func() {
		if recover() != nil {
			path, ok = nil, false
		}
	}()
	if t.steps++; t.steps > maxSteps || !v.Exists() {
		return nil, false
	}
	if i := t.filled.with.at(v.Pos()); i > 0 {
		switch path := t.filled.with.path(i); t.filled.with.places[i].root {
		case fieldInput:
			return t.session.inInput(path)
		case fieldConfig:
			return t.session.inInput(object.Fields(fieldConfig).Append(path...))
		default:
			return nil, false
		}
	}
	op, args := v.Expr()
	switch op {
	case cue.SelectorOp, cue.IndexOp:
		target := cue.Dereference(v)
		if path, ok := t.inInput(target); ok {
			return path, true
		}
		if _, ref := v.ReferencePath(); len(ref.Selectors()) > 0 || target.Path().String() != v.Path().String() {
			if path, ok := t.follow(target); ok {
				return path, true
			}
		}
		if op == cue.IndexOp {
			return t.first(args)
		}
		return nil, false
	case cue.CallOp:
		return t.first(args[1:])
	case cue.NoOp:
		return nil, false
	default:
		return t.first(args)
	}
}

func (t *tracer) first(args []cue.Value) (object.Path, bool) {
	for _, a := range args {
		if path, ok := t.follow(a); ok {
			return path, true
		}
	}
	return nil, false
}

// inInput is the path of v inside the input, where that is where v is.
func (t *tracer) inInput(v cue.Value) (object.Path, bool) {
	sels := v.Path().Selectors()
	skip := 0
	if t.session.resource != "" {
		own := t.filled.root.Path().Selectors()
		if len(sels) <= len(own) || !slices.Equal(sels[:len(own)], own) {
			return nil, false
		}
		return t.session.inInput(stepsOf(sels[len(own):]))
	}
	if root := t.session.module.inputField(); root != "" {
		if len(sels) < 2 || sels[0].String() != root {
			return nil, false
		}
		skip = 1
	}
	path := stepsOf(sels[skip:])
	if skip == 0 {
		// The input of a plain module stands at its root, among other fields.
		if _, n := t.session.input.Lookup(path); n == 0 || n < len(path) {
			return nil, false
		}
	}
	return path, path != nil
}

// inInput is a path of what the session fills as one of the input of its
// request.
func (s *session) inInput(path object.Path) (object.Path, bool) {
	switch {
	case s.resource == "":
		return path, true
	case len(path) == 0:
		return nil, false
	case path[0].Name == fieldConfig:
		return path, true
	case path[0].Name == fieldParams, path[0].Name == fieldResource:
		return object.Fields("resources", s.resource).Append(path...), true
	default:
		return nil, false
	}
}

// inputField is the field of the module that takes the input; "" is its root.
func (c *compiled) inputField() string {
	switch c.flavour {
	case FlavourNative:
		return fieldInput
	case FlavourTimoni:
		return fieldValues
	default:
		return ""
	}
}

// stepsOf is a path of CUE as one of ours; nil where it leads through
// something that is not data.
func stepsOf(sels []cue.Selector) object.Path {
	var path object.Path
	for _, sel := range sels {
		switch sel.LabelType() {
		case cue.IndexLabel:
			path = append(path, object.Index(sel.Index()))
		case cue.StringLabel:
			path = append(path, object.Field(sel.Unquoted()))
		default:
			return nil
		}
	}
	return path
}
