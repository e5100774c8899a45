// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/evaluate/module"
	"github.com/ropewalk/ropewalk/render/object"
)

// lists compares lists by their items, and by their lengths.
func (c *comparison) lists(at object.Path, older, newer cue.Value) {
	a, b := itemsOf(diagnose.WithoutDefault(older)), itemsOf(diagnose.WithoutDefault(newer))
	rest, more := itemOf(older), itemOf(newer)
	in := at.Append(object.Field("[]"))
	switch {
	case len(a) < len(b):
		c.add(evaluate.LevelMajor, at, older, newer, "it needs %d items, and needed %d", len(b), len(a))
		return
	case (len(a) > len(b) || rest.Exists()) && !more.Exists():
		c.add(evaluate.LevelMajor, at, older, newer, "it takes %d items at most", len(b))
		return
	}
	for i, item := range a {
		if i < len(b) {
			c.pair(in, item, b[i])
		} else {
			c.pair(in, item, more)
		}
	}
	if rest.Exists() {
		c.pair(in, rest, more)
	} else if more.Exists() {
		c.add(evaluate.LevelMinor, at, older, newer, "it takes more items")
	}
	c.conditionsOf(at, older, newer)
}

// conditionsOf compares the conditions on a list or a text that are calls: list.MinItems(1).
func (c *comparison) conditionsOf(at object.Path, older, newer cue.Value) {
	was, is := callsOf(older), callsOf(newer)
	for _, n := range is {
		if !slices.ContainsFunc(was, func(o call) bool { return n.takesAllOf(o) }) {
			level, note := evaluate.LevelMajor, ""
			if slices.ContainsFunc(was, func(o call) bool { return o.name == n.name && !o.ordered() }) {
				level, note = evaluate.LevelUndecided, ": whether it takes all that it took cannot be told"
			}
			c.add(level, at, older, newer, "it must meet %s now%s", n.text, note)
		}
	}
	for _, o := range was {
		if !slices.ContainsFunc(is, func(n call) bool { return o.takesAllOf(n) }) && !slices.ContainsFunc(is, func(n call) bool { return n.text == o.text }) {
			c.add(evaluate.LevelMinor, at, older, newer, "it need not meet %s any more", o.text)
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
	return errA == nil && errB == nil && (strings.HasPrefix(c.name, "Min") && a <= b || strings.HasPrefix(c.name, "Max") && a >= b)
}

// callsOf are the conditions of a value that are calls.
func callsOf(v cue.Value) (out []call) {
	op, args := cue.Dereference(v).Expr()
	switch op {
	case cue.AndOp:
		for _, a := range args {
			out = append(out, callsOf(a)...)
		}
	case cue.CallOp:
		text := source(v)
		name, _, _ := strings.Cut(text, "(")
		one := call{name: name[strings.LastIndex(name, ".")+1:], text: text}
		if len(args) == 2 {
			one.argument = args[1]
		}
		out = append(out, one)
	}
	return out
}

// scalars compares values of which one is no collection.
func (c *comparison) scalars(at object.Path, older, newer cue.Value) {
	o, n := diagnose.WithoutDefault(older), diagnose.WithoutDefault(newer)
	for _, v := range []cue.Value{o, n} {
		if isCollection(v) {
			continue // its names are those of its fields
		}
		for _, name := range names(v) {
			c.dependedOn[name] = true
		}
	}
	add := func(level evaluate.Level, format string, args ...any) {
		c.add(level, at, older, newer, format, args...)
	}
	a, b := mayBe(o)&^cue.BytesKind, mayBe(n)&^cue.BytesKind
	same, was, is := source(o) == source(n), words(o), words(n)
	const change, untold = "it takes %s, and took %s", ": whether that is all that it took cannot be told"
	switch {
	case b == cue.BottomKind && a != b && n.Validate() != nil:
		add(evaluate.LevelMajor, "it takes nothing any more, and took %s", was)
	case same && a == b && c.meansSame(o, n):
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
		c.calls(at, o, n)
	default:
		add(evaluate.LevelMajor, change, is, was)
	}
}

// takes reports whether CUE can prove that a takes all that b takes, whatever the defaults
// of both are, and whether their fields may be absent.
func (c *comparison) takes(a, b cue.Value) bool {
	return c.top.Unify(a).Subsume(c.top.Unify(b), cue.Raw()) == nil
}

// calls compares scalars with conditions that are calls: those by their arguments, and the
// rest by subsumption.
func (c *comparison) calls(at object.Path, older, newer cue.Value) {
	for _, n := range parts(newer) {
		if op, _ := n.Expr(); op == cue.CallOp {
			continue
		}
		if !slices.ContainsFunc(append(parts(older), older), func(o cue.Value) bool { return c.takes(n, o) }) {
			c.add(evaluate.LevelMajor, at, older, newer, "it takes %s, and took %s", words(newer), words(older))
			return
		}
	}
	c.conditionsOf(at, older, newer)
}

// parts are what a conjunction is made of.
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

// alternatives are those of a disjunction, or the value itself.
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
// inputs may mean something else in another version: those of the struct around are looked up.
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
		if !o.Exists() || !n.Exists() || isCollection(o) || source(o) != source(n) || slices.ContainsFunc(names(o), isHidden) || len(memberNames(o))+len(memberNames(n)) > 0 {
			return false
		}
		for _, one := range names(o) {
			c.dependedOn[one] = true
		}
	}
	return true
}

func isHidden(name string) bool { return strings.HasPrefix(name, "_") || strings.HasPrefix(name, "#") }

