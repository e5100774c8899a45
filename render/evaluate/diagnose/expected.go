// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/object"
)

// maxDepth bounds how deep a schema is read for a message; schemas may refer
// to themselves.
const maxDepth = 12

// demand holds what a schema asks of one value.
type demand struct {
	kind cue.Kind
	// literals are the values that are allowed, as JSON, if there are only
	// some.
	literals []string
	// terms are further conditions in plain words.
	terms []string
	// names are the names of the patterns that are known by name.
	names []string
	// refusal is the text with which error() of the module refuses every value.
	refusal string
	// others are the alternatives that are no literals.
	others []*demand
}

// Expected returns in plain words what v asks for, or "" if there are no words for it.
func Expected(v cue.Value) string {
	if !v.Exists() {
		return ""
	}
	return demandOf(v).String()
}

func demandOf(v cue.Value) *demand {
	d := &demand{kind: cue.TopKind}
	d.read(v, 0)
	return d
}

// read adds what v asks for to d.
func (d *demand) read(v cue.Value, depth int) {
	if depth > maxDepth {
		return
	}

	// A reference asks for what its target asks for.
	if target := cue.Dereference(v); target.Exists() {
		v = target
	}
	if k := v.IncompleteKind(); k != cue.BottomKind {
		d.kind &= k
	}

	// The rest depends on what v is made of: conditions, alternatives, a validator or a value.
	op, args := v.Expr()
	switch op {
	case cue.AndOp:
		for _, a := range args {
			d.read(a, depth+1)
		}
	case cue.OrOp:
		d.choose(args, depth)
	case cue.RegexMatchOp:
		d.addPattern(args[0])
	case cue.GreaterThanOp, cue.GreaterThanEqualOp, cue.LessThanOp, cue.LessThanEqualOp, cue.NotEqualOp,
		cue.NotRegexMatchOp:
		d.addTerm(comparison(op) + " " + Given(args[0]))
	case cue.CallOp:
		if _, words, ok := strings.Cut(fmt.Sprint(v), "_|_ // "); ok {
			_, d.refusal, _ = strings.Cut(words, ": ")
			return
		}
		d.addTerm(condition(fmt.Sprint(v)))
	case cue.NoOp:
		if len(args) == 1 && !v.IsConcrete() {
			d.read(args[0], depth+1)
			return
		}
		if v.IsConcrete() && v.IncompleteKind()&(cue.StructKind|cue.ListKind) == 0 {
			d.literals = append(d.literals, Given(v))
		}
	}
}

// addPattern adds a regular expression, by its name if it has a name.
func (d *demand) addPattern(v cue.Value) {
	if text, err := v.String(); err == nil && patternName(text) != "" {
		if name := patternName(text); !slices.Contains(d.names, name) {
			d.names = append(d.names, name)
		}
		return
	}
	d.addTerm("that matches " + Given(v))
}

func (d *demand) addTerm(text string) {
	if !slices.Contains(d.terms, text) {
		d.terms = append(d.terms, text)
	}
}

// choose reads the alternatives of a disjunction. A literal that another alternative allows too is
// only a default, and restricts nothing.
func (d *demand) choose(args []cue.Value, depth int) {
	var open cue.Kind
	for _, a := range args {
		alternative := &demand{kind: cue.TopKind}
		alternative.read(a, depth+1)
		if len(alternative.literals) > 0 && len(alternative.terms) == 0 {
			d.literals = append(d.literals, alternative.literals...)
			continue
		}
		open |= alternative.kind
		d.others = append(d.others, alternative)
	}
	d.literals = slices.DeleteFunc(d.literals, func(text string) bool { return literalKind(text)&open != 0 })
}

func literalKind(text string) cue.Kind {
	switch {
	case strings.HasPrefix(text, `"`):
		return cue.StringKind
	case text == "true" || text == "false":
		return cue.BoolKind
	case text == "null":
		return cue.NullKind
	default:
		return cue.NumberKind
	}
}

