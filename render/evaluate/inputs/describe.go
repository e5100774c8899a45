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

// Bounds of a description: the number of inputs, the names that lead to an input,
// and the length of texts in bytes.
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
	takes, err := s.Inputs()
	if err != nil || !takes.Value.Exists() {
		return nil, err
	}
	d := description{plain: takes.Plain, own: takes.Own, set: takes.Set}
	return d.read(takes.Value), nil
}

// description is one reading of what a module takes.
type description struct {
	// plain says that the root is a whole package: what it makes is no input.
	plain bool
	// own are values of the module itself that go over the defaults of its schema.
	own object.Value
	// set are paths that are set for the module, so that no user sets them.
	set map[string]bool
	// depth limits the names that lead to an input.
	depth  int
	inputs []evaluate.Input
	// nested counts the collections that are read in each other for their members, and members the
	// members that may still be read; nil reads no members.
	nested  int
	members *int
}

// read reads as deep as the number of inputs allows. So no input is left out unless the root has too
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
func (d *description) readFields(v cue.Value, path object.Path, needed bool) {
	fields, err := v.Fields(cue.Optional(true))
	for err == nil && len(d.inputs) <= maxInputs && fields.Next() {
		sel := fields.Selector()
		if sel.LabelType() == cue.StringLabel {
			d.readField(fields.Value(), path.Append(object.Field(sel.Unquoted())), sel.ConstraintType(), needed)
		}
	}
}

// readField reads one field.
func (d *description) readField(v cue.Value, path object.Path, c cue.SelectorType, needed bool) {
	// Bytes cannot be given: an input is JSON.
	kind := mayBe(v) &^ (cue.NullKind | cue.BytesKind)
	optional := c == cue.OptionalConstraint

	// Some fields are no inputs, and a struct with fields is described by these.
	switch {
	case d.skips(v, path, kind):
		return
	case kind == cue.StructKind && hasFields(v) && len(choicesOf(v)) == 0:
		if len(path) < d.depth {
			d.readFields(v, path, needed && !optional)
			d.addOthers(v, path)
			return
		}
	case !optional && isConstant(v, kind):
		return
	}

	// Any other field is an input.
	doc := printable.Cut(diagnose.DocOf(v), maxInputDoc, "…")
	input := evaluate.Input{Path: path, Expected: diagnose.Expected(v), Doc: doc, Optional: optional || !needed}
	if all := mayBe(v); all&cue.BytesKind != 0 && all&cue.TopKind != cue.TopKind {
		input.Expected = diagnose.KindName(kind)
	}
	input.Type, input.Collection, input.Cut = typeOf(v, kind)

	// The default comes from the module's own values, or from the schema.
	switch {
	case d.owns(path):
		ownValue, _ := d.own.Lookup(path)
		input.Default = string(ownValue.JSON())
		input.Optional = false
	case !optional:
		input.Default = diagnose.DefaultOf(v)
		required := c == cue.RequiredConstraint || !hasValue(v)
		input.Required, input.Within = needed && required, !needed && required
	}
	if len(input.Default) > maxInputDefault {
		input.Default = ""
	}

	// The members of a collection have inputs of their own.
	if input.Type == evaluate.InputAny && len(choicesOf(v)) == 0 {
		input.Members = d.membersOf(v, kind)
	}
	d.inputs = append(d.inputs, input)
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
			return nil // A member has the pattern of its name.
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
func (d *description) skips(v cue.Value, path object.Path, kind cue.Kind) bool {
	made := d.plain && (module.IsObject(v) || isDerived(v))
	return made || kind == cue.BottomKind || d.set[path.String()] || isOfBytes(v, kind)
}

// addOthers adds the input by which a struct takes members beside its named ones, if a pattern says
// what they are. Any other open struct takes members without a name.
func (d *description) addOthers(v cue.Value, path object.Path) {
	kind := patternKind(v) &^ (cue.NullKind | cue.BytesKind)
	if kind == cue.BottomKind {
		return
	}
	input := evaluate.Input{Path: path, Expected: diagnose.Expected(v), Doc: printable.Cut(diagnose.DocOf(v), maxInputDoc, "…"), Optional: true}
	if t, ok := scalarType(kind); ok {
		input.Type = t
		input.Collection = evaluate.CollectionMap
	}
	d.inputs = append(d.inputs, input)
}

// owns reports whether the module itself sets a value.
func (d *description) owns(path object.Path) bool {
	_, found := d.own.Lookup(path)
	return found == len(path)
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
	kinds := cue.TopKind
	for _, a := range args {
		if k := a.IncompleteKind(); k != cue.BottomKind {
			kinds &= k
		} else if a.Validate() != nil {
			return cue.BottomKind // it is forbidden, and waits for nothing
		}
	}
	if kinds == cue.TopKind {
		return kind
	}
	return kinds
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
	isScalar := v.IncompleteKind()&(cue.StructKind|cue.ListKind) == 0
	if ok && isScalar {
		return true
	}
	return slices.ContainsFunc(choicesOf(v), isDerived) || v.Validate(cue.Concrete(true), cue.Final()) == nil
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

// isOfBytes reports whether v is a list or a map of bytes, which a user cannot
// write.
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
	var list []cue.Value
	items, err := v.List()
	for err == nil && items.Next() {
		list = append(list, items.Value())
	}
	// CUE refuses to go over a list that needs more items than it names: list.MinItems(2) & [int, ...int].
	for i := 0; err != nil && i < maxInputs; i++ {
		item := v.LookupPath(cue.MakePath(cue.Index(i)))
		if !item.Exists() {
			break
		}
		list = append(list, item)
	}
	return list
}

// isOpen reports whether an item of a list can be given by itself: no part of a
// struct can, and what is computed is given by what it is computed from.
func isOpen(v cue.Value) bool {
	kind := mayBe(v)
	settable := kind != cue.StructKind && !isDerived(v) && !isConstant(v, kind)
	return settable || len(choicesOf(v)) > 0
}

// isDerived reports whether v is computed from other fields of its package, so
// that a user sets these fields.
func isDerived(v cue.Value) bool {
	if selectors := referred(v); len(selectors) > 0 {
		return !slices.ContainsFunc(selectors, cue.Selector.IsDefinition)
	}
	// A sign has one operand: -1.
	switch op, args := v.Expr(); op {
	case cue.InterpolationOp, cue.AddOp, cue.SubtractOp, cue.MultiplyOp:
		return op == cue.InterpolationOp || len(args) > 1
	}
	return false
}

// referred returns what v refers to. CUE v0.17.1 panics at some references to the name of a member:
// [Name=string]: name: Name.
func referred(v cue.Value) (selectors []cue.Selector) {
	defer func() {
		if recover() != nil && len(memberNames(v)) > 0 {
			selectors = []cue.Selector{cue.AnyString}
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
	anyIndex := cue.MakePath(cue.AnyIndex)
	if item := v.LookupPath(anyIndex); item.Exists() {
		return item
	}
	_, args := cue.Dereference(v).Expr()
	for _, a := range args {
		if item := a.LookupPath(anyIndex); item.Exists() {
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
