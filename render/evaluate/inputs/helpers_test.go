// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inputs_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
)

// shape is a schema that inputs can be generated from: a scalar by its text, or a struct, a
// list or a disjunction by its parts.
type shape struct {
	kind   string // scalar, struct, list, or
	text   string
	fields []*field
	// members are those of other names: by their pattern "" for none.
	pattern string
	rest    *shape
	open    bool
	// parts are the items of a list, or the alternatives of a disjunction.
	parts []*shape
	// with is a condition of a list, or a comprehension of a struct.
	with string
	// name is that of the definition that it is written as, "" where it stands in its place.
	name string
	// embedded says that the definition is embedded in a struct.
	embedded bool
}

type field struct {
	name, mark string
	*shape
}

// families are scalars between which a version may change.
func families() [][]string {
	return [][]string{
		{
			"int", "number", "int & >=1", "int & >=2", "int & >1", "int & <=9", "int & <10", "int & >=1 & <=10", "int & >0 & <3", "uint8", "uint16", "int8", ">=0", ">1.5", "float", "1", "2", "1 | 2", "1 | 2 | 3",
			"int | *1", "int | *2", "*1 | int", "uint | *0", "number & !=0", "int & !=3", "(int & >5) | 1", "null | int", "null | int | *null", "int & (<2 | >8)", "*1 | 2", "1 | *2", "int & >=min", "int & >=1 & <=min", "-1 | int & >5",
		},
		{
			"string", `"x"`, `"x" | "y"`, `"x" | "y" | "z"`, `"x" | *"y"`, `*"x" | "y"`, `string | *"x"`, `string | *"y"`, `string | *""`, `!=""`, `string & !="x"`, `=~"^a"`, `=~"^[a-z]+$"`, `!~"^a"`, `string & =~"^a"`, `=~"^a" | "x"`,
			"strings.MinRunes(1)", "strings.MinRunes(2)", "strings.MaxRunes(1)", "strings.MaxRunes(3)", "strings.MinRunes(1) & strings.MaxRunes(3)", `string & strings.MinRunes(2) & =~"^a"`, "net.IPv4", "net.IP", "null | string", "string | int", "bytes | string",
			`string | *"\(min)"`, `"y" | "z"`, `=~"^a" & =~"b$"`, `>"b"`, `<"b"`, `*"a" | =~"^a"`, `strings.MaxRunes(3) | *"ab"`,
		},
		{"bool", "true", "false", "bool | *true", "bool | *false", "*true | false", "bool | string", "null | bool", "_", "null", "string | bool | int", "_ | *1", "number | string"},
		{"[...int] | *[]", "[...int] | *[1]", "[...string] | *[]", "[...]", "[int, ...]", "[]", "[1]", "{...}", "{}", "[string]: _", "{x?: int} | *{x: 1}", "{x: int | *1}", "*{x: 1} | {y: int}", "[...int] | int"},
	}
}

// samples are values that scalars are tried with.
func samples() []any {
	return []any{
		-1, 0, 1, 2, 3, 5, 6, 9, 10, 11, 127, 128, 255, 256, 65535, 65536, 1.5, 2.5, "", "a", "b", "x", "y", "z", "ab", "xa", "abc", "abcdef", "aB1", "10.0.0.1", "::1",
		true, false, nil, []any{}, []any{1}, []any{1, 2}, []any{"a"}, map[string]any{}, map[string]any{"x": 1}, map[string]any{"x": 2}, map[string]any{"x": "a"}, map[string]any{"y": 1}, map[string]any{"q": 1},
	}
}

// generator makes schemas, changes them, and makes inputs of them.
type generator struct {
	*rand.Rand
	ctx *cue.Context
	// taken are the samples that a scalar takes.
	taken map[string][]any
}

func newGenerator(seed uint64) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, 1)), ctx: cuecontext.New(), taken: map[string][]any{}}
}

func pick[T any](g *generator, from []T) T { return from[g.IntN(len(from))] }

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func (g *generator) scalar() *shape {
	return &shape{kind: "scalar", text: pick(g, pick(g, families()))}
}

func (g *generator) shape(depth int) *shape {
	switch n := g.IntN(10); {
	case depth <= 0 || n < 5:
		return g.scalar()
	case n < 8:
		return g.structure(depth - 1)
	case n < 9:
		return g.list(depth - 1)
	}
	return &shape{kind: "or", parts: []*shape{g.shape(depth - 1), g.shape(depth - 1)}}
}

func (g *generator) structure(depth int) *shape {
	s := &shape{kind: "struct", open: g.chance(10)}
	for _, name := range []string{"a", "b", "c", "d"} {
		if g.chance(55) {
			s.fields = append(s.fields, g.field(name, depth))
		}
	}
	if g.chance(15) {
		s.pattern, s.rest = g.pattern(), g.shape(depth)
	}
	if g.chance(10) {
		s.with = g.comprehension()
	}
	if g.chance(20) {
		s.name, s.embedded = pick(g, []string{"#P", "#Q"}), g.chance(40)
	}
	return s
}

