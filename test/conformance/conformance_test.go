// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// request is what every way is asked for.
type request struct {
	// dir is the folder of a project, below the examples.
	dir string
	// environment is "" for none.
	environment string
	dialect     string
}

// requests are the cases: every example that renders, as its users would.
func requests() []request {
	var out []request
	for _, dialect := range []string{"plain", "argocd", "flux"} {
		for _, r := range []request{
			{dir: "shop"},
			{dir: "environments", environment: "staging"}, {dir: "environments", environment: "prod"},
			{dir: "workloads"}, {dir: "workloads", environment: "dev"}, {dir: "workloads", environment: "prod"},
		} {
			r.dialect = dialect
			out = append(out, r)
		}
	}
	return out
}

// TestEveryWayGivesTheSameObjects renders each case in every way.
func TestEveryWayGivesTheSameObjects(t *testing.T) {
	command := install(t)
	examples, err := filepath.Abs("../../cue/examples")
	require.NoError(t, err)
	for _, r := range requests() {
		t.Run(r.dir+"/"+r.environment+"/"+r.dialect, func(t *testing.T) {
			r.dir = filepath.Join(examples, r.dir)
			var want []string
			for _, way := range ways() {
				if way.lacks != nil && way.lacks(r) != "" {
					t.Logf("%s is left out: %s", way.name, way.lacks(r))
					continue
				}
				got := way.render(t, command, r)
				require.NotEmpty(t, got, way.name)
				if want == nil {
					want = got
				}
				require.Equal(t, want, got, way.name)
			}
		})
	}
}
