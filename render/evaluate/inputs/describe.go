// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/evaluate/module"
	"github.com/ropewalk/ropewalk/render/object"
)

// Bounds of a description: how many inputs there are, how many names lead to one,
// and how long texts are.
const (
	maxInputs       = 200
	maxInputDepth   = 5
	maxInputDoc     = 2 << 10
	maxInputDefault = 4 << 10
)

// Bounds of what is said of the members of collections: how many collections lie in each other,
// and how many members there are in all.
const (
	maxNested  = 3
	maxMembers = 500
)

// Describe returns what the module of a session takes, sorted by path.
func Describe(s *module.Session) ([]evaluate.Input, error) {
	in, err := s.Inputs()
	if err != nil || !in.Value.Exists() {
		return nil, err
	}
	d := description{plain: in.Plain, own: in.Own, set: in.Set}
	return d.read(in.Value), nil
}

// description is one reading of what a module takes.
type description struct {
	// plain says that the root is a whole package: what it makes is no input.
	plain bool
	// own are values of the module itself that go over the defaults of its schema.
	own object.Value
	// set are paths that are set for the module, so that no user sets them.
	set map[string]bool
	// depth is how many names may lead to an input.
	depth  int
	inputs []evaluate.Input
	// nested is how many collections are read in each other for their members, and members is how
	// many of those may still be read; nil reads none.
	nested  int
	members *int
}

// read reads as deep as the number of inputs allows. So none is left out unless the root has too
// many by itself.
func (d *description) read(root cue.Value) []evaluate.Input {
	for d.depth = maxInputDepth; d.depth > 0; d.depth-- {
		d.inputs = nil
		if d.members != nil {
			*d.members = maxMembers
		}
		d.readFields(root, nil, true)
		if len(d.inputs) <= maxInputs {
			break
		}
	}
	slices.SortFunc(d.inputs, byPath)
	return d.inputs[:min(len(d.inputs), maxInputs)]
}

// readFields reads the fields of a struct. The argument needed says that the struct is always
// there.
func (d *description) readFields(v cue.Value, at object.Path, needed bool) {
	fields, err := v.Fields(cue.Optional(true))
	for err == nil && len(d.inputs) <= maxInputs && fields.Next() {
		sel := fields.Selector()
		if sel.LabelType() == cue.StringLabel {
			d.readField(fields.Value(), at.Append(object.Field(sel.Unquoted())), sel.ConstraintType(), needed)
		}
	}
}

// readField reads one field.
func (d *description) readField(v cue.Value, at object.Path, c cue.SelectorType, needed bool) {
	// Bytes cannot be given: an input is JSON.
	kind := mayBe(v) &^ (cue.NullKind | cue.BytesKind)
	optional := c == cue.OptionalConstraint

	// Some fields are no inputs, and a struct with fields is described by these.
	switch {
	case d.skips(v, at, kind):
		return
	case kind == cue.StructKind && hasFields(v) && len(choicesOf(v)) == 0:
		if len(at) < d.depth {
			d.readFields(v, at, needed && !optional)
			d.addOthers(v, at)
			return
		}
	case !optional && isConstant(v, kind):
		return
	}

	// Any other field is an input.
	in := evaluate.Input{Path: at, Expected: diagnose.Expected(v), Doc: printable.Cut(diagnose.DocOf(v), maxInputDoc, "…"), Optional: optional || !needed}
	if all := mayBe(v); all&cue.BytesKind != 0 && all&cue.TopKind != cue.TopKind {
		in.Expected = diagnose.KindName(kind)
	}
	in.Type, in.Collection, in.Cut = typeOf(v, kind)

	// The default is that of the module's own values, or of the schema.
	switch {
	case d.owns(at):
		own, _ := d.own.Lookup(at)
		in.Default = string(own.JSON())
		in.Optional = false
	case !optional:
		in.Default = diagnose.DefaultOf(v)
		required := c == cue.RequiredConstraint || !hasValue(v)
		in.Required, in.Within = needed && required, !needed && required
	}
	if len(in.Default) > maxInputDefault {
		in.Default = ""
	}

	// The members of a collection have inputs of their own.
	if in.Type == evaluate.InputAny && len(choicesOf(v)) == 0 {
		in.Members = d.membersOf(v, kind)
	}
	d.inputs = append(d.inputs, in)
}

