// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/check/finding"
)

// found are the findings of a check on a value of a field.
func found(check func(*finding.Value), raw any) []finding.Finding {
	r := &finding.Report{Root: map[string]any{"field": raw}}
	check(finding.NewValue(r).Field("field"))
	return r.Findings
}

func TestChecksOfSingleValues(t *testing.T) {
	for check, values := range map[string]struct{ good, bad []any }{
		"absolute":     {[]any{"", "/", "/a/../b", nil}, []any{"a", "./a"}},
		"cidr":         {[]any{"10.0.0.0/8", "fd00::/8"}, []any{"", "10.0.0.0", "10.0.0.0/33"}},
		"file":         {[]any{"", "a.b-c_D"}, []any{"..", "a/b", "a b"}},
		"filled":       {[]any{"a", nil}, []any{""}},
		"header":       {[]any{"", "X-Forwarded-For"}, []any{"a b", "a:"}},
		"host":         {[]any{"", "example.com", "*.example.com"}, []any{"10.0.0.1", "https://example.com", "*", "a.*.com", "Example.com"}},
		"inside":       {[]any{"a/b", "a..b", "/a"}, []any{"..", "a/../b"}},
		"ip":           {[]any{"", "10.0.0.1", "::1"}, []any{"10.0.0.256", "example.com"}},
		"label":        {[]any{"", "web-1"}, []any{"web.1", "-web", "Web"}},
		"label-value":  {[]any{"", "a_B.c-d"}, []any{"a b", "-a", "ä"}},
		"not-negative": {[]any{int64(0), "1Gi", nil}, []any{int64(-1), "-1Gi"}},
		"port":         {[]any{int64(1), int64(65535)}, []any{int64(0), int64(65536)}},
		"port-name":    {[]any{"", "http"}, []any{"80", "http--2", "HTTP", "a-name-of-16-char"}},
		"port-or-name": {[]any{int64(80), "http"}, []any{int64(0), "80", ""}},
		"positive":     {[]any{int64(1), "500m"}, []any{int64(0), "0"}},
		"relative":     {[]any{"a/b", ""}, []any{"/a", "../a"}},
		"segment":      {[]any{"", "a.b"}, []any{".", "..", "a/b", "a%b"}},
		"subdomain":    {[]any{"", "web.shop"}, []any{"Web", "web_1", "web."}},
		"sysctl":       {[]any{"net.core.somaxconn", "net/core/a-b"}, []any{"net.Core", "net core"}},
		"variable":     {[]any{"", "A_B", "a b"}, []any{"a=b"}},
		"labels":       {[]any{map[string]any{"app": "web", "example.com/app": ""}}, []any{map[string]any{"a b": "c"}, map[string]any{"a": "b c"}}},
		"distinct-names": {
			[]any{[]any{map[string]any{"name": "a"}, map[string]any{"name": "b"}, map[string]any{}, map[string]any{}}},
			[]any{[]any{map[string]any{"name": "a"}, map[string]any{"name": "a"}}},
		},
	} {
		t.Run(check, func(t *testing.T) {
			for _, v := range values.good {
				require.Empty(t, found(checkFor(check), v), "%v", v)
			}
			for _, v := range values.bad {
				require.Len(t, found(checkFor(check), v), 1, "%v", v)
			}
		})
	}
	require.Nil(t, checkFor("nothing"))
}

func TestFindingsOfValuesSayWhatToDo(t *testing.T) {
	for _, c := range []struct {
		check      string
		raw        any
		text, hint string
	}{
		{"port-or-name", "80", `expected a number or the name of a port, found "80"`, "write it without quotes"},
		{"port-name", "a-name-of-16-char", `expected at most 15 characters, found 17 in "a-name-of-16-char"`, ""},
		{"host", "https://example.com", "", "a host has no scheme and no path"},
		{"filled", "", "must not be empty", "leave it out for the default"},
		{"label-value", "0123456789012345678901234567890123456789012345678901234567890123", "", "put long texts into an annotation"},
	} {
		got := found(checkFor(c.check), c.raw)
		require.Len(t, got, 1, c.check)
		require.Contains(t, got[0].Message, c.text)
		require.Equal(t, c.hint, got[0].Hint, c.check)
		require.Equal(t, "field", got[0].Path.String())
	}
}

func TestNumbersAndShares(t *testing.T) {
	for raw, want := range map[any]struct{ zero, bad bool }{
		int64(0): {true, false}, int64(2): {}, int64(-1): {false, true},
		"0%": {true, false}, "25%": {}, "-1%": {false, true}, "2": {false, true}, "a%": {false, true},
	} {
		var zero bool
		bad := found(func(a *finding.Value) { zero = checkNumberOrPercent(a) }, raw)
		require.Equal(t, want.zero, zero, raw)
		require.Equal(t, want.bad, len(bad) > 0, raw)
	}
}

func TestOneOfSeveralMembers(t *testing.T) {
	for name, c := range map[string]struct {
		raw  map[string]any
		want string
		text string
	}{
		"one":    {map[string]any{"b": int64(1)}, "b", ""},
		"none":   {map[string]any{"c": int64(1)}, "", "needs one source: a or b"},
		"null":   {map[string]any{"a": nil}, "", "needs one source: a or b"},
		"of two": {map[string]any{"a": "x", "b": "y"}, "", "has more than one source: a, b"},
	} {
		var got string
		findings := found(func(a *finding.Value) { got = checkOneOf(a, "source", "a", "b") }, c.raw)
		require.Equal(t, c.want, got, name)
		if c.text != "" {
			require.Equal(t, c.text, findings[0].Message, name)
		}
	}
}
