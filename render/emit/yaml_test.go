// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	yaml3 "go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
)

func TestYAMLQuotesTextThatAParserCouldReadAsSomethingElse(t *testing.T) {
	for _, s := range []string{
		"yes", "No", "ON", "off", "y", "N", "true", "False", "null", "Null", "~", "",
		"1", "-1", "+1", "0o17", "017", "0x1F", "0b101", "1_000", "1e3", "1.5", ".5", "-.5", "1.", "6.02e23",
		"190:20:30", "12:30:45", "2001-12-14", "2001-12-14t21:59:43.10-05:00", "2001-12-14 21:59:43",
		".inf", "-.INF", ".NaN", "<<", "=", "---", "...", "-", "?", ":",
		" a", "a ", "a: b", "a:", "a #b", "#a", "- a", "? a", ": a", "[a]", "{a}", "!a", "&a", "*a", "|a", ">a",
		"%a", "@a", "`a`", "'a", "\"a", ",a", "a\tb", "a\rb", "\u0085", "\u2028", "\ufeff", "a\u0000", "😀", "\u00a0",
		"1.25", "1:2", "0", "-0", "0.0", "++", "..",
	} {
		got := string(emit.YAML(s))
		require.Contains(t, "\"'", got[:1], "%q was written as %s", s, got)
		roundTrip(t, s)
	}
}

func TestYAMLLeavesPlainTextPlain(t *testing.T) {
	for _, s := range []string{
		"nginx", "registry.example/team/shop:1.2.3", "100Mi", "5m", "10Gi", "--port=80", "-c", "/healthz",
		"a:b", "a#b", "a b", "ropewalk.dev/v1alpha1", "app.kubernetes.io/name", "$(VAR)", "Grüße", "v1", "ReadWriteOnce", "_x", ".well-known",
		"1.2.3-rc1", "RollingUpdate", "it's",
	} {
		require.Equal(t, s+"\n", string(emit.YAML(s)))
		roundTrip(t, s)
	}
}

func TestYAMLWritesSeveralLinesAsABlockWhereThatIsSafe(t *testing.T) {
	for text, want := range map[string]string{
		"a\nb":          "k: |-\n  a\n  b\n",
		"a\nb\n":        "k: |\n  a\n  b\n",
		"a\nb\n\n":      "k: |+\n  a\n  b\n\n",
		"a\n\n  b\n":    "k: |\n  a\n\n    b\n",
		"a \nb":         `k: "a \nb"` + "\n",
		"a\n\tb":        `k: "a\n\tb"` + "\n",
		" a\nb":         `k: " a\nb"` + "\n",
		"\na":           `k: "\na"` + "\n",
		"a\r\nb":        `k: "a\r\nb"` + "\n",
		"a\nb\u2028c":   `k: "a\nb\u2028c"` + "\n",
		"# a\n--- b\n":  "k: |\n  # a\n  --- b\n",
		"a\tb\n\nc\n\n": "k: |+\n  a\tb\n\n  c\n\n",
	} {
		v := map[string]any{"k": text}
		require.Equal(t, want, string(emit.YAML(v)), "%q", text)
		roundTrip(t, v)
		roundTrip(t, map[string]any{"k": []any{text, map[string]any{"x": text, "y": "z"}}})
		roundTrip(t, text)
	}
}

func TestYAMLSortsKeysAndNestsByTwo(t *testing.T) {
	v := object.Object{
		"spec": map[string]any{"ports": []any{map[string]any{"port": int64(80), "name": "http"}}, "empty": map[string]any{}, "none": nil},
		"kind": "Service", "apiVersion": "v1", "list": []any{[]any{"a", []any{}}, int64(-1), 1.0, 1e21, true},
	}
	require.Equal(t, `apiVersion: v1
kind: Service
list:
- - a
  - []
- -1
- 1.0
- 1.0e+21
- true
spec:
  empty: {}
  none: null
  ports:
  - name: http
    port: 80
`, string(emit.YAML(v)))
	roundTrip(t, map[string]any(v))
	require.Equal(t, `{"apiVersion":"v1","kind":"Service","list":[["a",[]],-1,1,1e+21,true],`+
		`"spec":{"empty":{},"none":null,"ports":[{"name":"http","port":80}]}}`, string(emit.JSON(v)))
}

