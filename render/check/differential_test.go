// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"io/fs"
	"math/rand/v2"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ropewalk/ropewalk/render/check/internal/rule"
)

// TestJudgesAsTheServerDoes compares this package with the code of the API
// server: on objects made up for every kind of the built-in set, and on mutants of
// them. Verdicts, paths, kinds of error, details and what the rules cost have to
// agree.
func TestJudgesAsTheServerDoes(t *testing.T) {
	rounds := 6
	if testing.Short() {
		rounds = 1
	}
	schemas := &Schemas{}
	require.NoError(t, fs.WalkDir(definitionFiles, "schemas/crds", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		definition := schemas.builtInDefinition(path.Base(path.Dir(file)), strings.TrimSuffix(path.Base(file), ".json"))
		for _, v := range definition.Versions {
			if v.Served {
				t.Run(definition.key()+"/"+v.Name, func(t *testing.T) { compareKind(t, v, rounds) })
			}
		}
		return nil
	}))
}

func compareKind(t *testing.T, v *definitionVersion, rounds int) {
	theirs, _ := serverFor(t, v.Schema.OpenAPIV3Schema)
	own, err := compileVersion(v, &rule.Compiler{})
	require.NoError(t, err)
	r := &maker{Rand: seeded(len(v.Schema.OpenAPIV3Schema))}
	for range rounds {
		r.left = 60
		o, ok := r.value(own.schema, 0).(map[string]any)
		require.True(t, ok)
		complete(o, own.schema)
		requireSame(t, theirs, own, o)
		for range 6 {
			mutant := runtime.DeepCopyJSON(o)
			for range 1 + r.IntN(3) {
				r.mutate(mutant)
			}
			requireSame(t, theirs, own, mutant)
			complete(mutant, own.schema)
			requireSame(t, theirs, own, mutant)
		}
	}
}

// maker makes values up. The same seed makes the same ones.
type maker struct {
	*rand.Rand
	left int // how many more values an object may have
}

func seeded(seed int) *rand.Rand { return rand.New(rand.NewPCG(1, uint64(seed))) }

// value is a value that fits s for the most part.
func (r *maker) value(s *structural.Structural, depth int) any {
	r.left--
	switch {
	case s.Default.Object != nil && r.IntN(4) == 0:
		return runtime.DeepCopyJSONValue(s.Default.Object)
	case s.ValueValidation != nil && len(s.ValueValidation.Enum) > 0 && r.IntN(10) > 0:
		return s.ValueValidation.Enum[r.IntN(len(s.ValueValidation.Enum))].Object
	case s.XIntOrString && r.IntN(2) == 0:
		return int64(r.IntN(100))
	case s.XIntOrString:
		return pick(r, "50%", "10", "http", "1Gi")
	}
	switch s.Type {
	case "object":
		return r.object(s, depth)
	case "array":
		l := []any{}
		for range r.IntN(3) {
			l = append(l, r.value(s.Items, depth+1))
		}
		return l
	case "string":
		return r.text(s)
	case "integer":
		return r.integer(s)
	case "number":
		return pick[any](r, 0.5, 2.0, int64(3), -1.25, float64(r.integer(s)))
	case "boolean":
		return r.IntN(2) == 0
	}
	return pick[any](r, "x", int64(1), map[string]any{"a": "b"}, []any{"c"})
}

func pick[T any](r *maker, choices ...T) T { return choices[r.IntN(len(choices))] }

