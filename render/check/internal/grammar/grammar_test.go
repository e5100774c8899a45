// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package grammar_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ropewalk/ropewalk/render/check/internal/grammar"
)

// pairs is each form and the original of it.
func pairs() map[string][2]func(string) []string {
	return map[string][2]func(string) []string{
		"Subdomain":    {grammar.Subdomain, validation.IsDNS1123Subdomain},
		"Label":        {grammar.Label, validation.IsDNS1123Label},
		"HostLabel":    {grammar.HostLabel, validation.IsDNS1035Label},
		"Wildcard":     {grammar.Wildcard, validation.IsWildcardDNS1123Subdomain},
		"LabelKey":     {grammar.LabelKey, validation.IsQualifiedName},
		"LabelValue":   {grammar.LabelValue, validation.IsValidLabelValue},
		"PortName":     {grammar.PortName, validation.IsValidPortName},
		"HeaderName":   {grammar.HeaderName, validation.IsHTTPHeaderName},
		"VariableName": {grammar.VariableName, validation.IsRelaxedEnvVarName},
		"ConfigKey":    {grammar.ConfigKey, validation.IsConfigMapKey},
	}
}

func requireSame(t *testing.T, text string) {
	for name, pair := range pairs() {
		require.Equal(t, strings.Join(pair[1](text), "\n"), strings.Join(pair[0](text), "\n"), "%s of %q", name, text)
	}
}

func TestSaysWhatKubernetesSays(t *testing.T) {
	for _, text := range []string{
		"", "a", "A", "0", "-", "--", ".", "..", "...", "..a", "a.", ".a", "a..b", "a-", "-a", "a_b", "_", "a/b", "/", "/a", "a/", "a/b/c", "A/b", "*.a", "*.", "*", "*.*.a",
		"a\n", "a\n.b", "\x00", "é", "\xff", "a=b", "a b", "~", "\x7f", "\t", "80", "8-0", "x--y", strings.Repeat("a", 15), strings.Repeat("a", 16),
		strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("-", 64), strings.Repeat("a.", 126) + "b", strings.Repeat("a.", 127) + "b",
		strings.Repeat("a", 254) + "/b", strings.Repeat("A", 254) + "/" + strings.Repeat("b", 64), "*." + strings.Repeat("a", 252),
	} {
		requireSame(t, text)
	}
	r := rand.New(rand.NewPCG(1, 2))
	const bytes = "aaazZ09-._/*= \n~\xc3\xa9\x80"
	for range 5000 {
		text := make([]byte, r.IntN(6))
		for i := range text {
			text[i] = bytes[r.IntN(len(bytes))]
		}
		requireSame(t, string(text))
	}
}

func FuzzForms(f *testing.F) {
	for _, seed := range []string{"", "a.b-c", "example.com/Name", "*.a", "X_1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { requireSame(t, text) })
}
