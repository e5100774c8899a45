// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
	"github.com/stretchr/testify/require"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
)

// argoCD runs a health script with the libraries that Argo CD opens by default
// (argo-cd, util/lua/lua.go: package, base and table, and a safe os that is
// registered under the name of table). Argo CD gives a script one second; a busy
// machine under the race detector gets ten.
func argoCD(t testing.TB, script string, o object.Object) (status, message string) {
	t.Helper()
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer l.Close()
	for _, lib := range []struct {
		name string
		open lua.LGFunction
	}{
		{lua.LoadLibName, lua.OpenPackage}, {lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable},
	} {
		require.NoError(t, l.CallByParam(lua.P{Fn: l.NewFunction(lib.open), Protect: true}, lua.LString(lib.name)))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	l.SetContext(ctx)
	l.SetGlobal("obj", luaValue(l, map[string]any(o)))
	l.Push(l.NewFunctionFromProto(compiled(t, script)))
	require.NoError(t, l.PCall(0, lua.MultRet, nil))
	result, ok := l.Get(-1).(*lua.LTable)
	require.True(t, ok, "the script returned %s", l.Get(-1).Type())
	return result.RawGetString("status").String(), result.RawGetString("message").String()
}

// scripts keeps what was compiled, as Argo CD does.
var scripts sync.Map

func compiled(t testing.TB, script string) *lua.FunctionProto {
	t.Helper()
	if proto, ok := scripts.Load(script); ok {
		return proto.(*lua.FunctionProto)
	}
	chunk, err := parse.Parse(strings.NewReader(script), "health")
	require.NoError(t, err)
	proto, err := lua.Compile(chunk, "health")
	require.NoError(t, err)
	scripts.Store(script, proto)
	return proto
}

// luaValue hands values over as Argo CD does: null is nil, all numbers are one
// type.
func luaValue(l *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case bool:
		return lua.LBool(v)
	case float64:
		return lua.LNumber(v)
	case int64:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case []any:
		t := l.CreateTable(len(v), 0)
		for _, e := range v {
			t.Append(luaValue(l, e))
		}
		return t
	case map[string]any:
		t := l.CreateTable(0, len(v))
		for k, e := range v {
			t.RawSetString(k, luaValue(l, e))
		}
		return t
	}
	return lua.LNil
}

// fluxEnv is how Flux sets CEL up (fluxcd/pkg, runtime/cel: NewExpression).
func fluxEnv(t testing.TB) *cel.Env {
	t.Helper()
	env, err := cel.NewEnv(cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true), cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), ext.Strings(), ext.Sets(), ext.Encoders())
	require.NoError(t, err)
	return env
}

// evaluate parses, as Flux does, and evaluates; ok is false for an error.
func evaluate(t testing.TB, env *cel.Env, text string, vars map[string]any) (result, ok bool) {
	t.Helper()
	tree, issues := env.Parse(text)
	require.NoError(t, issues.Err(), text)
	program, err := env.Program(tree)
	require.NoError(t, err, text)
	v, _, err := program.Eval(vars)
	if err != nil {
		return false, false
	}
	b, isBool := v.(types.Bool)
	return bool(b), isBool
}

// agree evaluates text as written, as Flux gets it and as Argo CD gets it.
func agree(t testing.TB, env *cel.Env, text string, o object.Object) {
	t.Helper()
	vars := map[string]any{"object": map[string]any(o)}
	for k, v := range o {
		vars[k] = v
	}
	want, _ := evaluate(t, env, text, vars)

	flux, lost, err := emit.CELForFlux(text)
	require.NoError(t, err)
	if len(lost) == 0 {
		delete(vars, "object")
		got, _ := evaluate(t, env, flux, vars)
		require.Equal(t, want, got, "%s\nfor Flux: %s\nobject: %s", text, flux, emit.JSON(o))
	}

	rule, err := emit.CELForArgoCD(text)
	require.NoError(t, err)
	annotated := o.Clone()
	annotated.Annotate(dialect.ReadyWhen, rule)
	status, message := argoCD(t, emit.HealthLua("example.com", "Widget"), annotated)
	if strings.Contains(rule, "annotations") {
		return // The annotation itself is one more annotation.
	}
	require.Contains(t, []string{"Healthy", "Progressing"}, status, "%s: %s", text, message)
	require.Equal(t, want, status == "Healthy", "%s\nfor Argo CD: %s\nobject: %s\n%s", text, rule, emit.JSON(o), message)
}

