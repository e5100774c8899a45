// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"cmp"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/evaluate/module"
	"github.com/ropewalk/ropewalk/render/object"
)

// compareLists compares lists by their items, and by their lengths.
func (c *comparison) compareLists(path object.Path, older, newer cue.Value) {
	a, b := itemsOf(diagnose.WithoutDefault(older)), itemsOf(diagnose.WithoutDefault(newer))
	olderItem, newerItem := itemOf(older), itemOf(newer)
	itemPath := path.Append(object.Field("[]"))
	switch {
	case len(a) < len(b):
		c.add(evaluate.LevelMajor, path, older, newer, "it needs %d items, and needed %d", len(b), len(a))
		return
	case (len(a) > len(b) || olderItem.Exists()) && !newerItem.Exists():
		c.add(evaluate.LevelMajor, path, older, newer, "it takes %d items at most", len(b))
		return
	}
	for i, item := range a {
		if i < len(b) {
			c.comparePair(itemPath, item, b[i])
		} else {
			c.comparePair(itemPath, item, newerItem)
		}
	}
	if olderItem.Exists() {
		c.comparePair(itemPath, olderItem, newerItem)
	} else if newerItem.Exists() {
		c.add(evaluate.LevelMinor, path, older, newer, "it takes more items")
	}
	c.compareConditions(path, older, newer)
}

// compareConditions compares the conditions on a list or a text that are calls, such as
// list.MinItems(1).
func (c *comparison) compareConditions(path object.Path, older, newer cue.Value) {
	was, is := callsOf(older), callsOf(newer)
	for _, n := range is {
		if !slices.ContainsFunc(was, n.takesAllOf) {
			level := evaluate.LevelMajor
			note := ""
			if slices.ContainsFunc(was, func(o call) bool { return o.name == n.name && !o.ordered() }) {
				level = evaluate.LevelUndecided
				note = ": whether it takes all that it took cannot be told"
			}
			c.add(level, path, older, newer, "it must meet %s now%s", n.text, note)
		}
	}
	for _, o := range was {
		if !slices.ContainsFunc(is, o.takesAllOf) && !slices.ContainsFunc(is, func(n call) bool { return n.text == o.text }) {
			c.add(evaluate.LevelMinor, path, older, newer, "it need not meet %s any more", o.text)
		}
	}
}

// call is a condition such as strings.MaxRunes(5).
type call struct {
	name, text string
	argument   cue.Value
}

// ordered reports whether a higher or a lower argument is known to allow more.
func (c call) ordered() bool {
	return c.argument.Exists() && (strings.HasPrefix(c.name, "Min") || strings.HasPrefix(c.name, "Max"))
}

// takesAllOf reports whether every value that meets o meets c.
func (c call) takesAllOf(o call) bool {
	if c.text == o.text {
		return true
	}
	if c.name != o.name || !c.ordered() || !o.ordered() {
		return false
	}
	a, errA := c.argument.Int64()
	b, errB := o.argument.Int64()
	if errA != nil || errB != nil {
		return false
	}
	if strings.HasPrefix(c.name, "Min") {
		return a <= b
	}
	return a >= b
}

// callsOf returns the conditions of a value that are calls.
func callsOf(v cue.Value) (calls []call) {
	op, args := cue.Dereference(v).Expr()
	switch op {
	case cue.AndOp:
		for _, a := range args {
			calls = append(calls, callsOf(a)...)
		}
	case cue.CallOp:
		text := source(v)
		name, _, _ := strings.Cut(text, "(")
		condition := call{name: name[strings.LastIndex(name, ".")+1:], text: text}
		if len(args) == 2 {
			condition.argument = args[1]
		}
		calls = append(calls, condition)
	}
	return calls
}

// compareScalars compares two values that are not both maps or both lists.
func (c *comparison) compareScalars(path object.Path, older, newer cue.Value) {
	o, n := diagnose.WithoutDefault(older), diagnose.WithoutDefault(newer)

	// What a value is written with, it depends on.
	for _, v := range []cue.Value{o, n} {
		if isCollection(v) {
			continue // Its fields are compared by themselves.
		}
		for _, name := range names(v) {
			c.dependedOn[name] = true
		}
	}
	add := func(level evaluate.Level, format string, args ...any) {
		c.add(level, path, older, newer, format, args...)
	}

	// Kinds decide first, and then subsumption. What cannot be proven is undecided.
	a, b := mayBe(o)&^cue.BytesKind, mayBe(n)&^cue.BytesKind
	sameSource := source(o) == source(n)
	was := words(o)
	is := words(n)
	const change, untold = "it takes %s, and took %s", ": whether that is all that it took cannot be told"
	switch {
	case b == cue.BottomKind && a != b && n.Validate() != nil:
		add(evaluate.LevelMajor, "it takes nothing any more, and took %s", was)
	case sameSource && a == b && c.meansSame(o, n):
	case a&b == 0 && a != cue.BottomKind && b != cue.BottomKind:
		add(evaluate.LevelMajor, change, is, was)
	case !refers(n) && slices.ContainsFunc(parts(o), func(p cue.Value) bool { return !refers(p) && c.takes(n, p) }):
		if refers(o) || !c.takes(o, n) {
			add(evaluate.LevelMinor, change, is, was)
		}
	case refers(o), refers(n):
		add(evaluate.LevelUndecided, "it takes %s, and took %s"+untold, oneLine(n), oneLine(o))
	case c.takes(n, o):
		if !c.takes(o, n) {
			add(evaluate.LevelMinor, change, is, was)
		}
	case hasPattern(o) && hasPattern(n), hasFunction(o), hasFunction(n):
		add(evaluate.LevelUndecided, change+untold, is, was)
	case a&^(b|cue.NullKind) != 0:
		add(evaluate.LevelMajor, change, is, was)
	case len(callsOf(o))+len(callsOf(n)) > 0:
		c.compareCalls(path, o, n)
	default:
		add(evaluate.LevelMajor, change, is, was)
	}
}

