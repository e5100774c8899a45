// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"

	"cuelang.org/go/cue"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

func TestAnObjectWithOneFieldMoreThanItsSiblingsComesOutWhole(t *testing.T) {
	t.Parallel()
	for name, extra := range map[string]string{
		"in the object itself":         `if i == 5 || i == 25 {extra: "x"}`,
		"in a struct of it":            `spec: {if i == 5 || i == 25 {extra: "x"}}`,
		"in an item of a list":         `spec: list: [{a: 1}, {a: 2, if i == 5 || i == 25 {extra: "x"}}]`,
		"an item more":                 `spec: list: [{a: 1}, if i == 5 || i == 25 {{extra: "x"}}]`,
		"under a name that is no word": `spec: {if i == 5 || i == 25 {"extra\n\"": "x"}}`,
		"from a struct that is a null": `spec: sub: *{a: 1} | null, if i == 5 || i == 25 {spec: sub: {extra: "x"}}`,
		"by a default":                 `spec: sub: *{a: 1} | {b: 1}, if i == 5 || i == 25 {spec: sub: *{a: 1, extra: "x"} | {b: 1}}`,
		"by an embedded struct":        `spec: {a: 1, if i == 5 || i == 25 {_e}}, _e: extra: "x"`,
		"by a computed name":           `spec: {a: 1, if i == 5 || i == 25 {"ex\("tra")": "x"}}`,
		"that an optional one allowed": `spec: {a: 1, extra?: string, if i == 5 || i == 25 {extra: "x"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := inline(fmt.Sprintf(`package m

import "list"

ropewalk: apiVersion: "v1alpha1"
graph: nodes: {
	for i in list.Range(1, 31, 1) {
		"n-\(i)": object: {apiVersion: "v1", kind: "Thing", metadata: name: "n-\(i)", %s}
	}
}
`, extra))
			p := NewInProcess(Options{})
			for range 3 {
				result, err := p.Evaluate(t.Context(), req)
				require.NoError(t, err)
				for _, n := range result.Nodes {
					text := fmt.Sprint(n.Object)
					require.Equal(t, n.ID == "api/n-5" || n.ID == "api/n-25", strings.Contains(text, "extra"), "%s: %s", n.ID, text)
				}
			}
		})
	}
}

func TestANodeMayBeTheDefaultOfAlternatives(t *testing.T) {
	t.Parallel()
	req := inline(`package m

ropewalk: apiVersion: "v1alpha1"
graph: nodes: {
	for i in [1, 2, 3] {
		"n-\(i)": *{object: *{apiVersion: "v1", kind: "Thing", metadata: name: "n-\(i)"} | {}} | {dependsOn: []}
	}
}
`)
	p := NewInProcess(Options{})
	for range worthAShape + worthAnOutline {
		result, err := p.Evaluate(t.Context(), req)
		require.NoError(t, err)
		require.Len(t, result.Nodes, 3)
	}
}

// remembering is a module that has made nodes before.
func remembering() *compiled {
	m := &compiled{outlines: newOutlines()}
	m.outlines.made.Store(worthAnOutline)
	return m
}

func TestAModuleOfFewNodesRemembersNothingOfItsFirstEvaluation(t *testing.T) {
	t.Parallel()
	p := NewInProcess(Options{Schemas: testSchemas()})
	req := renderWeb(t, 1)
	places := func() int32 {
		_, err := p.Evaluate(t.Context(), req)
		require.NoError(t, err)
		s, err := p.open(req, req.Module)
		require.NoError(t, err)
		return s.module.outlines.places.Load()
	}
	require.Zero(t, places())
	for range worthAnOutline {
		places()
	}
	require.Positive(t, places())
}

func TestFieldsOfStructsOfOneShapeAreAskedForByName(t *testing.T) {
	t.Parallel()
	m := remembering()
	v := newContext(false).CompileString(`{kind: "Thing", spec: {a: 1, list: [{b: 2}, {b: 3}]}}`)
	for range worthAShape {
		_, _, err := m.export(v)
		require.NoError(t, err)
	}
	require.EqualValues(t, 3, m.outlines.shapes.Load(), "the object, its spec and the items of the list")
	s := m.outlines.object(v).shape(v)
	require.NotNil(t, s)
	require.True(t, s.has([]string{"kind", "spec"}))
	o, size, err := m.export(v)
	require.NoError(t, err)
	want := object.Object{"kind": "Thing", "spec": map[string]any{"a": int64(1), "list": []any{map[string]any{"b": int64(2)}, map[string]any{"b": int64(3)}}}}
	require.Equal(t, want, o)
	_, before, err := (&compiled{outlines: newOutlines()}).export(v)
	require.NoError(t, err)
	require.Equal(t, before, size, "the budget does not depend on what is remembered")
}

func TestWhatIsRememberedOfAModuleIsBounded(t *testing.T) {
	t.Parallel()
	m := remembering()
	ctx := newContext(false)
	for i := range 2000 {
		// Kinds come back, and each object has names of its own in a table.
		v := ctx.CompileString(fmt.Sprintf(`{kind: "K%d", data: {"a%d": {}}, spec: {b: {}, c: [{}]}}`, i%200, i))
		_, _, err := m.export(v)
		require.NoError(t, err)
	}
	require.LessOrEqual(t, m.outlines.places.Load(), int32(maxPlaces))
	shapes := 0
	var count func(*outline)
	count = func(o *outline) {
		if now := o.shapes.Load(); now != nil {
			shapes += len(*now)
		}
		for _, b := range o.below {
			count(b)
		}
		if b := o.items.Load(); b != nil {
			count(b)
		}
	}
	count(m.outlines.objects)
	require.Positive(t, shapes)
	require.LessOrEqual(t, shapes, maxShapes)
}

func TestAPlaceWithManyShapesIsLeftAlone(t *testing.T) {
	t.Parallel()
	m := remembering()
	ctx := newContext(false)
	export := func(names string) *outline {
		v := ctx.CompileString(`{kind: "K", data: {` + names + `}}`)
		_, _, err := m.export(v)
		require.NoError(t, err)
		return m.outlines.objects.field("K").field("data")
	}
	for range worthAShape {
		export("a: 1")
	}
	require.NotNil(t, export("a: 1").shapes.Load())
	for i := range maxShapesHere {
		export(fmt.Sprintf("b%d: 1", i))
	}
	require.Nil(t, export("a: 1").shapes.Load())
	require.True(t, export("a: 1").varied)
}

func TestAShapeGivesUpWhatIsBelowItWhenThatVaries(t *testing.T) {
	t.Parallel()
	m := remembering()
	ctx := newContext(false)
	deep := func(spec string) bool {
		v := ctx.CompileString(`{kind: "K", spec: {` + spec + `}}`)
		for range worthAShape {
			_, _, err := m.export(v)
			require.NoError(t, err)
		}
		s := m.outlines.object(v).shape(v)
		require.NotNil(t, s, spec)
		return s.deep
	}
	require.True(t, deep("a: 1"))
	require.False(t, deep("b: 1"))
	require.False(t, deep("a: 1"))
}

func TestEvaluationsAtOnceShareWhatIsRemembered(t *testing.T) {
	t.Parallel()
	p := NewInProcess(Options{Schemas: testSchemas()})
	want := map[int]Result{}
	for i := range 4 {
		result, err := NewInProcess(Options{Schemas: testSchemas()}).Evaluate(t.Context(), renderWeb(t, i))
		require.NoError(t, err)
		want[i] = result
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 20 {
				result, err := p.Evaluate(t.Context(), renderWeb(t, i%4))
				if err != nil || !reflect.DeepEqual(result, want[i%4]) {
					t.Errorf("evaluation %d: %v, %v", i, result.Nodes, err)
				}
			}
		})
	}
	all.Wait()
}

// FuzzExport holds what is exported against what CUE itself writes as JSON. All
// values of a run stand at the same places, so that each meets the shapes of
// others that are almost like it.
func FuzzExport(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { checkExports(t, seed, 20) })
}

func TestAnExportIsWhatCUEWrites(t *testing.T) {
	t.Parallel()
	valid, known := 0, 0
	for seed := range uint64(120) {
		v, k := checkExports(t, seed, 20)
		valid, known = valid+v, known+k
	}
	// The test is worth nothing where few values are valid, or of a known shape.
	require.Greater(t, valid, 900)
	require.Greater(t, known, 300)
}

// checkExports exports values made of seed, and gives how many were valid and
// how many of these had a shape that was known.
func checkExports(t *testing.T, seed uint64, values int) (valid, known int) {
	m := remembering()
	g := newMaker(seed)
	for range values {
		text := "#Open: {a?: _, b?: _, ...}\n#Shut: {a?: _, b?: int}\nx: kind: \"K\"\nx: spec: " + g.structure(0)
		root := newContext(false).CompileString(text)
		v := root.LookupPath(cue.MakePath(cue.Str("x")))
		if root.Err() != nil || v.Validate(cue.Concrete(true), cue.Final()) != nil {
			continue
		}
		valid++
		data, err := v.MarshalJSON()
		require.NoError(t, err, text)
		want, err := object.Decode(data)
		require.NoError(t, err, text)
		_, size, err := (&compiled{outlines: newOutlines()}).export(v)
		require.NoError(t, err, text)
		spec := v.LookupPath(cue.MakePath(cue.Str("spec")))
		if m.outlines.object(v).field("spec").shape(spec) != nil {
			known++
		}
		for range worthAShape + 2 {
			got, gotSize, err := m.export(v)
			require.NoError(t, err, text)
			require.Equal(t, want, got, text)
			require.Equal(t, size, gotSize, text)
		}
	}
	return valid, known
}

// maker writes CUE at random. It has two names, so that structs are often almost
// the same.
type maker struct {
	rand  *rand.Rand
	names []string
}

func newMaker(seed uint64) *maker {
	g := &maker{rand: rand.New(rand.NewPCG(seed, 1))} //nolint:gosec // nothing is secret
	for range 2 {
		g.names = append(g.names, g.one("a", "a", "a", "b", "b", "c", `"x y"`, `""`, `"é"`, `"_q"`, `"#d"`, `"a\n\"\u2028"`))
	}
	return g
}

func (g *maker) one(of ...string) string { return of[g.rand.IntN(len(of))] }

func (g *maker) name() string { return g.one(g.names...) }

func (g *maker) structure(depth int) string {
	var b strings.Builder
	b.WriteString("{\n")
	for range g.rand.IntN(4) {
		b.WriteString(g.field(depth) + "\n")
	}
	b.WriteString("}")
	return b.String()
}

func (g *maker) field(depth int) string {
	name, value := g.name(), g.value(depth+1)
	plain := name + ": " + value
	switch g.rand.IntN(26) {
	case 0:
		return name + "?: int"
	case 1:
		return "#D: " + value
	case 2:
		return "_h: " + value
	case 3:
		return fmt.Sprintf("let L%d = %s\n%s: L%d", depth, value, name, depth)
	case 4:
		return "if true {" + plain + "}"
	case 5:
		return "if false {" + plain + "}"
	case 6:
		return `for k in ["a", "p"] {"\(k)": ` + value + "}"
	case 7:
		return `[=~"^z"]: int`
	case 8:
		return "{" + plain + "}"
	case 9:
		return "..."
	case 10:
		return fmt.Sprintf("A%d=%s", depth, plain)
	case 11:
		return name + "!: _\n" + plain
	case 12:
		return g.one("#Open", "#Shut")
	case 13:
		return g.one(name+"!: int", name+": 1 & 2", name+": string")
	case 14:
		return fmt.Sprintf(`"\("a")%s": %s`, g.one("", "b"), value)
	default:
		return plain
	}
}

func (g *maker) value(depth int) string {
	if depth > 3 || g.rand.IntN(2) == 0 {
		return g.one(
			"1", "-0", "123456789012345678901234567890", "1.5", "1.0", "-2.5e10", "null", "true",
			`"s"`, `"é\n\t\"\u2028"`, `""`, `'\xff\x00'`, "*1 | int", `*"d" | string`, "{}", "[]", "[...]", "[1, ...]",
			"{1, #x: 2}", `{"s", _h: 1}`, `{[1, 2], #x: 3}`,
		)
	}
	one := g.structure(depth)
	switch g.rand.IntN(12) {
	case 0:
		return "close(" + one + ")"
	case 1:
		return "*" + one + " | " + g.structure(depth)
	case 2:
		return "*" + one + " | null"
	case 3:
		return one + " & {a?: _, b?: _}"
	case 4:
		return "[" + one + ", " + g.value(depth+1) + "]"
	case 5:
		return "[for i in [1, 2] {" + one + "}]"
	case 6:
		return one + " & #Open"
	case 7:
		return "#Shut & {a: " + g.value(depth+1) + "}"
	case 8:
		return `{[string]: _} & ` + one
	default:
		return one
	}
}
