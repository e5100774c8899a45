// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/pivot"
)

func TestPlanNamesWhatIsLeft(t *testing.T) {
	blue := pivot.Ref{Group: "cluster.x-k8s.io", Kind: "Cluster", Namespace: "apps", Name: "blue"}
	p := pivot.Plan{Cluster: blue, Objects: 1, Levels: [][]pivot.Ref{{blue}}}
	require.NotContains(t, text(p), "not moved")
	for i := range leftLines {
		p.Left = append(p.Left, pivot.Ref{Group: "metal3.io", Kind: "BareMetalHost", Namespace: "apps", Name: fmt.Sprintf("host-%02d", i)})
	}
	got := text(p)
	require.Contains(t, got, "\nnot moved, as they belong to no Cluster; label what is needed clusterctl.cluster.x-k8s.io/move:\n"+
		"  BareMetalHost.metal3.io apps/host-00\n")
	require.Equal(t, leftLines, strings.Count(got, "BareMetalHost"))
	require.NotContains(t, got, "more")

	p.Notes = []string{"objects of kind Lease.coordination.k8s.io cannot be listed"}
	require.Contains(t, text(p), "\nnote: objects of kind Lease.coordination.k8s.io cannot be listed\n")
	p.Notes = nil

	p.Left = append(p.Left, pivot.Ref{Group: "metal3.io", Kind: "BareMetalHost", Namespace: "apps", Name: "host-20"},
		pivot.Ref{Group: "metal3.io", Kind: "BareMetalHost", Namespace: "apps", Name: "host-21"})
	got = text(p)
	require.Contains(t, got, "  BareMetalHost.metal3.io apps/host-19\n  and 2 more\n\nnothing stands in the way\n")
	require.Equal(t, leftLines, strings.Count(got, "BareMetalHost"))
}