func widget(status map[string]any) object.Object {
	o := object.Object{
		"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": "w", "namespace": "shop", "labels": map[string]any{"app": "w", "a.b/c": "d"}},
		"spec":     map[string]any{"replicas": int64(3), "mode": "fast", "on": true, "ratio": 0.5},
	}
	if status != nil {
		o["status"] = status
	}
	return o
}

func TestCELMeansTheSameInBothEngines(t *testing.T) {
	env := fluxEnv(t)
	objects := []object.Object{
		widget(nil), widget(map[string]any{}),
		widget(map[string]any{"phase": "Running", "ready": int64(3), "ok": true}),
		widget(map[string]any{"phase": "Grüße", "ready": int64(2), "ok": false, "ratio": 1.5}),
		widget(map[string]any{"phase": int64(1), "ready": "3", "list": []any{"a", "b"}, "nested": []any{[]any{int64(1)}, []any{}}}),
		widget(map[string]any{"conditions": []any{}, "map": map[string]any{"k": "v", "n": int64(1)}}),
		widget(map[string]any{"phase": "Running", "conditions": []any{
			map[string]any{"type": "Ready", "status": "True"}, map[string]any{"type": "Synced", "status": "False", "reason": "x"}}}),
		widget(map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "False"}, map[string]any{"status": "True"}}}),
	}
	for _, text := range []string{
		"true", "false", `status.phase == "Running"`, `object.status.phase == "Running"`, `status.phase != "Running"`, `!(status.phase == "Running")`,
		"status.ready >= spec.replicas", "status.ready < 3", "status.ready > 2.5", "spec.ratio == 0.5", "spec.replicas == 3.0", "spec.on", "!spec.on", "status.ok", "!status.ok",
		"has(status.phase)", "!has(status.phase)", "has(object.spec.mode)", "has(object.status)", "has(object.metadata)", "has(status.map.k)", "!has(status.map.z)",
		`has(status.phase) && status.phase == "Running"`, `status.phase == "x" || spec.mode == "fast"`, `spec.mode == "fast" || status.phase == "x"`,
		`status.phase == "x" || status.ready == 3`, `!(status.phase == "x" && status.ready == 3)`, `!(status.phase == "x" || status.ready == 9)`,
		`status.conditions.exists(c, c.type == "Ready" && c.status == "True")`, `!status.conditions.exists(c, c.type == "Ready")`,
		`status.conditions.all(c, c.status == "True")`, `!status.conditions.all(c, c.status == "True")`, `status.conditions.all(c, has(c.reason) || c.type == "Ready")`,
		`status.conditions.exists(c, c.reason == "x")`, `status.conditions.exists(status, status.type == "Ready")`,
		`status.map.exists(k, k == "k")`, `status.map.all(k, k != "z")`, `status.list.exists(x, status.list.all(y, x <= y))`,
		`spec.mode in ["fast", "slow"]`, `!(spec.mode in ["slow"])`, `"k" in status.map`, `"a" in status.list`, `status.phase in []`, `1 in [1, 2]`, `1.0 in [1]`,
		"size(status.conditions) > 0", "status.list.size() == 2", "size(status.phase) == 5", "size(status.map) == 2", "size(spec.replicas) == 1",
		`status.conditions[0].type == "Ready"`, `status.conditions[1].status == "True"`, `status.list[5] == "a"`, `status.map["k"] == "v"`, `status.nested[0][0] == 1`,
		`metadata.labels["a.b/c"] == "d"`, `metadata.labels["nope"] == "d"`, `metadata.name == "w"`, `status.list == ["a", "b"]`, `status.list != ["a"]`, `status.map.n == 1`,
		`has(status.ready) ? status.ready == 3 : spec.mode == "fast"`, `status.ok ? true : false`, `status.ok ? status.phase == "Running" : status.phase == "Grüße"`, `(status.ready == 3 ? "a" : "b") == "a"`,
		`status.phase == null`, `spec.mode != null`, `spec.mode == 3`, `"a" < "b"`, `status.phase < "S"`, `false < true`, `status.phase == "Gr\u00fc\u00dfe"`, `status.phase == "a\n\"\\\u2028"`,
		"1 < 2 && 2 <= 2 && 3 > 2 && 3 >= 3 && -1 < 0 && 1u < 2", "status.ready && true", "status.ready || true",
	} {
		for _, o := range objects {
			agree(t, env, text, o)
		}
	}
}

