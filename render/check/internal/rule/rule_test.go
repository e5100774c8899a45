// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rule

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Values, errors and costs are compared with those of the server in
// render/check. Here is what that comparison does not see.

func TestNamesAndIdentifiers(t *testing.T) {
	for name, want := range map[string]string{
		"a": "a", "a.b-c/d": "a__dot__b__dash__c__slash__d", "namespace": "__namespace__", "a__b": "a__underscores__b", "___": "__underscores___",
		"__dot__": "__underscores__dot__underscores__", "_a1": "_a1", "int": "int", "-": "__dash__", "__": "__underscores__",
	} {
		got, ok := escape(name)
		require.True(t, ok, name)
		require.Equal(t, want, got)
		back, ok := unescape(got)
		require.True(t, ok, got)
		require.Equal(t, name, back)
	}
	for _, name := range []string{"", "1a", "é", "a b", "a\x00", "$"} {
		_, ok := escape(name)
		require.False(t, ok, name)
	}
	for identifier, want := range map[string]string{"___dot__": "_.", "a__": "a__", "__a": "__a", "plain": "plain", "__in__": "in"} {
		got, ok := unescape(identifier)
		require.True(t, ok, identifier)
		require.Equal(t, want, got)
	}
	for _, identifier := range []string{"__nothing__", "a__in__", "__in__b"} {
		_, ok := unescape(identifier)
		require.False(t, ok, identifier)
	}
}

func FuzzNames(f *testing.F) {
	for _, seed := range []string{"a.b", "__", "in", "___x___", "é", "a__dot__b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if identifier, ok := escape(name); ok {
			back, ok := unescape(identifier)
			require.True(t, ok)
			require.Equal(t, name, back)
		}
		unescape(name)
	})
}

// schema is a schema of texts with rules.
func schema(rules ...string) *structural.Structural {
	s := &structural.Structural{Generic: structural.Generic{Type: "object"}, Properties: map[string]structural.Structural{
		"a": {Generic: structural.Generic{Type: "string"}},
		"m": {Generic: structural.Generic{Type: "object"}, AdditionalProperties: &structural.StructuralOrBool{Structural: &structural.Structural{Generic: structural.Generic{Type: "integer"}}}},
	}}
	for _, r := range rules {
		s.XValidations = append(s.XValidations, apiextensions.ValidationRule{Rule: r})
	}
	return s
}

func TestMapsAreIteratedInOrder(t *testing.T) {
	s := schema("self.m.map(k, k).join('') == 'abcdefgh'", "self.m.transformList(k, v, k).join() == 'abcdefgh'")
	v := map[string]any{"m": map[string]any{}}
	for i, c := range "hgfedcba" {
		v["m"].(map[string]any)[string(c)] = int64(i)
	}
	errs, _ := (&Compiler{}).Rules(s, false).Judge(t.Context(), nil, v, Budget)
	require.Empty(t, errs)
}

func TestOneCompilerServesManyAtOnce(t *testing.T) {
	c := &Compiler{}
	rules := c.Rules(schema("self.a.size() < 3", "has(self.m) && self.m.all(k, self.m[k] > 0)", "self.a.matches('^[a-z]+$')"), true)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 20 {
				errs, _ := rules.Judge(t.Context(), field.NewPath("spec"), map[string]any{"a": "abc", "m": map[string]any{"x": int64(0)}}, Budget)
				other, _ := c.Rules(schema("self.a == 'x'"), false).Judge(t.Context(), nil, map[string]any{"a": fmt.Sprint(i)}, Budget)
				if len(errs) != 2 || len(other) != 1 {
					t.Error(errs, other)
				}
			}
		})
	}
	wg.Wait()
}

func TestWithoutABudgetNothingRuns(t *testing.T) {
	errs, left := (&Compiler{}).Rules(schema("true"), false).Judge(t.Context(), nil, map[string]any{}, 0)
	require.Len(t, errs, 1)
	require.Negative(t, left)
}

// FuzzRules compiles and runs expressions of any form: they must end, without a
// panic, and give the same twice.
func FuzzRules(f *testing.F) {
	for _, seed := range []string{
		"self.a == 'x'", "self.m.all(k, v, v > 0)", "self.a.find('[')", "ip(self.a).family() == 4", "quantity(self.a) == quantity('1')", "semver(self.a, true).major() > 0",
		"format.named(self.a).hasValue()", "oldSelf.a", "((((", "lists.range(1000000).size() > 0", "@self{}", "self.a + self.a", "type(self)", "cidr(self.a).masked()", "url(self.a).getQuery()['x'][0] == ''",
	} {
		f.Add(seed, "10.0.0.1/8")
	}
	c := &Compiler{}
	f.Fuzz(func(t *testing.T, expression, text string) {
		if len(expression) > 200 {
			return
		}
		v := map[string]any{"a": text, "m": map[string]any{text: int64(len(text))}}
		rules := c.Rules(schema(expression), true)
		errs, left := rules.Judge(t.Context(), nil, v, Budget)
		again, leftAgain := rules.Judge(t.Context(), nil, v, Budget)
		require.Equal(t, errs, again)
		require.Equal(t, left, leftAgain)
		rules.Problems(nil)
	})
}

// BenchmarkJudge runs warm rules on values with 10, 100 and 1,000 members, and
// compiles a rule.
func BenchmarkJudge(b *testing.B) {
	c := &Compiler{}
	for _, n := range []int{10, 100, 1000} {
		m := map[string]any{}
		for i := range n {
			m[fmt.Sprint("k", i)] = int64(1)
		}
		rules := c.Rules(schema("has(self.m) && self.m.all(k, self.m[k] > 0)"), false)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rules.Judge(b.Context(), nil, map[string]any{"m": m}, Budget)
			}
		})
	}
	b.Run("compile", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.Rules(schema("has(self.m) && self.m.all(k, self.m[k] > 0)"), false).Judge(b.Context(), nil, map[string]any{"a": ""}, Budget)
		}
	})
	b.Run("set up", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			(&Compiler{}).Rules(schema("true"), false).Judge(b.Context(), nil, map[string]any{"a": ""}, Budget)
		}
	})
}