// membersOf returns what the members of a collection of structs take.
func (d *description) membersOf(v cue.Value, kind cue.Kind) []evaluate.Input {
	if d.members == nil || *d.members <= 0 || d.nested >= maxNested {
		return nil
	}
	member := itemOf(v)
	name := "[]"
	if kind == cue.StructKind {
		name = "<name>"
		patterns := patternsOf(v)
		if len(patterns) != 1 {
			return nil // Which of several one is depends on its name.
		}
		for _, member = range patterns {
		}
	}
	if mayBe(member) != cue.StructKind || len(choicesOf(member)) > 0 {
		return nil
	}
	within := description{depth: maxInputDepth, nested: d.nested + 1, members: d.members}
	within.readFields(member, object.Fields(name), true)
	slices.SortFunc(within.inputs, byPath)
	out := within.inputs[:min(len(within.inputs), *d.members)]
	*d.members -= len(out)
	return out
}

// byPath sorts inputs by their paths, name by name.
func byPath(a, b evaluate.Input) int {
	return slices.CompareFunc(a.Path, b.Path, func(a, b object.Step) int { return strings.Compare(a.Name, b.Name) })
}

// skips reports whether no user gives the field.
func (d *description) skips(v cue.Value, at object.Path, kind cue.Kind) bool {
	return kind == cue.BottomKind || d.set[at.String()] || d.plain && (module.IsObject(v) || isDerived(v)) || isOfBytes(v, kind)
}

// addOthers adds the input by which a struct takes members beside its named ones, if a pattern says
// what they are. Any other open struct takes members without a name.
func (d *description) addOthers(v cue.Value, at object.Path) {
	kind := patternKind(v) &^ (cue.NullKind | cue.BytesKind)
	if kind == cue.BottomKind {
		return
	}
	in := evaluate.Input{Path: at, Expected: diagnose.Expected(v), Doc: printable.Cut(diagnose.DocOf(v), maxInputDoc, "…"), Optional: true}
	if t, ok := scalarType(kind); ok {
		in.Type = t
		in.Collection = evaluate.CollectionMap
	}
	d.inputs = append(d.inputs, in)
}

// owns reports whether the module itself sets a value.
func (d *description) owns(at object.Path) bool {
	_, found := d.own.Lookup(at)
	return found == len(at)
}

// mayBe returns what v may be. CUE does not tell it if a bound of v depends on another input: int &
// >=min.
func mayBe(v cue.Value) cue.Kind {
	kind := v.IncompleteKind()
	if kind != cue.BottomKind {
		return kind
	}
	if waits(v) {
		return cue.StructKind
	}
	op, args := v.Expr()
	if op != cue.AndOp {
		return kind
	}
	all := cue.TopKind
	for _, a := range args {
		if k := a.IncompleteKind(); k != cue.BottomKind {
			all &= k
		} else if a.Validate() != nil {
			return cue.BottomKind // it is forbidden, and waits for nothing
		}
	}
	if all == cue.TopKind {
		return kind
	}
	return all
}

// waits reports whether v is a struct with conditions that wait for an input: if digest != "" {…}.
// CUE v0.17.1 panics at some values that are no structs.
func waits(v cue.Value) (is bool) {
	defer func() { _ = recover() }()
	return v.Exists() && v.Validate() == nil && hasFields(v)
}

// hasValue reports whether a field that is not set has a value, which may depend
// on others.
func hasValue(v cue.Value) bool {
	_, ok := v.Default()
	return ok && v.IncompleteKind()&(cue.StructKind|cue.ListKind) == 0 || slices.ContainsFunc(choicesOf(v), isDerived) ||
		v.Validate(cue.Concrete(true), cue.Final()) == nil
}

// choicesOf returns the alternatives of a disjunction that CUE has not decided yet.
func choicesOf(v cue.Value) []cue.Value {
	if op, args := cue.Dereference(v).Expr(); op == cue.OrOp {
		return args
	}
	return nil
}

// isConstant reports whether v can have no other value: scalars that are
// concrete without a default, and lists of as many items as they have that are so.
func isConstant(v cue.Value, kind cue.Kind) bool {
	switch {
	case kind == cue.ListKind:
		return !itemOf(v).Exists() && len(choicesOf(v)) == 0 && !slices.ContainsFunc(itemsOf(diagnose.WithoutDefault(v)), isOpen)
	case kind&(cue.StructKind|cue.ListKind) == 0:
		return v.IsConcrete()
	}
	return false
}

// isOfBytes reports whether v is a list or a map of bytes, of which a user cannot write
// one.
func isOfBytes(v cue.Value, kind cue.Kind) bool {
	switch kind {
	case cue.ListKind:
		return itemOf(v).IncompleteKind() == cue.BytesKind
	case cue.StructKind:
		return !hasFields(v) && memberKind(v) == cue.BytesKind
	}
	return false
}