func TestYAMLWritesKeysThatAreTooLongForOneLine(t *testing.T) {
	v := map[string]any{
		strings.Repeat("k", 2000): map[string]any{"a": "b", "c": []any{"d"}},
		strings.Repeat("l", 2000): []any{"x"}, strings.Repeat("m", 1500): "s\nt\n", "<<": "merge", "1": int64(1), "a\nb": "",
	}
	roundTrip(t, v)
}

func TestYAMLWritesFloatsThatAnyVersionReads(t *testing.T) {
	for f, want := range map[float64]string{0.1: "0.1", 1e-7: "1.0e-07", 100: "100.0", 123456789012345678: "1.2345678901234568e+17", 1.5e300: "1.5e+300"} {
		require.Equal(t, want+"\n", string(emit.YAML(f)))
		roundTrip(t, f)
	}
}

// roundTrip reads what was written with the two parsers of the field and with
// encoding/json.
func roundTrip(t *testing.T, v any) {
	t.Helper()
	text := emit.YAML(v)
	require.True(t, strings.HasSuffix(string(text), "\n"))
	want := widen(v)
	var got any
	require.NoError(t, yaml3.Unmarshal(text, &got), "%s", text)
	require.Equal(t, want, widen(got), "go.yaml.in/yaml/v3 read\n%s", text)
	got = nil
	require.NoError(t, kyaml.Unmarshal(text, &got), "%s", text)
	require.Equal(t, want, widen(got), "kyaml read\n%s", text)
	got = nil
	require.NoError(t, json.Unmarshal(emit.JSON(v), &got))
	require.Equal(t, floats(want), floats(got))
	require.Equal(t, text, emit.YAML(v))
}

// widen makes the number types of parsers one.
func widen(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case map[string]any:
		m := map[string]any{}
		for k, e := range v {
			m[k] = widen(e)
		}
		return m
	case []any:
		l := []any{}
		for _, e := range v {
			l = append(l, widen(e))
		}
		return l
	}
	return v
}

func floats(v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case map[string]any:
		m := map[string]any{}
		for k, e := range v {
			m[k] = floats(e)
		}
		return m
	case []any:
		l := []any{}
		for _, e := range v {
			l = append(l, floats(e))
		}
		return l
	}
	return v
}

func FuzzYAMLText(f *testing.F) {
	for _, s := range []string{"a", "yes", "1e3", "a\nb\n", " x", "a: b", "é\u0301", "0b1", "\xff", "|\n a", "a\n\n\n", "'\"", "-- a", "2024-01-01 x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "\ufffd")
		roundTrip(t, s)
		roundTrip(t, map[string]any{s: s, "z": []any{s, []any{s}, map[string]any{s: []any{s}}}})
	})
}

func FuzzYAMLData(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.5,{"b":null,"c":"x\ny"}],"d":{}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := object.Decode(data)
		if err != nil {
			return
		}
		roundTrip(t, map[string]any(o))
	})
}

// deployment is an object of about 60 fields.
func deployment(i int) object.Object {
	name := fmt.Sprintf("web-%04d", i)
	labels := map[string]any{"app": name, "tier": "front", "version": "1.2.3"}
	env := []any{}
	for j := range 12 {
		env = append(env, map[string]any{"name": fmt.Sprintf("VAR_%d", j), "value": fmt.Sprintf("https://host-%d.example/x?y=%d", j, i)})
	}
	return object.Object{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": name, "namespace": "shop", "labels": labels},
		"spec": map[string]any{
			"replicas": int64(2), "selector": map[string]any{"matchLabels": map[string]any{"app": name}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels},
				"spec": map[string]any{"containers": []any{map[string]any{
					"name": "web", "image": "registry.example/team/web:1.2.3", "args": []any{"--port=80", "-v"}, "env": env,
					"ports":     []any{map[string]any{"name": "http", "containerPort": int64(8080)}},
					"resources": map[string]any{"requests": map[string]any{"cpu": "100m", "memory": "64Mi"}, "limits": map[string]any{"memory": "128Mi"}},
				}}},
			},
		},
	}
}

func BenchmarkYAML(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		objects := make([]object.Object, n)
		for i := range objects {
			objects[i] = deployment(i)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, o := range objects {
					emit.YAML(o)
				}
			}
		})
	}
}