func (r *maker) object(s *structural.Structural, depth int) map[string]any {
	o := map[string]any{}
	required := map[string]bool{}
	if s.ValueValidation != nil {
		for _, name := range s.ValueValidation.Required {
			required[name] = true
		}
		for _, choices := range [][]structural.NestedValueValidation{s.ValueValidation.OneOf, s.ValueValidation.AnyOf} {
			if len(choices) > 0 && r.IntN(5) > 0 {
				for _, name := range choices[r.IntN(len(choices))].Required {
					required[name] = true
				}
			}
		}
	}
	names := map[string]any{}
	for name := range s.Properties {
		names[name] = nil
	}
	order := sortedNames(names)
	r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, name := range order {
		p := s.Properties[name]
		if required[name] && depth < 12 || r.left > 0 && r.IntN(depth+2) == 0 {
			o[name] = r.value(&p, depth+1)
		}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil && r.left > 0 {
		for range r.IntN(3) {
			o[pick(r, "a", "b.c", "example.com/d", "e-f")] = r.value(s.AdditionalProperties.Structural, depth+1)
		}
	}
	return o
}

func (r *maker) integer(s *structural.Structural) int64 {
	i := int64(r.IntN(200)) - 20
	if v := s.ValueValidation; v != nil && v.Minimum != nil && v.Maximum != nil && r.IntN(5) > 0 {
		return int64(*v.Minimum) + r.Int64N(max(1, int64(*v.Maximum-*v.Minimum)))
	}
	return i
}

// words is texts that one pattern or another wants.
func words() []string {
	return []string{
		"", "a", "example", "example.com", "*.example.com", "https://example.com/a?b=c#d", "/path", "10s", "1h30m", "1d", "100", "0", "-1",
		"50%", "1Gi", "0.5", "RSA", "GET", "v1", "2026-01-02T03:04:05Z", "2026-01-02", "aGVsbG8=", "10.0.0.0/8", "10.0.0.1", "::1", "fe80::/10",
		"00:11:22:33:44:55", "TCP", "Service", "gateway.networking.k8s.io", "a_b", "A", "é☃", "exact", "namespace/name", "x-header", "sha256:0123",
		"name@example.com", "123e4567-e89b-42d3-a456-426614174000", "0 0 * * *", "a=b", "\"q\"", "self.x == 1", "true", "$.a", "ns/", "very-long-" + strings.Repeat("x", 70),
	}
}

func (r *maker) text(s *structural.Structural) string {
	v, all := s.ValueValidation, words()
	if v == nil || r.IntN(8) == 0 {
		return pick(r, all...)
	}
	pattern := regexp.MustCompile(v.Pattern)
	for range 40 {
		word := pick(r, all...)
		if pattern.MatchString(word) && (v.MinLength == nil || len(word) >= int(*v.MinLength)) && (v.MaxLength == nil || len(word) <= int(*v.MaxLength)) {
			return word
		}
	}
	return pick(r, all...)
}

// mutate changes one place in v.
func (r *maker) mutate(v any) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 || r.IntN(12) == 0 {
			v[pick(r, "unknown", "spec", "name", "type", "0")] = r.any()
			return
		}
		name := pick(r, sortedNames(v)...)
		if isMap(v[name]) && r.IntN(5) > 0 {
			r.mutate(v[name])
			return
		}
		if r.IntN(4) == 0 {
			delete(v, name)
		} else {
			v[name] = r.twist(v[name])
		}
	case []any:
		if len(v) == 0 {
			return
		}
		i := r.IntN(len(v))
		if isMap(v[i]) && r.IntN(5) > 0 {
			r.mutate(v[i])
			return
		}
		if r.IntN(3) == 0 {
			v[i] = runtime.DeepCopyJSONValue(v[r.IntN(len(v))])
		} else {
			v[i] = r.twist(v[i])
		}
	}
}

// twist is another value in the place of v.
func (r *maker) twist(v any) any {
	switch v := v.(type) {
	case string:
		return pick[any](r, "", v+v, strings.Repeat(v, 100), strings.ToUpper(v), " "+v, pick(r, words()...), r.any())
	case int64:
		return pick[any](r, v+1, -v, v*1_000_000_007, float64(v), float64(v)+0.5, int64(1)<<62, r.any())
	case float64:
		return pick[any](r, v*1e300, -v, v+0.25, int64(v), r.any())
	case bool:
		return pick[any](r, !v, r.any())
	case []any:
		return pick[any](r, []any{}, append(v, v...), append([]any{r.any()}, v...), r.any())
	}
	return r.any()
}

func (r *maker) any() any {
	return pick[any](r, nil, "text", "", int64(0), int64(7), 1.5, 2.0, true, []any{}, []any{"a", "a"}, []any{map[string]any{}}, map[string]any{}, map[string]any{"name": "x"})
}