// schema is the schema of a module, with a field that others may depend on.
func (g *generator) schema() *shape {
	s := g.structure(2)
	s.name = ""
	s.fields = append(s.fields, &field{name: "min", shape: &shape{kind: "scalar", text: "int | *1"}})
	return s
}

func (g *generator) pattern() string {
	return pick(g, []string{"string", `=~"^x"`, `=~"^[xy]"`, `!="a"`})
}

func (g *generator) comprehension() string {
	return pick(g, []string{"if a != _|_ {e!: int}", "if b == 1 {d: int}", `if c != _|_ if c == "x" {e?: string}`})
}

func (g *generator) field(name string, depth int) *field {
	return &field{name: name, mark: pick(g, []string{"?", "?", "!", ""}), shape: g.shape(depth)}
}

func (g *generator) list(depth int) *shape {
	s := &shape{kind: "list"}
	for range g.IntN(3) {
		s.parts = append(s.parts, g.shape(depth))
	}
	if g.chance(70) {
		s.rest, s.with = g.shape(depth), g.calls()
	}
	return s
}

func (g *generator) calls() string {
	return pick(g, []string{"", "", "", "list.MinItems(1)", "list.MinItems(2)", "list.MaxItems(1)", "list.MaxItems(2)", "list.UniqueItems()"})
}

// copied is a copy that shares nothing.
func (s *shape) copied() *shape {
	if s == nil {
		return nil
	}
	out := *s
	out.fields, out.parts, out.rest = nil, nil, s.rest.copied()
	for _, f := range s.fields {
		out.fields = append(out.fields, &field{name: f.name, mark: f.mark, shape: f.copied()})
	}
	for _, p := range s.parts {
		out.parts = append(out.parts, p.copied())
	}
	return &out
}

// all are a shape and its parts.
func (s *shape) all() []*shape {
	if s == nil {
		return nil
	}
	out := append([]*shape{s}, s.rest.all()...)
	for _, f := range s.fields {
		out = append(out, f.all()...)
	}
	for _, p := range s.parts {
		out = append(out, p.all()...)
	}
	return out
}

// changed is a shape with some of its parts changed.
func (g *generator) changed(s *shape) *shape {
	out := s.copied()
	for range 1 + g.IntN(2) {
		g.change(pick(g, out.all()), out)
	}
	return out
}

func (g *generator) change(s, root *shape) {
	if s != root && g.chance(12) {
		g.replace(s)
		return
	}
	switch s.kind {
	case "scalar":
		g.changeScalar(s)
	case "list":
		switch g.IntN(4) {
		case 0:
			s.parts = append(s.parts, g.shape(1))
		case 1:
			s.parts = s.parts[:max(0, len(s.parts)-1)]
		case 2:
			s.with = g.calls()
		default:
			s.rest, s.with = pick(g, []*shape{nil, g.shape(1)}), ""
		}
	case "or":
		if len(s.parts) > 1 && g.chance(50) {
			s.parts = s.parts[1:]
		} else {
			s.parts = append(s.parts, g.shape(1))
		}
	case "struct":
		g.changeStruct(s)
	}
}

// replace takes another shape in the place of s, or one that takes s, too.
func (g *generator) replace(s *shape) {
	was := *s
	switch *s = *g.shape(1); g.IntN(3) {
	case 0:
		*s = shape{kind: "or", parts: []*shape{was.copied(), g.shape(1)}}
	case 1:
		*s = shape{kind: "list", rest: was.copied()}
	}
}

func (g *generator) changeScalar(s *shape) {
	for _, family := range families() {
		for _, text := range family {
			if text == s.text && g.chance(80) {
				s.text = pick(g, family)
				return
			}
		}
	}
	s.text = g.scalar().text
}

func (g *generator) changeStruct(s *shape) {
	switch n := g.IntN(10); {
	case n < 3 && len(s.fields) > 0:
		pick(g, s.fields).mark = pick(g, []string{"?", "!", ""})
	case n < 4 && len(s.fields) > 0:
		s.fields = s.fields[1:]
	case n < 6:
		name := pick(g, []string{"x", "e", "xx"})
		for _, f := range s.fields {
			if f.name == name {
				return
			}
		}
		s.fields = append(s.fields, &field{name: name, mark: pick(g, []string{"?", "?", "!", ""}), shape: g.shape(1)})
	case n < 7:
		s.open = !s.open
	case n < 8:
		s.pattern, s.rest = g.pattern(), g.shape(1)
	case n < 9:
		s.with = pick(g, []string{"", g.comprehension()})
	default:
		s.name, s.embedded = pick(g, []string{"", "#P", "#Q"}), g.chance(40)
	}
}

