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
	return v.Allows(cue.AnyString) && (!c.inChoice[version] && !isDefinition(v) || hasEllipsis(v))
}

// isDefinition reports whether v is a definition that waits for an input: of those CUE does not
// tell that they are closed.
func isDefinition(v cue.Value) bool {
	return v.IncompleteKind() == cue.BottomKind && slices.ContainsFunc(parts(v), func(p cue.Value) bool { return slices.ContainsFunc(referred(p), cue.Selector.IsDefinition) })
}

// settled returns the alternatives of v. Of a conjunction of alternatives it returns those that are
// left: (null | bool) & (*false | true) takes true and false.
func settled(v cue.Value) []cue.Value {
	all := parts(v)
	if len(all) < 2 || isCollection(v) || refers(v) || !slices.ContainsFunc(all, func(p cue.Value) bool { return len(choicesOf(p)) > 0 }) {
		return alternatives(v)
	}
	out := []cue.Value{cuecontext.New().CompileString("_")}
	for _, part := range all {
		var left []cue.Value
		for _, a := range out {
			for _, b := range alternatives(diagnose.WithoutDefault(part)) {
				if both := a.Unify(b); both.Err() == nil {
					left = append(left, both)
				}
			}
		}
		out = left
		if len(out) == 0 || len(out) > maxChoices {
			return alternatives(v)
		}
	}
	return out
}

// compareEmbedded compares the alternatives that are embedded in structs. CUE lists only the fields
// of their default: {a: int, #A | *#B}. The changes from before on are those of these fields.
func (c *comparison) compareEmbedded(at object.Path, older, newer cue.Value, before int) {
	was, is := embeddedIn(older), embeddedIn(newer)
	switch {
	case len(was) == 1 && len(is) == 1:
		c.comparePair(at, was[0], is[0])
	case len(was)+len(is) > 0:
		for i, one := range c.changes[before:] {
			if one.Level == evaluate.LevelMajor {
				c.changes[before+i].Level = evaluate.LevelUndecided
				c.changes[before+i].Text += ", where the default of the embedded alternatives is taken"
			}
		}
		c.add(evaluate.LevelUndecided, at, older, newer, "alternatives are embedded in it (|), and only their default was compared")
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
func bothBools(alternatives []cue.Value) (out []cue.Value) {
	for _, v := range alternatives {
		if v.IncompleteKind() == cue.BoolKind && !v.IsConcrete() && !refers(v) {
			ctx := cuecontext.New()
			out = append(out, ctx.Encode(true), ctx.Encode(false))
		} else {
			out = append(out, v)
		}
	}
	return out
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
	mine, its := c.fields(nil, a, &module.Inputs{}), c.fields(nil, b, &module.Inputs{})
	return slices.ContainsFunc(object.SortedKeys(mine), func(name string) bool {
		field := mine[name]
		constant := field.as == 0 && field.value.IsConcrete() && !isCollection(field.value)
		if !field.needed() && (!chosen || !constant) {
			return false
		}
		other, known := its[name]
		if !known {
			return len(patternsOf(b)) == 0 && !hasEllipsis(b) && field.needed()
		}
		x, y := mayBe(field.value), mayBe(other.value)
		return x&y == 0 && x != cue.BottomKind && y != cue.BottomKind ||
			field.value.IsConcrete() && other.value.IsConcrete() && !isCollection(field.value) && !field.value.Equals(other.value)
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
	for i, one := range c.changes {
		names := strings.FieldsFunc(one.Path, func(r rune) bool { return strings.ContainsRune(".[]", r) })
		if one.Level == evaluate.LevelMinor && one.Text != needNot && slices.ContainsFunc(names, func(name string) bool { return c.dependedOn[name] }) {
			c.changes[i].Level = evaluate.LevelUndecided
			c.changes[i].Text += ": what other inputs take depends on it, and cannot be told"
		}
	}
}

// compareChoices compares disjunctions: each alternative of the old one needs one in the new one
// that takes all of it.
func (c *comparison) compareChoices(at object.Path, older, newer cue.Value, olds, news []cue.Value) {
	within := c.inChoice
	defer func() { c.inChoice = within }()
	c.inChoice = [2]bool{within[0] || isClosedChoice(older, olds), within[1] || isClosedChoice(newer, news)}

	// Each old alternative needs a new one that takes all of it.
	gone := 0
	unsure := 0
	before := len(c.changes)
	for _, o := range olds {
		best, reasons := c.best(at, o, news)
		switch best {
		case evaluate.LevelMajor:
			gone++
			text := "it no longer takes " + words(o)
			if len(reasons) == 1 && isCollection(o) {
				text += ": " + strings.TrimPrefix(reasons[0].Path+": ", pathText(at)+": ") + reasons[0].Text
			}
			c.add(evaluate.LevelMajor, at, o, newer, "%s", text)
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
		if best, _ := c.reverse().best(at, n, olds); gone+unsure == 0 && best == evaluate.LevelMajor {
			c.add(evaluate.LevelMinor, at, older, n, "it takes %s, too", words(n))
		}
	}

	// CUE refuses an input that fits two alternatives.
	if (len(c.changes) > before || len(news) > len(olds)) && gone+unsure == 0 && !tellApart(news, len(olds) > 1) {
		c.add(evaluate.LevelUndecided, at, older, newer, "it takes several kinds of maps or lists, and whether each input still fits one of them alone cannot be told")
	}
}

// best returns the level of the least change from o to one of news, with its changes.
func (c *comparison) best(at object.Path, o cue.Value, news []cue.Value) (evaluate.Level, []evaluate.Change) {
	level := evaluate.LevelMajor
	var reasons []evaluate.Change
	for i, n := range news {
		try := &comparison{old: c.old, new: c.new, deep: c.deep, steps: c.steps, above: c.above, near: c.near, around: c.around, inChoice: c.inChoice, dependedOn: c.dependedOn, top: c.top}
		try.comparePair(at, o, n)
		if l := worst(try.changes); i == 0 || rank(l) < rank(level) || l == level && len(try.changes) < len(reasons) {
			level = l
			reasons = try.changes
		}
	}
	return level, reasons
}

// reverse returns a comparison from the new version to the old one.
func (c *comparison) reverse() *comparison {
	// A schema may have itself on the way back, too.
	var above [][2]string
	for _, key := range c.above {
		above = append(above, [2]string{key[1], key[0]})
	}
	return &comparison{old: c.new, new: c.old, deep: c.deep, steps: c.steps, above: above, near: [2]token.Pos{c.near[1], c.near[0]}, around: [2]cue.Value{c.around[1], c.around[0]}, inChoice: [2]bool{c.inChoice[1], c.inChoice[0]}, dependedOn: c.dependedOn, top: c.top}
}

// worst returns the gravest level of changes, or "" if there are none.
func worst(changes []evaluate.Change) (level evaluate.Level) {
	for _, c := range changes {
		if rank(c.Level) > rank(level) {
			level = c.Level
		}
	}
	return level
}
