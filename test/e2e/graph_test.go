// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// graph is what ropewalk graph --format json prints, as far as tests read it. They
// have a reading of their own, so that what they prove does not rest on the types
// of the planner.
type graph struct {
	Waves int
	Nodes []struct {
		ID     string
		Object identity
		Wave   int
	}
	Edges []struct {
		From, To, Rule string
		Explicit       bool
	}
	Joins []struct {
		FromNodes, ToNodes []string
	}
}

// identity is what an object is, without its version.
type identity struct{ Group, Kind, Namespace, Name string }

func (i identity) String() string { return i.Kind + "/" + i.Name }

// graphOf draws the graph of a project for an engine.
func (c *Cluster) graphOf(t testing.TB, dir, dialect string, args ...string) (g graph) {
	t.Helper()
	out := c.Ropewalk(t, append([]string{"graph", dir, "--dialect", dialect, "--argocd-health", "--format", "json"}, args...)...)
	require.NoError(t, json.Unmarshal([]byte(out), &g))
	require.NotEmpty(t, g.Nodes)
	return g
}