// words are what random expressions and objects are made of.
type words struct{ *rand.Rand }

func (w words) pick(list ...string) string { return list[w.IntN(len(list))] }

func (w words) operand(vars []string) string {
	switch w.IntN(6) {
	case 0:
		return w.pick(`"a"`, `"b"`, `""`)
	case 1:
		return w.pick("0", "1", "2", "1.5")
	case 2:
		if len(vars) > 0 {
			return w.pick(vars...) + w.pick("", ".a", ".b")
		}
	}
	return w.pick("status", "spec", "object.status") + w.pick(".a", ".b", ".c", ".l") + w.pick("", "", ".a", ".b", "[0]", `["a"]`)
}

func (w words) expr(depth int, vars []string) string {
	if depth == 0 {
		return w.operand(vars) + w.pick(" == ", " != ", " < ", " >= ") + w.operand(vars)
	}
	a := func() string { return w.expr(depth-1, vars) }
	switch w.IntN(9) {
	case 0, 1:
		return "(" + a() + " && " + a() + ")"
	case 2, 3:
		return "(" + a() + " || " + a() + ")"
	case 4:
		return "!(" + a() + ")"
	case 5:
		return "(" + a() + " ? " + a() + " : " + a() + ")"
	case 6:
		return "has(" + w.pick("status", "spec", "status.a", "spec.b") + w.pick(".a", ".b", ".l") + ")"
	case 7:
		return w.operand(vars) + " in [" + w.operand(vars) + ", " + w.operand(nil) + "]"
	default:
		v := fmt.Sprintf("v%d", len(vars))
		return w.operand(vars) + w.pick(".exists(", ".all(") + v + ", " + w.expr(depth-1, append(vars[:len(vars):len(vars)], v)) + ")"
	}
}

func (w words) value(depth int) any {
	switch n := w.IntN(8); {
	case n == 0 && depth > 0:
		l := []any{}
		for range 1 + w.IntN(3) {
			l = append(l, w.value(depth-1))
		}
		return l
	case n < 3 && depth > 0:
		return w.fields(depth - 1)
	case n == 3:
		return int64(w.IntN(3))
	case n == 4:
		return 1.5
	case n == 5:
		return w.IntN(2) == 0
	default:
		return w.pick("a", "b", "")
	}
}

func (w words) fields(depth int) map[string]any {
	m := map[string]any{"always": "x"}
	for _, name := range []string{"a", "b", "c", "l"} {
		if w.IntN(4) > 0 {
			m[name] = w.value(depth)
		}
	}
	return m
}

func TestRandomCELMeansTheSameInBothEngines(t *testing.T) {
	env := fluxEnv(t)
	for seed := range uint64(300) {
		w := words{rand.New(rand.NewPCG(seed, 7))}
		o := object.Object{"metadata": map[string]any{"name": "w"}, "spec": w.fields(2)}
		if w.IntN(5) > 0 {
			o["status"] = w.fields(3)
		}
		agree(t, env, w.expr(w.IntN(4), nil), o)
	}
}

