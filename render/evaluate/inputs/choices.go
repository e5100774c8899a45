// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/token"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/evaluate/module"
	"github.com/ropewalk/ropewalk/render/object"
)

// isClosedChoice reports whether the alternatives of v are closed, except those that are written
// with "...".
func isClosedChoice(v cue.Value, alternatives []cue.Value) bool {
	return len(alternatives) > 1 && (!v.Allows(cue.AnyString) || slices.ContainsFunc(alternatives, hasEllipsis))
}

// isOpen reports whether a struct of the old (0) or the new (1) version takes names that it
// does not have.
func (c *comparison) isOpen(version int, v cue.Value) bool {
	if !v.Allows(cue.AnyString) {
		return false
	}
	reliable := !c.inChoice[version] && !isDefinition(v)
	return reliable || hasEllipsis(v)
}

// isDefinition reports whether v is a definition that waits for an input: CUE does not tell that
// such a definition is closed.
func isDefinition(v cue.Value) bool {
	refersToDefinition := func(p cue.Value) bool { return slices.ContainsFunc(referred(p), cue.Selector.IsDefinition) }
	return v.IncompleteKind() == cue.BottomKind && slices.ContainsFunc(parts(v), refersToDefinition)
}

// settled returns the alternatives of v. Of a conjunction of alternatives it returns the alternatives
// that fit all of them: (null | bool) & (*false | true) takes true and false.
func settled(v cue.Value) []cue.Value {
	conjuncts := parts(v)
	hasChoices := func(p cue.Value) bool { return len(choicesOf(p)) > 0 }
	if len(conjuncts) < 2 || isCollection(v) || refers(v) || !slices.ContainsFunc(conjuncts, hasChoices) {
		return alternatives(v)
	}
	settledChoices := []cue.Value{cuecontext.New().CompileString("_")}
	for _, part := range conjuncts {
		var unified []cue.Value
		for _, a := range settledChoices {
			for _, b := range alternatives(diagnose.WithoutDefault(part)) {
				if both := a.Unify(b); both.Err() == nil {
					unified = append(unified, both)
				}
			}
		}
		settledChoices = unified
		if len(settledChoices) == 0 || len(settledChoices) > maxChoices {
			return alternatives(v)
		}
	}
	return settledChoices
}

// compareEmbedded compares the alternatives that are embedded in structs. CUE lists only the fields
// of their default: {a: int, #A | *#B}. The changes from before on belong to these fields.
func (c *comparison) compareEmbedded(path object.Path, older, newer cue.Value, before int) {
	was, is := embeddedIn(older), embeddedIn(newer)
	switch {
	case len(was) == 1 && len(is) == 1:
		c.comparePair(path, was[0], is[0])
	case len(was)+len(is) > 0:
		for i, change := range c.changes[before:] {
			if change.Level == evaluate.LevelMajor {
				c.changes[before+i].Level = evaluate.LevelUndecided
				c.changes[before+i].Text += ", where the default of the embedded alternatives is taken"
			}
		}
		c.add(evaluate.LevelUndecided, path, older, newer, "alternatives are embedded in it (|), and only their default was compared")
	}
}

// embeddedIn returns the alternatives among the parts of a struct.
func embeddedIn(v cue.Value) []cue.Value {
	all := parts(v)
	if len(all) < 2 {
		return nil
	}
	return slices.DeleteFunc(all, func(p cue.Value) bool { return len(choicesOf(p)) == 0 })
}

// bothBools returns the alternatives with true and false instead of bool, because CUE does not take
// them for the same.
func bothBools(alternatives []cue.Value) (choices []cue.Value) {
	for _, v := range alternatives {
		if v.IncompleteKind() == cue.BoolKind && !v.IsConcrete() && !refers(v) {
			ctx := cuecontext.New()
			choices = append(choices, ctx.Encode(true), ctx.Encode(false))
		} else {
			choices = append(choices, v)
		}
	}
	return choices
}

// tellApart reports whether no input fits two of these alternatives: CUE refuses an input that
// does. Constants tell them apart only if users had to choose before.
func tellApart(alternatives []cue.Value, chosen bool) bool {
	for i, a := range alternatives {
		if conditions(a) != "" {
			return false
		}
		for _, b := range alternatives[:i] {
			if mayBe(a)&mayBe(b)&(cue.StructKind|cue.ListKind) != 0 && (!apart(a, b, chosen) || !apart(b, a, chosen)) {
				return false
			}
		}
	}
	return true
}