// admits reports whether the demand asks for no more than a value of the kind k.
func (d *demand) admits(k cue.Kind) bool {
	switch {
	case len(d.terms)+len(d.names) > 0:
		return false
	case len(d.others) > 0:
		return slices.ContainsFunc(d.others, func(o *demand) bool { return o.admits(k) })
	}
	return len(d.literals) == 0 && d.kind&k == k
}

// String returns the demand in plain words.
func (d *demand) String() string {
	// Literals are sorted and bounded. The other alternatives have words of their own.
	var choices []string
	literals := slices.Clone(d.literals)
	slices.Sort(literals)
	literals = slices.Compact(literals)
	if len(literals) > manyNames {
		literals = append(literals[:manyNames], "…")
	}
	for _, o := range d.others {
		if text := o.String(); text != "" && !slices.Contains(choices, text) {
			choices = append(choices, text)
		}
	}

	// Alternatives are listed without their kinds.
	switch {
	case len(literals) == 1 && len(choices) == 0:
		return literals[0]
	case len(literals) > 0 && len(choices) == 0:
		return "one of " + choice(literals)
	case len(choices) > 0:
		text := choice(append(choices, literals...))
		if len(d.terms) > 0 {
			text += " " + strings.Join(d.terms, " and ")
		}
		return text
	}

	// A single demand is its name or its kind, with the conditions behind it.
	text := cmp.Or(strings.Join(d.names, " and "), KindName(d.kind))
	if len(d.terms) > 0 {
		if text == "" {
			text = "a value"
		}
		text += " " + strings.Join(d.terms, " and ")
	}
	return text
}

// KindName returns the words for a kind, or for a set of kinds. It returns "" if any kind is
// allowed.
func KindName(k cue.Kind) string {
	if k&cue.TopKind == cue.TopKind {
		return ""
	}
	var names []string
	add := func(kind cue.Kind, name string) {
		if k&kind == kind {
			names = append(names, name)
		}
	}
	add(cue.StringKind, "text")
	if k&cue.NumberKind == cue.NumberKind {
		names = append(names, "a number")
	} else {
		add(cue.IntKind, "an integer")
		add(cue.FloatKind, "a number with a fraction")
	}
	add(cue.BoolKind, "true or false")
	add(cue.StructKind, "a map")
	add(cue.ListKind, "a list")
	add(cue.BytesKind, "bytes")
	add(cue.NullKind, "null")
	return choice(names)
}

func comparison(op cue.Op) string {
	switch op {
	case cue.GreaterThanOp:
		return "greater than"
	case cue.GreaterThanEqualOp:
		return "of at least"
	case cue.LessThanOp:
		return "less than"
	case cue.LessThanEqualOp:
		return "of at most"
	case cue.NotEqualOp:
		return "other than"
	default:
		return "that does not match"
	}
}

// condition returns a validator of CUE's library in plain words.
func condition(call string) string {
	name, args, _ := strings.Cut(strings.TrimSuffix(call, ")"), "(")
	switch name {
	case "strings.MaxRunes":
		return "of at most " + printable.Count(args, "character")
	case "strings.MinRunes":
		return "of at least " + printable.Count(args, "character")
	case "list.MaxItems":
		return "of at most " + printable.Count(args, "item")
	case "list.MinItems":
		return "of at least " + printable.Count(args, "item")
	case "list.UniqueItems":
		return "of items that all differ"
	case "struct.MaxFields":
		return "of at most " + printable.Count(args, "field")
	case "struct.MinFields":
		return "of at least " + printable.Count(args, "field")
	default:
		return "that satisfies " + oneLineOf(call)
	}
}

// pattern finds the text that a message about a regular expression repeats, which may be an input.
var pattern = regexp.MustCompile("(error parsing regexp: [^:`]*): `.*`")

// oneLineOf returns text without line breaks, cut to a bounded length.
func oneLineOf(text string) string {
	text = pattern.ReplaceAllString(text, "$1")
	return cut(printable.JoinLines(text))
}

