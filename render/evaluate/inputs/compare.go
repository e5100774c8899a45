// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/token"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/module"
	"github.com/ropewalk/ropewalk/render/object"
)

// Bounds of a comparison: its depth, the pairs of values that it looks at, and the alternatives that
// a conjunction is taken apart into.
const (
	maxCompareDepth = 24
	maxCompareSteps = 50_000
	maxChoices      = 64
)

// needNot is the text for an input that each input of the old version has.
const needNot = "it need not be set any more"

// comparison is one comparison of two schemas.
type comparison struct {
	old, new module.Inputs
	changes  []evaluate.Change
	// above are the pairs of places that are being compared: a schema may have itself.
	above [][2]string
	// deep counts the comparisons around this comparison; embedded alternatives add to no path.
	deep  int
	steps *int
	// near are the places of the values that are being compared.
	near [2]token.Pos
	// inChoice says of each version that its value is part of an alternative: CUE does not
	// tell whether alternatives are closed.
	inChoice [2]bool
	// around are the structs that the values being compared are in.
	around [2]cue.Value
	// dependedOn are the names of inputs that conditions, bounds and defaults are written with.
	dependedOn map[string]bool
	// top is the value that anything is.
	top cue.Value
}

// place is a value with its constraint (?, !) in its struct, and the value with the module's own values.
type place struct {
	value, filled cue.Value
	as            cue.SelectorType
}

// pathOf returns the path of a field for a lookup. The path of a field in an item, or in a member
// without a fixed name, leads nowhere.
func pathOf(path object.Path, name cue.Selector) cue.Path {
	var steps []cue.Selector
	for _, step := range path {
		steps = append(steps, cue.Str(step.Name))
	}
	return cue.MakePath(append(steps, cue.Str(name.Unquoted()))...)
}

// add adds a change between the two values at a path.
func (c *comparison) add(level evaluate.Level, path object.Path, older, newer cue.Value, format string, args ...any) {
	change := evaluate.Change{Level: level, Path: pathText(path), Text: fmt.Sprintf(format, args...)}
	change.Old, change.New = position(c.old, older, c.near[0]), position(c.new, newer, c.near[1])
	c.changes = append(c.changes, change)
}

// position returns the place where v was written, or near if v has no place of its own.
func position(inputs module.Inputs, v cue.Value, near token.Pos) object.Pos {
	if !v.Exists() {
		return object.Pos{}
	}
	return inputs.Session.Module.Position(posOf(v, near))
}

// posOf returns the place of v in its file. It returns near if v has no place, as a predeclared type.
func posOf(v cue.Value, near token.Pos) token.Pos {
	if p := v.Pos(); p.HasAbsPos() {
		return p
	}
	if n := v.Source(); n != nil && n.Pos().HasAbsPos() {
		return n.Pos()
	}
	return near
}

// pathText writes a path as people read it: ports[].name.
func pathText(path object.Path) string {
	var b strings.Builder
	for i, step := range path {
		if i > 0 && !strings.HasPrefix(step.Name, "[") {
			b.WriteByte('.')
		}
		b.WriteString(step.Name)
	}
	return b.String()
}

// comparePair compares two values that may be given at one path.
func (c *comparison) comparePair(path object.Path, older, newer cue.Value) {
	*c.steps--
	c.deep++
	defer func() { c.deep-- }()
	if *c.steps < 0 || len(path) > maxCompareDepth || c.deep > 4*maxCompareDepth {
		c.add(evaluate.LevelUndecided, path, older, newer, "the schema is too large to be compared from here on")
		return
	}

	// A recursive schema is compared once.
	key := [2]string{identity(older), identity(newer)}
	if slices.Contains(c.above, key) && isCollection(older) && isCollection(newer) {
		return
	}

	// What is in the two values is compared with these around it.
	near := c.near
	c.above = append(c.above, key)
	c.near = [2]token.Pos{posOf(older, near[0]), posOf(newer, near[1])}
	defer func() { c.above, c.near = c.above[:len(c.above)-1], near }()

	// A disjunction is compared by its alternatives.
	olds, news := settled(older), settled(newer)
	if len(olds) > 1 || len(news) > 1 {
		olds, news = bothBools(olds), bothBools(news)
	}
	if len(olds) == 1 && len(news) == 1 {
		c.compareSingle(path, olds[0], news[0])
		return
	}
	c.compareChoices(path, older, newer, olds, news)
}