// itemsOf returns the items that a list has at least.
func itemsOf(v cue.Value) []cue.Value {
	var out []cue.Value
	items, err := v.List()
	for err == nil && items.Next() {
		out = append(out, items.Value())
	}
	// CUE refuses to go over a list that needs more items than it names: list.MinItems(2) & [int, ...int].
	for i := 0; err != nil && i < maxInputs; i++ {
		item := v.LookupPath(cue.MakePath(cue.Index(i)))
		if !item.Exists() {
			break
		}
		out = append(out, item)
	}
	return out
}

// isOpen reports whether an item of a list can be given by itself: no part of a
// struct can, and what is computed is given by what it is computed from.
func isOpen(v cue.Value) bool {
	kind := mayBe(v)
	return len(choicesOf(v)) > 0 || kind != cue.StructKind && !isDerived(v) && !isConstant(v, kind)
}

// isDerived reports whether v is computed from other fields of its package, so
// that those are what a user sets.
func isDerived(v cue.Value) bool {
	if to := referred(v); len(to) > 0 {
		return !slices.ContainsFunc(to, cue.Selector.IsDefinition)
	}
	// A sign is one of one operand: -1.
	switch op, args := v.Expr(); op {
	case cue.InterpolationOp, cue.AddOp, cue.SubtractOp, cue.MultiplyOp:
		return op == cue.InterpolationOp || len(args) > 1
	}
	return false
}

// referred returns what v refers to. CUE v0.17.1 panics at some references to the name of a member:
// [Name=string]: name: Name.
func referred(v cue.Value) (to []cue.Selector) {
	defer func() {
		if recover() != nil && len(memberNames(v)) > 0 {
			to = []cue.Selector{cue.AnyString}
		}
	}()
	_, path := v.ReferencePath()
	return path.Selectors()
}

func hasFields(v cue.Value) bool {
	fields, err := v.Fields(cue.Optional(true))
	for err == nil && fields.Next() {
		if fields.Selector().LabelType() == cue.StringLabel {
			return true
		}
	}
	return false
}

// typeOf returns how an input is written. A value that is neither a scalar nor a collection of
// scalars is written in one piece, and is cut if it has fields.
func typeOf(v cue.Value, kind cue.Kind) (t evaluate.InputType, c evaluate.Collection, cut bool) {
	if t, ok := scalarType(kind); ok {
		return t, evaluate.CollectionNone, false
	}
	switch kind {
	case cue.ListKind:
		if t, ok := scalarType(itemOf(v).IncompleteKind()); ok {
			return t, evaluate.CollectionList, false
		}
	case cue.StructKind:
		if hasFields(v) {
			return evaluate.InputAny, evaluate.CollectionNone, len(choicesOf(v)) == 0
		}
		if t, ok := scalarType(memberKind(v)); ok {
			return t, evaluate.CollectionMap, false
		}
	}
	return evaluate.InputAny, evaluate.CollectionNone, false
}

// memberKind returns what the members of a map may be that have no name of their own.
func memberKind(v cue.Value) cue.Kind {
	return v.LookupPath(cue.MakePath(cue.AnyString)).IncompleteKind() | patternKind(v)
}

// patternKind returns what the members of a map may be whose names a pattern allows.
func patternKind(v cue.Value) cue.Kind {
	kind := cue.BottomKind
	members, err := v.Fields(cue.Patterns(true))
	for err == nil && members.Next() {
		if members.Selector().ConstraintType() == cue.PatternConstraint {
			kind |= members.Value().IncompleteKind()
		}
	}
	return kind
}

// itemOf returns what the items of an open list must be. It does not exist if the list is closed.
// CUE looks into the default of a list, and not beside it.
func itemOf(v cue.Value) cue.Value {
	at := cue.MakePath(cue.AnyIndex)
	if item := v.LookupPath(at); item.Exists() {
		return item
	}
	_, args := cue.Dereference(v).Expr()
	for _, a := range args {
		if item := a.LookupPath(at); item.Exists() {
			return item
		}
	}
	return cue.Value{}
}

// scalarType returns the type of scalars. It reports false if values may be something else.
func scalarType(kind cue.Kind) (evaluate.InputType, bool) {
	kind &^= cue.NullKind | cue.BytesKind
	switch {
	case kind == cue.BottomKind, kind&(cue.StructKind|cue.ListKind) != 0:
		return evaluate.InputAny, false
	case kind == cue.StringKind:
		return evaluate.InputString, true
	case kind&^cue.NumberKind == 0:
		return evaluate.InputNumber, true
	case kind == cue.BoolKind:
		return evaluate.InputBoolean, true
	}
	return evaluate.InputAny, true
}