func FuzzCELMeansTheSameInBothEngines(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	env := fluxEnv(f)
	f.Fuzz(func(t *testing.T, a, b uint64) {
		w := words{rand.New(rand.NewPCG(a, b))}
		agree(t, env, w.expr(w.IntN(5), nil), object.Object{"metadata": map[string]any{"name": "w"}, "spec": w.fields(2), "status": w.fields(3)})
	})
}

func TestCELThatHasNoLuaIsNamedWithItsPlace(t *testing.T) {
	for text, want := range map[string]string{
		`status.phase.startsWith("R")`:                                  "a call of startsWith()",
		`status.a + 1 == 2`:                                             "column 10: the operator +",
		`spec.x == 1 && -status.a == 2`:                                 "column 16: the operator -",
		`status.l.map(x, x.a).size() == 1`:                              "a call of map()",
		`status.l.exists_one(x, x == 1)`:                                "a call of exists_one()",
		`status.?phase.orValue("") == "x"`:                              "a call of orValue()",
		`{"a": 1}.a == 1`:                                               "a map literal",
		`b"x" == status.x`:                                              "a literal of type bytes",
		`status.a == 9007199254740993`:                                  "2^53",
		`int(status.a) == 1`:                                            "a call of int()",
		strings.Repeat("!(", 40) + "status.a" + strings.Repeat(")", 40): "nest",
		`status.a == "` + strings.Repeat("x", 3000) + `"`:               "bytes and Argo CD reads at most",
	} {
		_, err := emit.CELForArgoCD(text)
		require.ErrorContains(t, err, want)
	}
	_, err := emit.CELForArgoCD("status.a ==")
	require.ErrorContains(t, err, "is not valid CEL: column 12")
}

func TestCELForFluxGuardsEveryField(t *testing.T) {
	for text, want := range map[string]string{
		`object.status.phase == "Running"`:         `has(status.phase) && status.phase == "Running"`,
		`!(status.a.b == 1)`:                       `has(status.a) && has(status.a.b) && !(status.a.b == 1)`,
		`status.a || !status.b`:                    `has(status.a) && status.a || has(status.b) && !status.b`,
		`status.l.exists(x, x.y == 1)`:             `has(status.l) && status.l.exists(x, has(x.y) && x.y == 1)`,
		`!status.l.exists(x, x.y == 1)`:            `has(status.l) && status.l.all(x, has(x.y) && !(x.y == 1))`,
		`status.l.filter(x, x.y).size() > 0`:       `has(status.l) && status.l.filter(x, x.y).size() > 0`,
		`status.l[0].a == 1`:                       `has(status.l) && size(status.l) > 0 && has(status.l[0].a) && status.l[0].a == 1`,
		`metadata.labels["a"] == "b"`:              `has(metadata.labels) && "a" in metadata.labels && metadata.labels["a"] == "b"`,
		`has(status.a.b)`:                          `has(status.a) && has(status.a.b)`,
		`status.?a.orValue(1) == 1`:                `status.?a.orValue(1) == 1`,
		`status.a.startsWith("x") && spec.b>1`:     `has(status.a) && status.a.startsWith("x") && has(spec.b) && spec.b > 1`,
		`{"a": object.spec.x}.a == [1, spec.y][0]`: `{"a": spec.x}.a == [1, spec.y][0]`,
	} {
		got, lost, err := emit.CELForFlux(text)
		require.NoError(t, err)
		require.Empty(t, lost)
		if !strings.HasPrefix(text, "{") {
			require.Equal(t, want, got)
		}
		again, _, err := emit.CELForFlux(got)
		require.NoError(t, err, "%s reads back", got)
		require.NotEmpty(t, again)
	}
	_, lost, err := emit.CELForFlux(`!has(object.status) || "spec" in object`)
	require.NoError(t, err)
	require.Equal(t, []string{`the absence of the top-level field "status"`, "object as a whole"}, lost)
}
