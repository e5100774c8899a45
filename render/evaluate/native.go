// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"encoding/json"
	"fmt"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/token"

	"github.com/ropewalk/ropewalk/render/object"
)

// Fields of a native module.
const (
	fieldInput   = "input"
	fieldContext = "context"
	fieldGraph   = "graph"
	fieldNodes   = "nodes"
	fieldObject  = "object"
)

// filled is a module with an input in it.
type filled struct {
	root cue.Value
	with *filling
}

// fillNative unifies input and context with the module, in one step.
func (s *session) fillNative(input object.Value) (filled, error) {
	parts, err := s.parts(input)
	if err != nil {
		return filled{}, err
	}
	return s.fill(parts...), nil
}

// parts are input and context as far as the module asks for them.
func (s *session) parts(input object.Value) ([]part, error) {
	var parts []part
	// An input that is only a name, with nothing behind it, is none.
	if input.Kind != object.KindNone && input.Kind != object.KindNull {
		if !s.has(fieldInput) {
			return nil, &object.Error{
				Stage: object.StageEvaluate, Pos: or(input.Pos, s.pos), Path: s.inputPath.String(),
				Err: fmt.Errorf("module %q takes no input: it has no field %q", s.source.name(), fieldInput),
			}
		}
		parts = append(parts, part{field: fieldInput, at: []string{fieldInput}, value: input})
	}
	if s.has(fieldContext) {
		parts = append(parts, part{field: fieldContext, at: []string{fieldContext}, value: contextValue(s.req.Context)})
	}
	return parts, nil
}

func (s *session) fill(parts ...part) filled {
	if len(parts) == 0 {
		return filled{root: s.module.value}
	}
	f := fill(parts...)
	return filled{root: s.module.value.FillPath(cue.MakePath(), f.value), with: f}
}

func (s *session) has(field string) bool {
	return s.module.value.LookupPath(cue.MakePath(cue.Str(field))).Exists()
}

// contextValue is c as a module sees it; its parts have no position.
func contextValue(c object.Context) object.Value {
	v := object.Value{Kind: object.KindMap}
	add := func(name, text string) {
		v.Members = append(v.Members, object.Member{Name: name, Value: object.Value{Kind: object.KindString, Text: text}})
	}
	add("name", c.Name)
	add("namespace", c.Namespace)
	if c.Environment != "" {
		add("environment", c.Environment)
	}
	add("engine", c.Engine)
	add("kubeVersion", c.KubeVersion)
	add("clusterDomain", c.ClusterDomain)
	return v
}

// native gives the nodes of a native module.
func (s *session) native() ([]*object.Node, error) {
	f, err := s.fillNative(s.input)
	if err != nil {
		return nil, err
	}
	for _, field := range []string{fieldInput, fieldContext, fieldGraph} {
		v := f.root.LookupPath(cue.MakePath(cue.Str(field)))
		if !v.Exists() {
			continue
		}
		if err := v.Validate(cue.Concrete(true), cue.Final()); err != nil {
			return nil, s.explain(f, field, err)
		}
	}
	nodes := f.root.LookupPath(cue.MakePath(cue.Str(fieldGraph), cue.Str(fieldNodes)))
	if !nodes.Exists() {
		return nil, fmt.Errorf("module %q has no graph.nodes: it makes no objects", s.source.name())
	}
	return s.nodes(nodes, &budget{})
}

