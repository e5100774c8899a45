// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/cluster"
)

func TestATreeIsDrawn(t *testing.T) {
	node := func(kind, name, ready string, below ...*cluster.Node) *cluster.Node {
		return &cluster.Node{Ref: cluster.Ref{Kind: kind, Namespace: "apps", Name: name}, Ready: ready, Nodes: below}
	}
	stuck := node("Kustomization", "shop-2", "False")
	stuck.Message, stuck.Revision, stuck.Suspended = "it\nfails", "v2", true
	source := node("GitRepository", "shop", "True")
	source.Revision = "main@sha1:0123456789abcdef0123456789abcdef01234567"
	var out strings.Builder
	draw(&out, node("Transform", "shop", "True", source, node("Kustomization", "shop-1", "", node("Deployment", "web", "Missing")), stuck), "", "")
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	require.Len(t, lines, 5, "a message of two lines stays in one")
	require.Regexp(t, `^Transform.*shop  Ready$`, lines[0])
	require.Regexp(t, `^├─ GitRepository.*shop  Ready  main@sha1:0123456789ab$`, lines[1])
	require.Regexp(t, `^├─ Kustomization.*shop-1$`, lines[2])
	require.Regexp(t, `^│  └─ Deployment.*web  Missing$`, lines[3])
	require.Regexp(t, `^└─ Kustomization.*shop-2  not Ready, suspended  it.*fails$`, lines[4])
}

func TestTransformsAreRows(t *testing.T) {
	list := []*cluster.Transform{{Namespace: "apps", Name: "shop", Ready: "True", Layers: "2/2", Message: "good"}}
	require.Regexp(t, `^NAMESPACE +NAME .*\napps +shop +True +false +2/2 .*good\n$`, table(list, true))
	require.Regexp(t, `^NAME +READY .*\nshop +True +false +2/2 .*good\n$`, table(list, false))
}