// identity returns a text that identifies a value in its schema. Positions are not enough: a
// conjunction has the position of one of its parts, and a disjunction the position of its first
// alternative.
func identity(v cue.Value) string {
	v = cue.Dereference(v)
	op, args := v.Expr()
	return fmt.Sprint(v.Path(), v.Pos(), v.IncompleteKind(), op, len(args))
}

// compareSingle compares values that are no disjunctions.
func (c *comparison) compareSingle(path object.Path, older, newer cue.Value) {
	a, b := mayBe(older), mayBe(newer)
	switch {
	case a == cue.StructKind && b == cue.StructKind:
		c.compareStructs(path, place{value: older}, place{value: newer})
	case a == cue.ListKind && b == cue.ListKind:
		c.compareLists(path, older, newer)
	default:
		c.compareScalars(path, older, newer)
	}
}

// takesNames reports whether the newer pattern takes all names that the older pattern took.
func (c *comparison) takesNames(older, newer cue.Value) bool {
	try := &comparison{old: c.old, new: c.new, deep: c.deep, steps: c.steps, dependedOn: map[string]bool{}, top: c.top}
	try.comparePair(nil, older, newer)
	return rank(worst(try.changes)) <= rank(evaluate.LevelMinor)
}

// compareStructs compares maps: their fields, the patterns of other names, and conditions.
func (c *comparison) compareStructs(path object.Path, older, newer place) {
	around := c.around
	before := len(c.changes)
	c.around = [2]cue.Value{older.value, newer.value}
	defer func() { c.around = around }()
	a, b := c.fields(path, older.value, &c.old), c.fields(path, newer.value, &c.new)
	for _, name := range object.SortedKeys(a) {
		c.compareField(path.Append(object.Field(name)), name, a[name], b, newer.value)
	}
	for _, name := range object.SortedKeys(b) {
		if _, known := a[name]; !known {
			c.reportAdded(path.Append(object.Field(name)), name, older.value, b[name])
		}
	}
	c.reportForbidden(path, a, older.value, newer.value)
	c.comparePatterns(path, older.value, newer.value)
	was, is := conditions(older.value), conditions(newer.value)
	for _, word := range strings.FieldsFunc(was+" "+is, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }) {
		c.dependedOn[word] = true
	}
	if was != is {
		const text = "conditions of the schema changed (if, for), and what they allow cannot be compared"
		c.add(evaluate.LevelUndecided, path, older.value, newer.value, text)
	}
	c.compareEmbedded(path, older.value, newer.value, before)
}

// fields returns the named fields that a user may set.
func (c *comparison) fields(path object.Path, v cue.Value, inputs *module.Inputs) map[string]place {
	places := map[string]place{}
	plain := len(path) == 0 && inputs.Plain
	fields, err := v.Fields(cue.Optional(true))
	for err == nil && fields.Next() {
		sel := fields.Selector()
		if sel.LabelType() != cue.StringLabel {
			continue
		}
		p := place{value: fields.Value(), as: sel.ConstraintType()}
		if inputs.Filled.Exists() {
			p.filled = inputs.Filled.LookupPath(pathOf(path, sel))
		}
		// What is forbidden, and what a plain package makes, is no input.
		made := plain && (module.IsObject(p.value) || isDerived(p.value))
		if made || p.isForbidden() || inputs.Set[path.Append(object.Field(sel.Unquoted())).String()] {
			continue
		}
		places[sel.Unquoted()] = p
	}
	return places
}