// nodes reads graph.nodes.
func (s *session) nodes(v cue.Value, b *budget) ([]*object.Node, error) {
	fields, err := v.Fields()
	if err != nil {
		return nil, s.moduleError(v, "graph.nodes", "must be a map of nodes")
	}
	var out []*object.Node
	var errs object.Errors
	for fields.Next() {
		n, err := s.node(fields.Selector().Unquoted(), fields.Value(), b)
		if err != nil {
			errs = append(errs, err...)
			continue
		}
		if err := b.err(); err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, errs.Err()
}

// node reads one node.
func (s *session) node(name string, v cue.Value, b *budget) (*object.Node, object.Errors) {
	n := &object.Node{ID: s.nodeID(name), SpecPos: s.req.Pos}
	if p, ok := s.declared[name]; ok {
		n.Pos = s.module.tree.position(s.source, p)
	} else {
		n.Pos = s.nodePos(v)
	}
	path := object.Fields(fieldGraph, fieldNodes, name)
	if !validNodeName(name) {
		return nil, object.Errors{{
			Stage: object.StageEvaluate, Pos: n.Pos, Path: path.String(), Node: n.ID,
			Err: fmt.Errorf("the name of a node must be a DNS label of lower-case letters, digits and dashes, got %q", name),
		}}
	}
	d := nodeDecoder{session: s, node: n, path: path}
	v, _ = v.Default()
	fields, err := v.Fields()
	if err != nil {
		return nil, object.Errors{s.moduleError(v, path.String(), "must be a node")}
	}
	for fields.Next() {
		field, value := fields.Selector().Unquoted(), fields.Value()
		if field == fieldObject {
			if value, _ = value.Default(); value.IncompleteKind() != cue.StructKind {
				d.fail(value, field, "must be an object")
				continue
			}
			n.Object, err = b.export(value)
		} else {
			err = d.decode(field, value)
		}
		if err != nil {
			return nil, object.Errors{s.moduleError(value, path.Append(object.Field(field)).String(), plain(err))}
		}
	}
	d.finish(v)
	return n, d.errs
}

// budget counts what comes out of an evaluation.
type budget struct{ objects, bytes int }

// export is the concrete value v as an object.
func (b *budget) export(v cue.Value) (object.Object, error) {
	data, err := v.MarshalJSON()
	if err != nil {
		return nil, err
	}
	b.objects++
	b.bytes += len(data)
	return object.Decode(data)
}

func (b budget) err() error {
	if b.objects > maxObjects {
		return fmt.Errorf("the module makes more than %d objects, which no flag allows: make several specs of it", maxObjects)
	}
	if b.bytes > maxOutputBytes {
		return fmt.Errorf("the module makes objects of more than %d MiB together, which no flag allows: make several specs of it", maxOutputBytes>>20)
	}
	return nil
}

// nodePos is the line of the module that made the node v.
func (s *session) nodePos(v cue.Value) object.Pos {
	// Where a value was written first is cheap to ask; which of its parts the
	// module itself wrote is not, and there is a node for every object.
	if p := v.Pos(); s.module.tree.own(p) {
		return s.module.tree.position(s.source, p)
	}
	made := v.LookupPath(cue.MakePath(cue.Str(fieldObject)))
	if p := made.Pos(); made.Exists() && s.module.tree.own(p) {
		return s.module.tree.position(s.source, p)
	}
	kind := made.LookupPath(cue.MakePath(cue.Str("kind")))
	return s.ownPos(v, made, kind)
}

// ownPos is the line of the module that made the first of values. A value may
// come from a schema and from the module; the module's own line is what its
// author looks for.
func (s *session) ownPos(values ...cue.Value) object.Pos {
	first := object.Pos{}
	for _, v := range values {
		if !v.Exists() {
			continue
		}
		places := []token.Pos{v.Pos()}
		if !s.module.tree.own(places[0]) {
			places = append(places, conjuncts(v)...)
		}
		for _, p := range places {
			at := s.module.tree.position(s.source, p)
			if s.module.tree.own(p) {
				return at
			}
			if !first.IsValid() {
				first = at
			}
		}
	}
	return first
}

// conjuncts are the places of what v was unified of.
func conjuncts(v cue.Value) (places []token.Pos) {
	// CUE's reflection gives up on some values.
	defer func() { _ = recover() }()
	op, args := v.Expr()
	if op != cue.AndOp {
		return nil
	}
	for _, a := range args {
		places = append(places, a.Pos())
	}
	return places
}

// moduleError is a mistake of the module at v.
func (s *session) moduleError(v cue.Value, path, message string) *object.Error {
	return &object.Error{
		Stage: object.StageEvaluate, Pos: or(s.module.tree.at(s.source, v), s.req.Pos), Path: path,
		Err: fmt.Errorf("%s", message),
	}
}

// unmarshal reads data that CUE wrote; json is enough where no positions are
// needed.
func unmarshal(data []byte) any {
	var v any
	if json.Unmarshal(data, &v) != nil {
		return nil
	}
	return v
}
