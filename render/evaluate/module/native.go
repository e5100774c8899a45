// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"encoding/json"
	"errors"
	"fmt"

	"cuelang.org/go/cue"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/object"
)

// fillNative unifies input and context with the module, in one step.
func (s *Session) fillNative(input object.Value) (diagnose.Filled, error) {
	parts, err := s.Parts(input)
	if err != nil {
		return diagnose.Filled{}, err
	}
	return s.Fill(parts...), nil
}

// Parts returns input and context, as far as the module asks for them.
func (s *Session) Parts(input object.Value) ([]diagnose.Part, error) {
	var parts []diagnose.Part
	// An input that is only a name, with nothing behind it, counts as absent.
	if input.Kind != object.KindNone && input.Kind != object.KindNull {
		if !s.Has(diagnose.FieldInput) {
			return nil, &object.Error{
				Stage: object.StageEvaluate, Pos: object.FirstValid(input.Pos, s.Pos), Path: s.InputPath.String(),
				Err: fmt.Errorf("module %q takes no input: it has no field %q", s.Module.Name(), diagnose.FieldInput),
			}
		}
		parts = append(parts, diagnose.Part{Field: diagnose.FieldInput, At: []string{diagnose.FieldInput}, Value: input})
	}
	if s.Has(diagnose.FieldContext) {
		value := diagnose.ContextValue(s.Req.Context)
		parts = append(parts, diagnose.Part{Field: diagnose.FieldContext, At: []string{diagnose.FieldContext}, Value: value})
	}
	return parts, nil
}

// Fill unifies parts with the module, in one step.
func (s *Session) Fill(parts ...diagnose.Part) diagnose.Filled {
	if len(parts) == 0 {
		return diagnose.Filled{Root: s.Compiled.Value}
	}
	f := diagnose.Fill(parts...)
	return diagnose.Filled{Root: s.Compiled.Value.Unify(f.Value), With: f}
}

// Has reports whether the module has a field at its root.
func (s *Session) Has(field string) bool {
	return s.Compiled.Value.LookupPath(cue.MakePath(cue.Str(field))).Exists()
}

// Render returns the nodes that the module makes, and warnings of what could be translated only in
// part.
func (s *Session) Render() ([]*object.Node, object.Errors, error) {
	if s.Compiled.Flavour == evaluate.FlavourNative {
		nodes, err := s.renderNative()
		return nodes, nil, err
	}
	w, err := s.collectObjects()
	if err != nil {
		return nil, nil, err
	}
	s.Compiled.release()
	return w.nodes, w.warnings, nil
}

// renderNative returns the nodes of a native module.
func (s *Session) renderNative() ([]*object.Node, error) {
	f, err := s.fillNative(s.Input)
	if err != nil {
		return nil, err
	}
	if err := s.Validate(f, s.fillNative, diagnose.FieldInput, diagnose.FieldContext, diagnose.FieldGraph); err != nil {
		return nil, err
	}
	if err := s.RefuseGraph(f.Root); err != nil {
		return nil, err
	}
	nodes := Field(f.Root, diagnose.FieldGraph, diagnose.FieldNodes)
	if !nodes.Exists() {
		return nil, diagnose.Blame(s.Req, fmt.Errorf("module %q has no graph.nodes: it makes no objects", s.Module.Name()))
	}
	return s.Nodes(nodes, &Budget{})
}

// RefuseGraph refuses fields of graph beside nodes: they mean nothing, and one of them may be a
// slip of nodes. The schema refuses them too, if a module imports it.
func (s *Session) RefuseGraph(root cue.Value) error {
	graph := Field(root, diagnose.FieldGraph)
	fields, err := graph.Fields()
	if graph.Exists() && err != nil {
		return s.ModuleError(graph, diagnose.FieldGraph, "must be a map with the field "+diagnose.FieldNodes)
	}
	var errs object.Errors
	for err == nil && fields.Next() {
		if name := fields.Selector().Unquoted(); name != diagnose.FieldNodes {
			path := object.Fields(diagnose.FieldGraph, name).String()
			e := s.ModuleError(fields.Value(), path, diagnose.UnknownField(name, []string{diagnose.FieldNodes}))
			e.Hint = fmt.Sprintf("hide a field of your own: _%s", name)
			errs = append(errs, e)
		}
	}
	return errs.Err()
}

// Validate validates fields of f one after the other, and reports what is wrong with the
// first that fails. CUE hides errors behind others, so fill is called again with parts of
// the input left out.
func (s *Session) Validate(f diagnose.Filled, fill func(object.Value) (diagnose.Filled, error), fields ...string) error {
	for _, field := range fields {
		// The field may be absent, which is no mistake.
		path := cue.MakePath(cue.Str(field))
		try := func(f diagnose.Filled) error {
			if v := f.Root.LookupPath(path); v.Exists() {
				return v.Validate(cue.Concrete(true), cue.Final())
			}
			return nil
		}
		err := try(f)
		if err == nil && field != diagnose.FieldInput && field != diagnose.FieldContext {
			// A condition or a loop at the root that cannot be decided makes nothing.
			err = f.Root.Err()
		}
		if err == nil {
			continue
		}

		// Other mistakes show if parts of the input are left out.
		refill := func(input object.Value) (diagnose.Filled, error) {
			f, err := fill(input)
			if err != nil {
				return f, err
			}
			return f, try(f)
		}

		// Mistakes of the input and of the graph have words of their own.
		switch field {
		case diagnose.FieldInput:
			if errs := s.InputErrorsOf(s.Compiled.Value.LookupPath(path), 1, refill); len(errs) > 0 {
				return errs.Sorted()
			}
		case diagnose.FieldGraph:
			return s.OutcomeErrors(f, field, err, refill)
		}
		return s.ErrorsOf(f, field, err)
	}
	return nil
}

