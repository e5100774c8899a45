// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

const pivotCluster = `apiVersion: ropewalk.dev/v1alpha1
kind: PivotCluster
metadata: {name: shed}
spec:
  workers: [{name: a}]
`

func TestTheSpecOfAPivotClusterIsTheInputOfItsModule(t *testing.T) {
	docs, errs := parse(t, pivotCluster)
	require.Empty(t, errs)
	require.Len(t, docs.Transforms, 1)
	one := docs.Transforms[0]
	require.Equal(t, "shed", one.Name)
	require.Equal(t, "rw-shed", one.Namespace)
	require.Equal(t, spec.RefEmbedded, one.CueRef.Type)
	require.Equal(t, "cluster", one.CueRef.Ref)
	require.False(t, one.InputUnsure)
	require.Equal(t, object.Fields("spec"), one.InputPath())
	require.Equal(t, object.Fields("spec", "clusterModule"), one.RefPath())
	require.Equal(t, "workers", one.Input.Members[0].Name)
	require.Equal(t, object.Pos{File: "a.yaml", Line: 5, Column: 3}, one.Input.Members[0].Pos)
}

func TestAPivotClusterNamesAnotherModule(t *testing.T) {
	docs, errs := parse(t, pivotCluster+"  clusterModule: {type: path, ref: ./modules/cluster}\n")
	require.Empty(t, errs)
	require.Equal(t, spec.RefPath, docs.Transforms[0].CueRef.Type)
	require.Equal(t, "./modules/cluster", docs.Transforms[0].CueRef.Ref)
	require.Len(t, docs.Transforms[0].Input.Members, 2, "the module sees the whole spec")
}

func TestMistakesInAPivotCluster(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
		// unsure: what its module says of the input would repeat the mistake.
		unsure bool
	}{
		"a namespace": {
			strings.Replace(pivotCluster, "shed}", "shed, namespace: other}", 1),
			`a.yaml:3:35: spec: metadata.namespace: a PivotCluster has no namespace (remove it: its objects are in the namespace rw-shed)`, false,
		},
		"a name that is too long": {
			strings.Replace(pivotCluster, "shed", strings.Repeat("a", 41), 1),
			`a.yaml:3:18: spec: metadata.name: "` + strings.Repeat("a", 41) + `" has 41 characters, more than 40: it is a prefix of the names of machines`, true,
		},
		"a name that begins with a digit": {
			strings.Replace(pivotCluster, "shed", "9a", 1),
			`a.yaml:3:18: spec: metadata.name: "9a" must begin with a letter: it is a prefix of the names of machines`, true,
		},
		"a field of the module that is none of users": {
			pivotCluster + "  self: true\n",
			`a.yaml:6:9: spec: spec.self: unknown field "self" (remove it: the controller of the cluster itself sets it)`, false,
		},
		"two pools of one name": {
			strings.Replace(pivotCluster, "{name: a}", "{name: a}, {name: b}, {name: a}", 1),
			`a.yaml:5:42: spec: spec.workers[2].name: "a" is written twice (choose another name)`, true,
		},
		"two ranges of addresses of one name": {
			pivotCluster + "  networking: {loadBalancerPools: [{name: x}, {name: x}]}\n",
			`a.yaml:6:54: spec: spec.networking.loadBalancerPools[1].name: "x" is written twice (choose another name)`, true,
		},
		"a module of an unknown type": {
			pivotCluster + "  clusterModule: {type: embeddd, ref: cluster}\n",
			`a.yaml:6:25: spec: spec.clusterModule.type: "embeddd" is not known: expected path, embedded, inline, configmap, git, oci, source (did you mean "embedded"?)`, false,
		},
		"a field beside spec": {
			pivotCluster + "workers: []\n", `a.yaml:6:1: spec: workers: unknown field "workers" (known: apiVersion, kind, metadata, spec, status)`, true,
		},
		"no spec": {
			strings.SplitN(pivotCluster, "spec:", 2)[0], `a.yaml:1:1: spec: spec: is missing`, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			docs, errs := parse(t, c.text)
			require.Equal(t, []string{c.want}, errs)
			require.Equal(t, c.unsure, docs.Transforms[0].InputUnsure)
		})
	}
}
