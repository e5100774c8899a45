// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"slices"
	"sync"
	"sync/atomic"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
)

// Bounds of what a module remembers of its structs; those beyond them are listed
// by CUE. A name takes about 1 KiB.
const (
	maxPlaces     = 1024 // of a module
	maxShapes     = 128  // of a module
	maxShapesHere = 4    // of one place
	maxNames      = 64   // of one shape
)

// Many modules make a few objects once, and must not pay for what is of use to
// others.
const (
	// worthAnOutline is how many nodes a module has made before any are
	// remembered.
	worthAnOutline = 16
	// worthAShape is how often the names of a struct are listed before they
	// become a shape, which costs as much as several lists.
	worthAShape = 8
)

// outlines is what a module remembers of the structs that it made, so that their
// fields can be asked for by name: CUE lists no fields without sorting them, and
// that takes it as long as to evaluate them. It is safe for concurrent use.
type outlines struct {
	nodes, objects *outline
	// made counts the nodes that were made.
	made atomic.Int32
	// places and shapes count those of all places.
	places, shapes atomic.Int32
}

func newOutlines() *outlines {
	o := &outlines{}
	o.nodes, o.objects = &outline{all: o}, &outline{all: o}
	return o
}

// node is the place of the next node.
func (o *outlines) node() *outline {
	if o.made.Load() < worthAnOutline {
		o.made.Add(1)
		return nil
	}
	return o.nodes
}

// object is the place of an object. Those of one kind have much the same fields.
func (o *outlines) object(v cue.Value) *outline {
	if o.made.Load() < worthAnOutline {
		return nil
	}
	kind, _ := v.LookupPath(cue.MakePath(cue.Str("kind"))).String()
	return o.objects.field(kind)
}

// outline is one place: the metadata of all objects of a kind, or the items of a
// list together. Nil is a place that nothing is remembered of.
type outline struct {
	all *outlines
	// shapes are those that the place had more than once. The slice is never
	// written to.
	shapes atomic.Pointer[[]*shape]
	items  atomic.Pointer[outline]

	mu sync.Mutex
	// seen are the sets of names that structs had here so far.
	seen []sight
	// varied says that the names are not worth remembering: they are labels,
	// or a table that every input fills in another way.
	varied bool
	below  map[string]*outline
}

// sight is a set of names, sorted, and how often it was listed.
type sight struct {
	names []string
	times int
}

// shape is a set of names that a struct may have.
type shape struct {
	// closed has these names, with any value, and lets no other one pass. It
	// stands in a context of its own.
	closed cue.Value
	fields []outlineField
	// deep says that closed holds structs too.
	deep bool
}

type outlineField struct {
	name string
	// path leads to the field from the struct of the shape.
	path cue.Path
	// inner are the fields of its value, where that is a struct whose names
	// closed says too.
	inner []outlineField
	below *outline
}

// each calls do with every field of the struct v, and with the place of its
// value. The order is that of the names, or the one that CUE gives them.
//
// v has passed a validation as final: a required field without a value is
// refused by that, and not by each.
func (o *outline) each(v cue.Value, do func(name string, value cue.Value, below *outline) error) error {
	v, _ = v.Default()
	if s := o.shape(v); s != nil {
		for _, f := range s.fields {
			if err := do(f.name, v.LookupPath(f.path), f.below); err != nil {
				return err
			}
		}
		return nil
	}
	return o.list(v, do)
}

// list is each for a struct of no remembered shape.
func (o *outline) list(v cue.Value, do func(name string, value cue.Value, below *outline) error) error {
	fields, err := v.Fields()
	if err != nil {
		return err
	}
	var names []string
	for fields.Next() {
		name, value := fields.Selector().Unquoted(), fields.Value()
		names = append(names, name)
		var below *outline
		if value.IncompleteKind()&(cue.StructKind|cue.ListKind) != 0 {
			below = o.field(name)
		}
		if err := do(name, value, below); err != nil {
			return err
		}
	}
	o.learn(names)
	return nil
}

// shape is the shape of the struct v, nil where it has none that is remembered.
//
// A closed struct subsumes v only where v has each of its fields and no others,
// so a field that was never there before cannot be lost.
func (o *outline) shape(v cue.Value) *shape {
	if o == nil {
		return nil
	}
	shapes := o.shapes.Load()
	if shapes == nil {
		return nil
	}
	for _, s := range *shapes {
		if s.closed.Subsume(v, cue.Final()) == nil {
			return s
		}
	}
	return nil
}