// Nodes reads graph.nodes.
func (s *Session) Nodes(v cue.Value, b *Budget) ([]*object.Node, error) {
	fields, err := v.Fields()
	if err != nil {
		return nil, s.ModuleError(v, "graph.nodes", "must be a map of nodes")
	}
	var nodes []*object.Node
	var errs object.Errors
	for fields.Next() {
		n, err := s.readNode(fields.Selector().Unquoted(), fields.Value(), b)
		if err != nil {
			errs = append(errs, err...)
			continue
		}
		if err := b.Err(); err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, errs.Err()
}

// readNode reads one node.
func (s *Session) readNode(name string, v cue.Value, b *Budget) (*object.Node, object.Errors) {
	n := &object.Node{ID: s.NodeID(name), SpecPos: s.Req.Pos, Pos: s.nodePos(v)}
	path := object.Fields(diagnose.FieldGraph, diagnose.FieldNodes, name)
	if document.BadLabel(name) != "" {
		return nil, object.Errors{{
			Stage: object.StageEvaluate, Pos: n.Pos, Path: path.String(), Node: n.ID,
			Err: fmt.Errorf("the name of a node must be a DNS label of lower-case letters, digits and dashes, got %q", name),
		}}
	}

	// The fields are decoded one by one.
	d := nodeDecoder{session: s, node: n, path: path}
	v, _ = v.Default()
	fields, err := v.Fields()
	if err != nil {
		return nil, object.Errors{s.ModuleError(v, path.String(), "must be a node")}
	}
	for fields.Next() {
		field := fields.Selector().Unquoted()
		value := fields.Value()
		if field == diagnose.FieldObject {
			value, _ = value.Default()
			if value.IncompleteKind() != cue.StructKind {
				d.fail(value, field, "must be an object")
				continue
			}
			n.Object, err = b.export(value)
		} else {
			err = d.decode(field, value)
		}
		if err != nil {
			at, to := numberAt(value, path.Append(object.Field(field)), err)
			return nil, object.Errors{s.ModuleError(at, to.String(), diagnose.Message(err))}
		}
	}
	d.finish(v)
	return n, d.errs
}

// What comes out of one evaluation, at most. There are no flags for these: an engine
// that has to apply more at once is slow at it for every change, and a module of
// that size can be split. What fewer objects cost is bounded by the memory of an
// evaluation, which is a flag.
const (
	maxObjects     = 50_000
	maxOutputBytes = 64 << 20
)

// Budget counts what comes out of an evaluation.
type Budget struct{ objects, Bytes int }

// export returns the concrete value v as an object, and counts it.
func (b *Budget) export(v cue.Value) (object.Object, error) {
	data, err := v.MarshalJSON()
	if err != nil {
		return nil, err
	}
	b.objects++
	b.Bytes += len(data)
	return object.Decode(data)
}

// numberAt returns the place of the number that no object can hold, if err is about such a number.
// For every other error it returns v and path.
func numberAt(v cue.Value, path object.Path, err error) (cue.Value, object.Path) {
	var number *object.NumberError
	if !errors.As(err, &number) {
		return v, path
	}
	for _, step := range number.Path {
		selector := cue.Str(step.Name)
		if step.IsIndex {
			selector = cue.Index(step.Index)
		}
		v, _ = v.Default()
		v = v.LookupPath(cue.MakePath(selector))
	}
	return v, path.Append(number.Path...)
}

// Err returns the error of a module that makes too much.
func (b Budget) Err() error {
	if b.objects > maxObjects {
		return fmt.Errorf("the module makes more than %d objects, which no flag allows: make several specs of it", maxObjects)
	}
	if b.Bytes > maxOutputBytes {
		const limit = maxOutputBytes >> 20
		return fmt.Errorf("the module makes objects of more than %d MiB together, which no flag allows: make several specs of it", limit)
	}
	return nil
}

// nodePos returns the line of the module that made the node v.
func (s *Session) nodePos(v cue.Value) object.Pos {
	// Where a value was written first is cheap to ask; which of its parts the
	// module itself wrote is not, and there is a node for every object.
	if p := v.Pos(); s.Module.Own(p) {
		return s.Module.Position(p)
	}
	nodeObject := Field(v, diagnose.FieldObject)
	if p := nodeObject.Pos(); nodeObject.Exists() && s.Module.Own(p) {
		return s.Module.Position(p)
	}
	kind := Field(nodeObject, "kind")
	return s.OwnPos(v, nodeObject, kind)
}

// Unmarshal reads data that CUE wrote. The values of encoding/json are enough if no positions are
// needed.
func Unmarshal(data []byte) any {
	var v any
	if json.Unmarshal(data, &v) != nil {
		return nil
	}
	return v
}
