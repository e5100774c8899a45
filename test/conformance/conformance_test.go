// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/conformance/cases"
)

// request is a case, with what the ways of this package make of one.
type request struct{ cases.Case }

// requests are those of all cases.
func requests() []request {
	var out []request
	for _, c := range cases.All() {
		out = append(out, request{c})
	}
	return out
}

// prepare writes the files of requests to disk, locks what needs a lock (the modules
// that are part of the command too), and starts the plugin of Argo CD.
func prepare(t *testing.T) bench {
	t.Helper()
	b := bench{command: install(t), repositories: repositories(t)}
	for _, c := range cases.Locked() {
		run(t, b.folder(request{c}), "", b.command, "lock", "--cache-dir", t.TempDir())
	}
	b.socket = b.serve(t)
	return b
}

func repositories(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range []string{cases.Examples, cases.Projects, cases.Mistakes} {
		// As argocd-cmp-server names it, so that the stock way works in it.
		dir := filepath.Join(t.TempDir(), "_cmp_server", name)
		require.NoError(t, os.MkdirAll(filepath.Join(dir, ".git"), 0o755))
		require.NoError(t, cases.Write("../..", name, dir))
		out[name] = dir
	}
	return out
}

// TestEveryWayGivesTheSameObjects renders each case in every way.
func TestEveryWayGivesTheSameObjects(t *testing.T) {
	b := prepare(t)
	all := ways()
	table := [][]string{{"case"}}
	for _, way := range all {
		table[0] = append(table[0], way.name)
	}
	for _, r := range requests() {
		row := []string{r.Name()}
		t.Run(r.Name(), func(t *testing.T) {
			var want []string
			for _, way := range all {
				if why := way.missing(r); why != "" {
					row = append(row, "-")
					t.Logf("%s is left out: %s", way.name, why)
					continue
				}
				got := way.render(t, b, r)
				require.NotEmpty(t, got, way.name)
				if want == nil {
					want = got
				}
				require.Equal(t, want, got, way.name)
				row = append(row, fmt.Sprintf("%d same", len(got)))
			}
		})
		table = append(table, row)
	}
	t.Logf("objects of each case in each way, in their order (-: the way cannot do that):\n%s", columns(table))
}

// columns is a table as text.
func columns(table [][]string) string {
	widths := map[int]int{}
	for _, row := range table {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	var b strings.Builder
	for _, row := range table {
		for i, cell := range row {
			fmt.Fprintf(&b, "%-*s  ", widths[i], cell)
		}
		b.WriteString("\n")
	}
	return b.String()
}