// learn is told the names of a struct that is of no remembered shape.
func (o *outline) learn(names []string) {
	if o == nil || len(names) > maxNames {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.varied {
		return
	}
	slices.Sort(names)
	i := slices.IndexFunc(o.seen, func(s sight) bool { return slices.Equal(s.names, names) })
	if i < 0 {
		if len(o.seen) == maxShapesHere {
			o.varied, o.seen = true, nil
			o.shapes.Store(nil)
			return
		}
		o.seen, i = append(o.seen, sight{names: names}), len(o.seen)
	}
	if o.seen[i].times++; o.seen[i].times >= worthAShape {
		o.remember(names)
	}
}

// remember makes a shape of names; o is locked. One that there is already did
// not fit because of a struct below, whose names are left to its own place then.
func (o *outline) remember(names []string) {
	var shapes []*shape
	if now := o.shapes.Load(); now != nil {
		shapes = slices.Clone(*now)
	}
	i := slices.IndexFunc(shapes, func(s *shape) bool { return s.has(names) })
	switch {
	case i >= 0 && shapes[i].deep:
		shapes[i] = o.newShape(names, 0)
	case i >= 0:
		// Another evaluation was quicker.
		return
	case o.all.shapes.Add(1) > maxShapes:
		return
	default:
		shapes = append(shapes, o.newShape(names, maxNames))
	}
	o.shapes.Store(&shapes)
}

func (s *shape) has(names []string) bool {
	return slices.EqualFunc(s.fields, names, func(f outlineField, name string) bool { return f.name == name })
}

// newShape needs o to be locked. It takes up to below names of structs below.
func (o *outline) newShape(names []string, below int) *shape {
	s := &shape{}
	lit := &ast.StructLit{}
	s.fields = o.fields(names, nil, lit, &below)
	s.deep = slices.ContainsFunc(s.fields, func(f outlineField) bool { return f.inner != nil })
	// Definitions are closed; the builtin close costs four times the memory.
	const definition = "#Shape"
	file := &ast.StructLit{Elts: []ast.Decl{&ast.Field{Label: ast.NewIdent(definition), Value: lit}}}
	s.closed = cuecontext.New().BuildExpr(file).LookupPath(cue.MakePath(cue.Def(definition)))
	return s
}

// fields are the fields called names, below the path at, which are added to lit.
// It needs o to be locked.
func (o *outline) fields(names []string, at []cue.Selector, lit *ast.StructLit, left *int) []outlineField {
	fields := make([]outlineField, 0, len(names))
	for _, name := range names {
		path := append(slices.Clip(at), cue.Str(name))
		f := outlineField{name: name, path: cue.MakePath(path...), below: o.below[name]}
		var value ast.Expr = ast.NewIdent("_")
		if inner := f.below.only(left); inner != nil {
			sub := &ast.StructLit{}
			f.below.mu.Lock()
			f.inner, value = f.below.fields(inner, path, sub, left), sub
			f.below.mu.Unlock()
		}
		fields = append(fields, f)
		lit.Elts = append(lit.Elts, &ast.Field{Label: label(name), Value: value})
	}
	return fields
}

// only are the names of all structs that were seen here, where they were always
// the same and are a shape. They are taken off what is left.
func (o *outline) only(left *int) []string {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.seen) != 1 || o.shapes.Load() == nil || len(o.seen[0].names) > *left {
		return nil
	}
	*left -= len(o.seen[0].names)
	return o.seen[0].names
}

// field is the place of a field.
func (o *outline) field(name string) *outline {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	at, known := o.below[name]
	if known {
		return at
	}
	if at = o.all.place(); at != nil {
		if o.below == nil {
			o.below = map[string]*outline{}
		}
		o.below[name] = at
	}
	return at
}

// item is the place of the items of a list.
func (o *outline) item() *outline {
	if o == nil {
		return nil
	}
	at := o.items.Load()
	if at == nil {
		if at = o.all.place(); at != nil && !o.items.CompareAndSwap(nil, at) {
			at = o.items.Load()
		}
	}
	return at
}

// place is a new place, nil where there are enough.
func (o *outlines) place() *outline {
	if o.places.Load() >= maxPlaces {
		return nil
	}
	o.places.Add(1)
	return &outline{all: o}
}