// definitions are the texts of shapes that have a name.
type definitions map[string]string

// write is the text of a shape; names that are taken by another text get a number.
func (s *shape) write(defs definitions) string {
	text := s.body(defs)
	if s.name == "" {
		return text
	}
	name := s.name
	for i := 1; defs[name] != "" && defs[name] != text; i++ {
		name = fmt.Sprint(s.name, i)
	}
	defs[name] = text
	if s.embedded {
		return "{" + name + "}"
	}
	return name
}

// single reports whether s is a scalar, whatever is chosen in it.
func (s *shape) single() bool {
	if s.kind == "or" {
		return !slices.ContainsFunc(s.parts, func(p *shape) bool { return !p.single() })
	}
	return s.kind == "scalar" && s.text != "_" && !strings.ContainsAny(s.text, "[{")
}

func (s *shape) body(defs definitions) string {
	var out []string
	switch s.kind {
	case "scalar":
		if strings.HasPrefix(s.text, "[string]:") {
			return "{" + s.text + "}"
		}
		return "(" + s.text + ")"
	case "or":
		for _, p := range s.parts {
			out = append(out, p.write(defs))
		}
		return "(" + strings.Join(out, " | ") + ")"
	case "list":
		for _, p := range s.parts {
			out = append(out, p.write(defs))
		}
		if s.rest != nil {
			out = append(out, "..."+s.rest.write(defs))
		}
		text := "[" + strings.Join(out, ", ") + "]"
		if s.with != "" {
			text = "(" + s.with + " & " + text + ")"
		}
		return text
	}
	pattern := s.pattern
	for _, f := range s.fields {
		out = append(out, f.name+f.mark+": "+f.write(defs))
		// CUE v0.17.1 recurses without end where a bound meets a map or a list in a larger
		// schema. An evaluation of a command ends with an error for it, but here its
		// goroutine goes on, and would end the process.
		if s.pattern != "" && (!f.single() || !s.rest.single()) {
			pattern = fmt.Sprintf("%s & !=%q", pattern, f.name)
		}
	}
	if s.pattern != "" {
		out = append(out, "["+pattern+"]: "+s.rest.write(defs))
	}
	if s.with != "" {
		out = append(out, s.with)
	}
	if s.open {
		out = append(out, "...")
	}
	return "{" + strings.Join(out, "\n") + "\n}"
}

// input is a value that a shape may take: what depends on other inputs is not looked at.
func (g *generator) input(s *shape) (any, bool) {
	switch s.kind {
	case "scalar":
		taken := g.samplesOf(s.text)
		if len(taken) == 0 {
			return nil, false
		}
		return pick(g, taken), true
	case "or":
		return g.input(pick(g, s.parts))
	case "list":
		out, parts := []any{}, s.parts
		for range g.IntN(3) {
			if s.rest != nil {
				parts = append(parts[:len(parts):len(parts)], s.rest)
			}
		}
		for _, p := range parts {
			item, ok := g.input(p)
			if !ok {
				return nil, false
			}
			out = append(out, item)
		}
		return out, true
	}
	out := map[string]any{}
	for _, f := range s.fields {
		if f.mark != "!" && g.chance(map[string]int{"?": 50, "": 25}[f.mark]) {
			continue
		}
		if v, ok := g.input(f.shape); ok {
			out[f.name] = v
		}
	}
	for range g.IntN(3) {
		if v, ok := g.input(orScalar(s.rest)); ok && s.rest != nil {
			out[pick(g, []string{"x", "xx", "y", "q", "e"})] = v
		}
	}
	if v, ok := g.input(&shape{kind: "scalar", text: "int | string"}); ok && s.with != "" && g.chance(40) {
		out["e"] = v
	}
	return out, true
}

func orScalar(s *shape) *shape {
	if s == nil {
		return &shape{kind: "scalar", text: "_"}
	}
	return s
}

// samplesOf are the samples that a scalar takes, without what depends on other inputs.
func (g *generator) samplesOf(text string) []any {
	if taken, known := g.taken[text]; known {
		return taken
	}
	v := g.ctx.CompileString("import (\n\"strings\"\n\"net\"\n)\nmin: int | *1\n_used: [strings.MinRunes, net.IP]\n#X: (" +
		strings.Replace(text, "[string]: _", "{[string]: _}", 1) + ")").LookupPath(cue.ParsePath("#X"))
	out := []any{}
	// Names that an open schema does not have are no part of what it takes.
	if strings.Contains(text, "{...}") {
		out = append(out, map[string]any{})
	}
	for _, s := range samples() {
		if len(out) > 0 && strings.Contains(text, "{...}") {
			break
		}
		data, err := json.Marshal(s)
		if err == nil && v.Unify(g.ctx.CompileBytes(data)).Validate(cue.Final()) == nil {
			out = append(out, s)
		}
	}
	g.taken[text] = out
	return out
}