// memberNames are the references of a scalar to the names of the members that it is in, as
// [Name=string]: name: Name has; each by how many fields are between both.
func memberNames(v cue.Value) (out []string) {
	var read func(n ast.Node) bool
	read = func(n ast.Node) bool {
		x, ok := n.(*ast.Ident)
		if !ok {
			_, isStruct := n.(*ast.StructLit)
			return !isStruct
		}
		if scope, ok := x.Scope.(*ast.Field); ok {
			out = append(out, strconv.Itoa(fieldsAround(scope.Value, x)))
		} else if let, ok := x.Node.(*ast.LetClause); ok {
			before := len(out)
			if ast.Walk(let.Expr, read, nil); len(out) > before {
				out = append(out, fmt.Sprintf("%p", x)) // like no other
			}
		}
		return true
	}
	for _, part := range parts(v) {
		n := part.Source()
		if field, ok := n.(*ast.Field); ok {
			n = field.Value
		}
		if n != nil && !isCollection(part) {
			ast.Walk(n, read, nil)
		}
	}
	return out
}

// fieldsAround is in how many fields of n x is.
func fieldsAround(n ast.Node, x ast.Node) (count int) {
	ast.Walk(n, func(n ast.Node) bool {
		if field, ok := n.(*ast.Field); ok && field.Pos().Offset() <= x.Pos().Offset() && x.End().Offset() <= field.End().Offset() {
			count++
		}
		return true
	}, nil)
	return count
}

// names are those that v is written with, without those of types and packages.
func names(v cue.Value) (out []string) {
	ast.Walk(v.Syntax(cue.Raw()), func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if ok && n.X != nil && x.Node == nil {
				out = append(out, x.Name)
			}
			return false
		case *ast.ImportDecl, *ast.ImportSpec:
			return false
		case *ast.Ident:
			if !slices.Contains(predeclared(), n.Name) {
				out = append(out, n.Name)
			}
		}
		return true
	}, nil)
	return out
}

// predeclared are the names that CUE knows everywhere.
func predeclared() []string {
	return []string{
		"_", "string", "bytes", "bool", "number", "int", "float", "null", "true", "false", "uint", "rune", "len", "close", "and", "or", "div", "mod", "quo", "rem", "error", "matchN", "matchIf",
		"int8", "int16", "int32", "int64", "int128", "uint8", "uint16", "uint32", "uint64", "uint128", "float32", "float64",
	}
}

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
	return op == cue.RegexMatchOp || op == cue.NotRegexMatchOp || (op == cue.AndOp || op == cue.OrOp) && slices.ContainsFunc(args, hasPattern)
}

// patternsOf are what is said of members by their names, by the text of the pattern.
func patternsOf(v cue.Value) map[string]cue.Value {
	out := map[string]cue.Value{}
	members, err := v.Fields(cue.Patterns(true))
	for err == nil && members.Next() {
		if members.Selector().ConstraintType() == cue.PatternConstraint {
			out[oneLine(members.Selector().Pattern())] = members.Value()
		}
	}
	return out
}

// namesOf are the names that a pattern takes, by its text.
func namesOf(v cue.Value, text string) cue.Value {
	members, err := v.Fields(cue.Patterns(true))
	for err == nil && members.Next() {
		if s := members.Selector(); s.ConstraintType() == cue.PatternConstraint && oneLine(s.Pattern()) == text {
			return s.Pattern()
		}
	}
	return cue.Value{}
}

// conditions are the texts of the comprehensions that a struct is made with.
func conditions(v cue.Value) string {
	return strings.Join(declarations(v, isComprehension), "\n")
}

func isComprehension(d ast.Decl) bool {
	_, ok := d.(*ast.Comprehension)
	return ok
}

// declarations are the texts of some of the declarations that a struct is made with, sorted.
func declarations(v cue.Value, wanted func(ast.Decl) bool) (texts []string) {
	var read func(v cue.Value, depth int)
	read = func(v cue.Value, depth int) {
		v = cue.Dereference(v)
		n := v.Source()
		if f, ok := n.(*ast.Field); ok {
			n = f.Value
		}
		if s, ok := n.(*ast.StructLit); ok {
			for _, d := range s.Elts {
				if wanted(d) {
					texts = append(texts, text(&ast.StructLit{Elts: []ast.Decl{d}}))
				}
			}
		}
		if op, args := v.Expr(); op == cue.AndOp && depth > 0 {
			for _, a := range args {
				read(a, depth-1)
			}
		}
	}
	read(v, maxCompareDepth)
	slices.Sort(texts)
	return slices.Compact(texts)
}

// oneLine is how a scalar is written, in one line. CUE embeds parts of it in braces.
func oneLine(v cue.Value) string {
	text := printable.OneLine(source(v))
	if !strings.Contains(text, ":") {
		text = strings.NewReplacer("{ ", "", " }", "").Replace(text)
	}
	return text
}

// source is how v is written.
func source(v cue.Value) string { return text(v.Syntax(cue.Raw())) }

func text(n ast.Node) string {
	data, err := format.Node(n)
	if err != nil {
		return fmt.Sprintf("%p", n) // like no other
	}
	_, body, found := strings.Cut(string(data), "\n\n")
	if !found || !strings.HasPrefix(string(data), "import") {
		body = string(data)
	}
	return strings.TrimSpace(body)
}

// words says what a value is.
func words(v cue.Value) string {
	return cmp.Or(diagnose.Expected(v), "anything")
}

// fallback is the value of an input that is not set.
func fallback(in module.Inputs, at object.Path, p place) string {
	if own, found := in.Own.Lookup(at); found == len(at) && own.Kind != object.KindNone {
		return string(own.JSON())
	}
	if p.as == cue.OptionalConstraint {
		return ""
	}
	return diagnose.DefaultOf(p.value)
}