// cut returns text, cut after 120 characters.
func cut(text string) string {
	const most = 120
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// Quote quotes what a user gave.
func Quote(v object.Value) string {
	switch v.Kind {
	case object.KindString:
		return strconv.Quote(cut(v.Text))
	case object.KindMap:
		return "a map"
	case object.KindList:
		return "a list"
	case object.KindNone:
		return "nothing"
	case object.KindBool, object.KindNumber:
		return v.Written()
	default:
		return string(v.JSON())
	}
}

// SchemaAt follows path from v through fields, optional fields and patterns.
func SchemaAt(v cue.Value, path object.Path) cue.Value {
	for _, step := range path {
		v = SchemaStep(v, step)
		if !v.Exists() {
			return cue.Value{}
		}
	}
	return v
}

// SchemaStep follows one step from v through fields, optional fields and patterns.
func SchemaStep(v cue.Value, step object.Step) cue.Value {
	if step.IsIndex {
		if at := v.LookupPath(cue.MakePath(cue.Index(step.Index))); at.Exists() {
			return at
		}
		return v.LookupPath(cue.MakePath(cue.AnyIndex))
	}
	name := cue.Str(step.Name)
	for _, sel := range []cue.Selector{name, name.Optional(), name.Required()} {
		if at := v.LookupPath(cue.MakePath(sel)); at.Exists() {
			return at
		}
	}
	if at := v.LookupPath(cue.MakePath(cue.AnyString)); at.Exists() {
		return at
	}
	// Fields of alternatives are not fields of the whole.
	for _, alt := range alternatives(v) {
		if at := SchemaStep(alt, step); at.Exists() {
			return at
		}
	}
	return cue.Value{}
}

// alternatives returns the members of a disjunction, or nil if v is no disjunction.
func alternatives(v cue.Value) []cue.Value {
	for range maxDepth {
		// A reference stands for its target.
		if target := cue.Dereference(v); target.Exists() {
			v = target
		}
		op, args := v.Expr()

		// Alternatives of alternatives are listed as one level.
		if op == cue.OrOp {
			var choices []cue.Value
			for _, a := range args {
				if nested := alternatives(a); len(nested) > 0 {
					choices = append(choices, nested...)
				} else {
					choices = append(choices, a)
				}
			}
			return choices
		}
		if op != cue.AndOp {
			return nil
		}

		// In a conjunction, the last disjunction counts.
		disjunction := cue.Value{}
		for _, a := range args {
			if o, _ := cue.Dereference(a).Expr(); o == cue.OrOp {
				disjunction = a
			}
		}
		if !disjunction.Exists() {
			return nil
		}
		v = disjunction
	}
	return nil
}

// KnownFields returns the sorted names that v has a field for, required or not.
func KnownFields(v cue.Value) []string {
	if !v.Exists() {
		return nil
	}
	var names []string
	if fields, err := v.Fields(cue.Optional(true)); err == nil {
		for fields.Next() {
			sel := fields.Selector()
			if sel.LabelType() == cue.StringLabel {
				names = append(names, sel.Unquoted())
			}
		}
	}
	for _, alt := range alternatives(v) {
		names = append(names, KnownFields(alt)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// DefaultOf returns the default of v as JSON, or "" if v has no default.
func DefaultOf(v cue.Value) string {
	d, ok := v.Default()
	if !ok {
		return ""
	}
	data, err := d.MarshalJSON()
	if err != nil {
		return ""
	}
	return string(data)
}

// DocOf returns the comment above a field, without its markers.
func DocOf(v cue.Value) string {
	var texts []string
	for _, group := range v.Doc() {
		if text := strings.TrimSpace(group.Text()); text != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// Given quotes a value for a message.
func Given(v cue.Value) string {
	if !v.Exists() {
		return "nothing"
	}
	if data, err := v.MarshalJSON(); err == nil {
		return string(data)
	}
	return fmt.Sprint(v)
}