// isForbidden reports whether an optional field takes nothing.
func (p place) isForbidden() bool {
	return p.as == cue.OptionalConstraint && mayBe(p.value) == cue.BottomKind && p.value.Validate() != nil
}

// reportForbidden reports the names that the new struct forbids, and that the old struct took as
// some of its other members.
func (c *comparison) reportForbidden(path object.Path, olderFields map[string]place, older, newer cue.Value) {
	fields, err := newer.Fields(cue.Optional(true))
	for err == nil && fields.Next() {
		name := fields.Selector()
		if name.LabelType() != cue.StringLabel || !(place{value: fields.Value(), as: name.ConstraintType()}).isForbidden() {
			continue
		}
		if _, named := olderFields[name.Unquoted()]; named || len(patternsOf(older)) == 0 {
			continue
		}
		olderValue := older.LookupPath(cue.MakePath(cue.Str(name.Unquoted()).Optional()))
		if olderValue.Exists() && mayBe(olderValue) != cue.BottomKind {
			fieldPath := path.Append(object.Field(name.Unquoted()))
			c.add(evaluate.LevelMajor, fieldPath, olderValue, fields.Value(), "it takes nothing any more, and took %s", words(olderValue))
		}
	}
}

// needed reports whether a struct is incomplete without the field.
func (p place) needed() bool {
	switch {
	case p.filled.Exists():
		return place{value: p.filled}.needed()
	case p.as == cue.OptionalConstraint:
		return false
	case p.as == cue.RequiredConstraint:
		return true
	case isTop(p.value):
		return true
	case isStruct(p.value):
		fields, err := p.value.Fields(cue.Optional(true))
		for err == nil && fields.Next() {
			if (place{value: fields.Value(), as: fields.Selector().ConstraintType()}).needed() {
				return true
			}
		}
		return false
	}
	return !hasValue(p.value)
}

// compareField compares a field of the old struct with the same field of the new struct.
func (c *comparison) compareField(path object.Path, name string, older place, fields map[string]place, newer cue.Value) {
	n, known := fields[name]
	if !known {
		c.reportRemoved(path, name, older, newer)
		return
	}
	// Of a struct whose presence is the same, its fields say what must be set.
	nested := isStruct(older.value) && isStruct(n.value)
	c.comparePresence(path, older, n, nested)
	c.comparePair(path, older.value, n.value)
	if !nested {
		c.compareFallback(path, older, n)
	}
}

// reportRemoved reports a field of the old struct that the new struct does not declare.
func (c *comparison) reportRemoved(path object.Path, name string, older place, newer cue.Value) {
	newerValue := newer.LookupPath(cue.MakePath(cue.Str(name).Optional()))
	switch {
	case newerValue.Exists() && len(patternsOf(newer)) > 0:
		c.comparePair(path, older.value, newerValue)
		c.add(evaluate.LevelMinor, path, older.value, newerValue, "it has no name of its own any more, and is one of the other members")
	case c.isOpen(1, newer):
		c.add(evaluate.LevelMajor, path, older.value, newer, "the module does not know it any more, and drops it without a word")
	default:
		c.add(evaluate.LevelMajor, path, older.value, cue.Value{}, "it was removed")
	}
}

// comparePresence compares whether a field must be set, and whether it is there if it is not set.
// The fields of a nested struct say that themselves.
func (c *comparison) comparePresence(path object.Path, older, n place, nested bool) {
	wasOptional, isOptional := older.as == cue.OptionalConstraint, n.as == cue.OptionalConstraint
	switch was, is := older.needed(), n.needed(); {
	case is && !was && (!nested || n.as == cue.RequiredConstraint || wasOptional):
		c.add(evaluate.LevelMajor, path, older.value, n.value, "it must be set now")
	case was && !is && (!nested || older.as == cue.RequiredConstraint || isOptional):
		c.add(evaluate.LevelMinor, path, older.value, n.value, needNot)
	case !was && !is && isOptional && !wasOptional:
		c.add(evaluate.LevelMinor, path, older.value, n.value, "it was always there, and may be absent now")
	case !was && !is && wasOptional && !isOptional:
		c.add(evaluate.LevelMinor, path, older.value, n.value, "it might be absent, and is always there now")
	}
}

