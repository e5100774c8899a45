// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"slices"

	"cuelang.org/go/cue"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/evaluate/module"
	"github.com/ropewalk/ropewalk/render/object"
)

// maxSteps bounds how many values one trace looks at.
const maxSteps = 400

// Trace answers queries by following references from the rendered value to
// the input. CUE knows most of the way, comprehension variables included; what
// it does not say is read from the module's syntax.
func Trace(s *module.Session, queries []evaluate.Query) ([]evaluate.Origin, error) {
	origins := make([]evaluate.Origin, len(queries))
	f, find, err := s.Rendered()
	if err != nil {
		return nil, err
	}
	for i, q := range queries {
		origins[i] = Origin(s, f, find(q.Node), q.Path)
	}
	return origins, nil
}

// Origin returns where the part of root at path comes from. The argument f holds the filled module
// that root is a part of.
func Origin(s *module.Session, f diagnose.Filled, root cue.Value, path object.Path) evaluate.Origin {
	t := &tracer{session: s, filled: f}
	return t.origin(root, path)
}

// tracer answers one query.
type tracer struct {
	session *module.Session
	filled  diagnose.Filled
	steps   int
}

// origin returns where the part of root at path comes from.
func (t *tracer) origin(root cue.Value, path object.Path) evaluate.Origin {
	if !root.Exists() {
		return evaluate.Origin{}
	}

	// Follow the path as far as it leads.
	chain := []cue.Value{root}
	for _, step := range path {
		next := child(chain[len(chain)-1], step)
		if !next.Exists() {
			break
		}
		chain = append(chain, next)
	}

	// References come first, and then the syntax of the module.
	reached := chain[len(chain)-1]
	var o evaluate.Origin
	inputPath, ok := t.follow(reached)
	if !ok {
		inputPath, ok = t.fromSyntax(chain, path[:len(chain)-1])
	}
	// A mistake of a whole struct is a mistake of its fields. If a part of the path is
	// missing, the mistake is the missing part.
	if !ok && len(chain) == len(path)+1 {
		inputPath, ok = t.below(reached, 0)
	}
	if ok {
		o.InputPath = inputPath
		written := t.session.Written
		if t.session.Resource != "" {
			written = t.session.Req.Input
		}
		// What the module gives itself is not the user's.
		if _, n := written.Lookup(inputPath); n == len(inputPath) {
			o.Input = written.NearestPos(inputPath)
		}
	}

	// The line of the module is the line of the innermost value that has a line.
	for i := len(chain) - 1; i >= 0 && !o.Module.IsValid(); i-- {
		o.Module = t.session.OwnPos(chain[i])
	}
	return o
}

// below returns the path in the input of the first field of v that comes from the input.
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
		v, _ = v.Default()
		return v.LookupPath(cue.MakePath(cue.Index(step.Index)))
	}
	return module.Field(v, step.Name)
}

// follow returns the path in the input that v was computed from.
func (t *tracer) follow(v cue.Value) (path object.Path, ok bool) {
	// CUE's reflection gives up on some values; those have no origin then.
	defer func() {
		if recover() != nil {
			path, ok = nil, false
		}
	}()
	t.steps++
	if t.steps > maxSteps || !v.Exists() {
		return nil, false
	}

	// The value may be filled in itself.
	if i := t.filled.With.At(v.Pos()); i > 0 {
		switch path := t.filled.With.Path(i); t.filled.With.Positions[i].Root {
		case diagnose.FieldInput:
			return t.session.InInput(path)
		case diagnose.FieldConfig:
			return t.session.InInput(object.Fields(diagnose.FieldConfig).Append(path...))
		default:
			return nil, false
		}
	}

	// Otherwise it is computed from others, by a reference or by an operation.
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

// inInput returns the path of v inside the input, if v is a part of the input.
func (t *tracer) inInput(v cue.Value) (object.Path, bool) {
	sels := v.Path().Selectors()
	skip := 0
	if t.session.Resource != "" {
		rootSelectors := t.filled.Root.Path().Selectors()
		if len(sels) <= len(rootSelectors) || !slices.Equal(sels[:len(rootSelectors)], rootSelectors) {
			return nil, false
		}
		return t.session.InInput(stepsOf(sels[len(rootSelectors):]))
	}
	if root := t.session.Compiled.InputField(); root != "" {
		if len(sels) < 2 || sels[0].String() != root {
			return nil, false
		}
		skip = 1
	}
	path := stepsOf(sels[skip:])
	if skip == 0 {
		// The input of a plain module stands at its root, among other fields.
		if _, n := t.session.Input.Lookup(path); n == 0 || n < len(path) {
			return nil, false
		}
	}
	return path, path != nil
}

// stepsOf returns a path of CUE as an object.Path. It returns nil if the path leads through
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