// apart reports whether a has a field that every input of it sets, and that b refuses.
func apart(a, b cue.Value, chosen bool) bool {
	// Of lists of scalars, all that fit an input are the same list.
	if mayBe(a)|mayBe(b) == cue.ListKind {
		return !slices.ContainsFunc(slices.Concat(itemsOf(a), itemsOf(b), []cue.Value{itemOf(a), itemOf(b)}), isCollection)
	}
	if mayBe(a) != cue.StructKind || mayBe(b) != cue.StructKind {
		return false
	}
	c := &comparison{dependedOn: map[string]bool{}}
	fieldsA, fieldsB := c.fields(nil, a, &module.Inputs{}), c.fields(nil, b, &module.Inputs{})
	return slices.ContainsFunc(object.SortedKeys(fieldsA), func(name string) bool {
		field := fieldsA[name]
		constant := field.as == 0 && field.value.IsConcrete() && !isCollection(field.value)
		if !field.needed() && (!chosen || !constant) {
			return false
		}
		otherField, known := fieldsB[name]
		if !known {
			return len(patternsOf(b)) == 0 && !hasEllipsis(b) && field.needed()
		}
		x, y := mayBe(field.value), mayBe(otherField.value)
		if x&y == 0 && x != cue.BottomKind && y != cue.BottomKind {
			return true
		}
		constants := field.value.IsConcrete() && otherField.value.IsConcrete() && !isCollection(field.value)
		return constants && !field.value.Equals(otherField.value)
	})
}

// isStruct reports whether v is a struct, and no disjunction.
func isStruct(v cue.Value) bool {
	return mayBe(v) == cue.StructKind && len(choicesOf(v)) == 0
}

// isTop reports whether v takes anything, and has no default.
func isTop(v cue.Value) bool {
	_, ok := v.Default()
	return !ok && v.IncompleteKind() == cue.TopKind
}

// markDepended makes a minor change undecided if what other inputs take depends on it. For example,
// another default of min refuses another b: int & >=min.
func (c *comparison) markDepended() {
	for i, change := range c.changes {
		names := strings.FieldsFunc(change.Path, func(r rune) bool { return strings.ContainsRune(".[]", r) })
		dependedOn := slices.ContainsFunc(names, func(name string) bool { return c.dependedOn[name] })
		if dependedOn && change.Level == evaluate.LevelMinor && change.Text != needNot {
			c.changes[i].Level = evaluate.LevelUndecided
			c.changes[i].Text += ": what other inputs take depends on it, and cannot be told"
		}
	}
}

// compareChoices compares disjunctions: each old alternative needs a new alternative that takes all
// of it.
func (c *comparison) compareChoices(path object.Path, older, newer cue.Value, olds, news []cue.Value) {
	inChoice := c.inChoice
	defer func() { c.inChoice = inChoice }()
	c.inChoice = [2]bool{inChoice[0] || isClosedChoice(older, olds), inChoice[1] || isClosedChoice(newer, news)}

	// Find the nearest new alternative for each old alternative.
	gone := 0
	unsure := 0
	before := len(c.changes)
	for _, o := range olds {
		best, reasons := c.best(path, o, news)
		switch best {
		case evaluate.LevelMajor:
			gone++
			text := "it no longer takes " + words(o)
			if len(reasons) == 1 && isCollection(o) {
				text += ": " + strings.TrimPrefix(reasons[0].Path+": ", pathText(path)+": ") + reasons[0].Text
			}
			c.add(evaluate.LevelMajor, path, o, newer, "%s", text)
		case evaluate.LevelUndecided:
			unsure++
			c.changes = append(c.changes, reasons...)
		default:
			if isCollection(o) {
				c.changes = append(c.changes, reasons...)
			}
		}
	}

	// A new alternative that no old one covers is an addition.
	for _, n := range news {
		if best, _ := c.reverse().best(path, n, olds); gone+unsure == 0 && best == evaluate.LevelMajor {
			c.add(evaluate.LevelMinor, path, older, n, "it takes %s, too", words(n))
		}
	}

	// CUE refuses an input that fits two alternatives.
	changed := len(c.changes) > before || len(news) > len(olds)
	if changed && gone+unsure == 0 && !tellApart(news, len(olds) > 1) {
		const text = "it takes several kinds of maps or lists, and whether each input still fits one of them alone cannot be told"
		c.add(evaluate.LevelUndecided, path, older, newer, text)
	}
}

// best returns the level of the least change from o to one of news, with its changes.
func (c *comparison) best(path object.Path, o cue.Value, news []cue.Value) (evaluate.Level, []evaluate.Change) {
	level := evaluate.LevelMajor
	var reasons []evaluate.Change
	for i, n := range news {
		try := *c
		try.changes = nil
		try.comparePair(path, o, n)
		l := worst(try.changes)
		lesser := rank(l) < rank(level) || (l == level && len(try.changes) < len(reasons))
		if i == 0 || lesser {
			level = l
			reasons = try.changes
		}
	}
	return level, reasons
}

// reverse returns a comparison from the new version to the old version.
func (c *comparison) reverse() *comparison {
	// A schema may have itself on the way back, too.
	var above [][2]string
	for _, key := range c.above {
		above = append(above, [2]string{key[1], key[0]})
	}
	return &comparison{
		old:        c.new,
		new:        c.old,
		deep:       c.deep,
		steps:      c.steps,
		above:      above,
		near:       [2]token.Pos{c.near[1], c.near[0]},
		around:     [2]cue.Value{c.around[1], c.around[0]},
		inChoice:   [2]bool{c.inChoice[1], c.inChoice[0]},
		dependedOn: c.dependedOn,
		top:        c.top,
	}
}

// worst returns the gravest level of changes, or "" without changes.
func worst(changes []evaluate.Change) (level evaluate.Level) {
	for _, c := range changes {
		if rank(c.Level) > rank(level) {
			level = c.Level
		}
	}
	return level
}