// takes reports whether CUE can prove that a takes all that b takes, whatever the defaults
// of both are, and whether their fields may be absent.
func (c *comparison) takes(a, b cue.Value) bool {
	return c.top.Unify(a).Subsume(c.top.Unify(b), cue.Raw()) == nil
}

// compareCalls compares scalars with conditions that are calls: the calls by their arguments, and the
// rest by subsumption.
func (c *comparison) compareCalls(path object.Path, older, newer cue.Value) {
	for _, n := range parts(newer) {
		if op, _ := n.Expr(); op == cue.CallOp {
			continue
		}
		if !slices.ContainsFunc(append(parts(older), older), func(o cue.Value) bool { return c.takes(n, o) }) {
			c.add(evaluate.LevelMajor, path, older, newer, "it takes %s, and took %s", words(newer), words(older))
			return
		}
	}
	c.compareConditions(path, older, newer)
}

// parts returns what a conjunction is made of, or the value itself.
func parts(v cue.Value) []cue.Value {
	op, args := cue.Dereference(v).Expr()
	if op != cue.AndOp {
		return []cue.Value{v}
	}
	var out []cue.Value
	for _, a := range args {
		out = append(out, parts(a)...)
	}
	return out
}

// alternatives returns the alternatives of a disjunction, or the value itself.
func alternatives(v cue.Value) []cue.Value {
	choices := choicesOf(v)
	if len(choices) == 0 {
		return []cue.Value{v}
	}
	var out []cue.Value
	for _, a := range choices {
		out = append(out, alternatives(a)...)
	}
	return out
}

func isCollection(v cue.Value) bool {
	return mayBe(v)&(cue.StructKind|cue.ListKind) != 0
}

// refers reports whether what v allows depends on another input.
func refers(v cue.Value) bool {
	if isDerived(v) || v.IncompleteKind() == cue.BottomKind || len(memberNames(v)) > 0 {
		return true
	}
	return slices.ContainsFunc(names(v), func(name string) bool { return !strings.HasPrefix(name, "#") })
}

// meansSame reports whether two values that are written alike are the same. Names that are no
// inputs may mean something else in another version: definitions of the struct around are looked up.
func (c *comparison) meansSame(older, newer cue.Value) bool {
	if !slices.Equal(memberNames(older), memberNames(newer)) {
		return false
	}
	for _, name := range names(older) {
		if !isHidden(name) {
			continue
		}
		at := cue.MakePath(cue.Def(name))
		if strings.HasPrefix(name, "_") {
			return false
		}
		o, n := c.around[0].LookupPath(at), c.around[1].LookupPath(at)
		if !o.Exists() || !n.Exists() || isCollection(o) || source(o) != source(n) {
			return false
		}
		if slices.ContainsFunc(names(o), isHidden) || len(memberNames(o))+len(memberNames(n)) > 0 {
			return false
		}
		for _, one := range names(o) {
			c.dependedOn[one] = true
		}
	}
	return true
}

func isHidden(name string) bool { return strings.HasPrefix(name, "_") || strings.HasPrefix(name, "#") }

// hasFunction reports whether v is a validator of CUE's library that is used as it is, such
// as net.IPv4.
func hasFunction(v cue.Value) (found bool) {
	ast.Walk(v.Syntax(cue.Raw()), func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			found = found || len(n.Args) == 0
			return false
		case *ast.StructLit:
			return false
		case *ast.SelectorExpr:
			found = true
		}
		return true
	}, nil)
	return found
}

func hasPattern(v cue.Value) bool {
	op, args := cue.Dereference(v).Expr()
	switch op {
	case cue.RegexMatchOp, cue.NotRegexMatchOp:
		return true
	case cue.AndOp, cue.OrOp:
		return slices.ContainsFunc(args, hasPattern)
	default:
		return false
	}
}

// patternsOf returns what is required of members by their names, by the text of the pattern.
func patternsOf(v cue.Value) map[string]cue.Value {
	patterns := map[string]cue.Value{}
	members, err := v.Fields(cue.Patterns(true))
	for err == nil && members.Next() {
		if members.Selector().ConstraintType() == cue.PatternConstraint {
			patterns[oneLine(members.Selector().Pattern())] = members.Value()
		}
	}
	return patterns
}

// namesOf returns the names that a pattern takes. The pattern is found by its text.
func namesOf(v cue.Value, text string) cue.Value {
	members, err := v.Fields(cue.Patterns(true))
	for err == nil && members.Next() {
		if s := members.Selector(); s.ConstraintType() == cue.PatternConstraint && oneLine(s.Pattern()) == text {
			return s.Pattern()
		}
	}
	return cue.Value{}
}

// words returns in words what a value is.
func words(v cue.Value) string {
	return cmp.Or(diagnose.Expected(v), "anything")
}

// fallback returns the value of an input that is not set.
func fallback(inputs module.Inputs, path object.Path, p place) string {
	if own, found := inputs.Own.Lookup(path); found == len(path) && own.Kind != object.KindNone {
		return string(own.JSON())
	}
	if p.as == cue.OptionalConstraint {
		return ""
	}
	return diagnose.DefaultOf(p.value)
}