// compareFallback compares the defaults of a field.
func (c *comparison) compareFallback(path object.Path, older, n place) {
	was, is := fallback(c.old, path, older), fallback(c.new, path, n)
	// A default that depends on other inputs is not known here.
	if (was == "" || is == "") && (refers(older.value) || refers(n.value)) {
		return
	}
	if was != is && !older.needed() && !n.needed() {
		c.add(evaluate.LevelMinor, path, older.value, n.value, "its default was %s and is %s", cmp.Or(was, "none"), cmp.Or(is, "none"))
	}
}

// reportAdded reports a field that only the new struct has.
func (c *comparison) reportAdded(path object.Path, name string, older cue.Value, n place) {
	if olderValue := older.LookupPath(cue.MakePath(cue.Str(name).Optional())); olderValue.Exists() && len(patternsOf(older)) > 0 {
		c.comparePair(path, olderValue, n.value)
	}
	if n.needed() {
		c.add(evaluate.LevelMajor, path, cue.Value{}, n.value, "it is new and must be set")
		return
	}
	c.add(evaluate.LevelMinor, path, cue.Value{}, n.value, "it is new")
}

// comparePatterns compares what is required of members without a name of their own, and whether such
// members are allowed.
func (c *comparison) comparePatterns(path object.Path, older, newer cue.Value) {
	was, is := patternsOf(older), patternsOf(newer)
	wider := map[string]bool{}

	// Each old pattern needs a new pattern that takes all of its names.
	for _, text := range object.SortedKeys(was) {
		memberPath := path.Append(object.Field("[" + text + "]"))
		n, ok := is[text]
		if !ok {
			n, ok = is["string"]
		}
		for _, newText := range object.SortedKeys(is) {
			if !ok && c.takesNames(namesOf(older, text), namesOf(newer, newText)) {
				n = is[newText]
				ok = true
				wider[newText] = true
			}
		}
		switch {
		case ok:
			c.comparePair(memberPath, was[text], n)
		case !c.isOpen(1, newer) && len(is) == 0:
			c.add(evaluate.LevelMajor, memberPath, was[text], newer, "members with such names are not taken any more")
		default:
			c.add(evaluate.LevelUndecided, memberPath, was[text], newer, "the pattern of names changed, and whether it takes all of them cannot be told")
		}
	}

	// A new pattern may restrict names that were free before.
	for _, text := range object.SortedKeys(is) {
		memberPath := path.Append(object.Field("[" + text + "]"))
		switch _, known := was[text]; {
		case known:
		case len(was) > 0 && text != "string" && (!wider[text] || len(was) > 1):
			c.add(evaluate.LevelUndecided, memberPath, older, is[text], "it asks more of members with such names")
		default:
			c.add(evaluate.LevelMinor, memberPath, older, is[text], "members with such names are taken")
		}
	}

	// Without a pattern, an open struct takes any name.
	_, tookAll := was["string"]
	_, takesAll := is["string"]
	wasOpen := c.isOpen(0, older) && (len(was) == 0 || hasEllipsis(older))
	isOpen := c.isOpen(1, newer) && (len(is) == 0 || hasEllipsis(newer))
	switch {
	case tookAll || takesAll:
	case wasOpen && !isOpen:
		c.add(evaluate.LevelMajor, path, older, newer, "names that are not known are refused now")
	case !wasOpen && isOpen:
		c.add(evaluate.LevelMinor, path, older, newer, "names that are not known are taken now")
	}
}
