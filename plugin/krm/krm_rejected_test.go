// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package krm_test

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/canary/rejected"
)

// TestTheFunctionShowsNoRejectedSecret runs the function over lists whose secrets are
// rejected, and looks for them in results and errors. Items stay as they were.
func TestTheFunctionShowsNoRejectedSecret(t *testing.T) {
	t.Parallel()
	l := rejected.NewLeaks()
	all := rejected.Cases(3, 0, rejected.Many(t))
	random := rand.New(rand.NewPCG(3, 2)) //nolint:gosec // not for secrecy
	for len(all) > 0 {
		size := min(len(all), 1+random.IntN(6))
		p := rejected.Join(all[:size]...)
		all = all[size:]
		texts := said(t, p)
		require.NotEmpty(t, texts["the error"], "%q", p.Names)
		for what, text := range texts {
			if found, ok := l.Find([]byte(text)); ok {
				t.Errorf("%q: %s: %s", p.Names, what, found)
			}
		}
	}
}

// TestTheFunctionShowsNoRejectedSecretHoweverShort runs each case twice, with two secrets.
func TestTheFunctionShowsNoRejectedSecretHoweverShort(t *testing.T) {
	t.Parallel()
	for i, twins := range rejected.Twins() {
		n := rejected.Many(t) / len(rejected.Twins())
		first, second := rejected.Short(3, i*n, n, twins[0]), rejected.Short(3, i*n, n, twins[1])
		for j := range first {
			if a, b := said(t, rejected.Join(first[j])), said(t, rejected.Join(second[j])); !maps.Equal(a, b) {
				t.Errorf("%q: %q is not %q", first[j].Name, a, b)
			}
		}
	}
}

// said is what is said of a project that is rejected.
func said(t *testing.T, p rejected.Project) map[string]string {
	t.Helper()
	f := function(t)
	for name, text := range p.Files { // Modules and values are beside the list.
		file := filepath.Join(f.Options.Dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	f.Options.Root, f.Options.Values, f.Options.Set, f.Options.Overrides, f.Options.Environment = f.Options.Dir, p.Values, p.Set, p.Overrides, "prod"
	var items []string
	for _, name := range slices.Sorted(maps.Keys(p.Files)) {
		if strings.Count(name, "/") == 1 {
			items = append(items, p.Files[name])
		}
	}
	config := strings.Replace(p.Files["ropewalk.yaml"], "{name: canaries}", "{name: canaries, annotations: {ropewalk.dev/runtime: "+rejected.Quoted(strings.Join(p.Runtime, "\n"))+"}}", 1)
	out, err := f.Run(t.Context(), strings.NewReader(list(config, items...)))
	_, results, _ := strings.Cut(string(out.List), "\nresults:\n")
	texts := map[string]string{"the error": "", "a result": results, "a warning": out.Warnings.Error()}
	if err != nil {
		texts["the error"] = err.Error()
	}
	for what := range texts {
		texts[what] = rejected.Same(strings.ReplaceAll(texts[what], f.Options.Dir, "DIR"))
	}
	return texts
}
