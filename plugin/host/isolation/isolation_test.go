// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package isolation

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

func TestEachPartIsMadeByChoice(t *testing.T) {
	quota := func(cpu, memory, pods string) (out spec.Isolation) {
		out.Quota.CPU, out.Quota.Memory, out.Quota.Pods = cpu, memory, pods
		return out
	}
	for name, tt := range map[string]struct {
		of   spec.Isolation
		want []string
	}{
		"nothing":                              {spec.Isolation{}, nil},
		"a namespace":                          {spec.Isolation{Namespace: true, PodSecurity: "baseline"}, []string{"Namespace shop"}},
		"a quota of pods needs no requests":    {quota("", "", "5"), []string{"ResourceQuota shop/quota"}},
		"a quota of CPU needs requests":        {quota("2", "", ""), []string{"ResourceQuota shop/quota", "LimitRange shop/default-requests"}},
		"what no policy allows":                {spec.Isolation{DefaultDeny: true}, []string{"NetworkPolicy.networking.k8s.io shop/default-deny"}},
		"a quota of memory needs requests too": {quota("", "1Gi", "5"), []string{"ResourceQuota shop/quota", "LimitRange shop/default-requests"}},
	} {
		t.Run(name, func(t *testing.T) {
			var refs []string
			for _, o := range objectsOf(tt.of, "shop") {
				refs = append(refs, o.Ref().String())
			}
			require.Equal(t, tt.want, refs)
			_, made := Spec(tt.of, "shop")
			require.Equal(t, tt.want != nil, made)
		})
	}
}

func TestALimitRangeHasWhatTheQuotaCounts(t *testing.T) {
	i := spec.Isolation{}
	i.Quota.Memory = "1Gi"
	objects := objectsOf(i, "shop")
	require.Equal(t, map[string]any{"requests.memory": "1Gi"}, objects[0].Map("spec", "hard"))
	limits := objects[1].List("spec", "limits")
	require.Equal(t, map[string]any{"memory": "128Mi"}, limits[0].(map[string]any)["defaultRequest"])
}

func TestAllObjectsAreAtTheLineOfTheIsolation(t *testing.T) {
	pos := object.Pos{File: "ropewalk.yaml", Line: 7, Column: 3}
	made, ok := Spec(spec.Isolation{Pos: pos, Namespace: true}, "shop")
	require.True(t, ok)
	require.Equal(t, pos, made.CueRef.RefPos)
	require.True(t, made.CueRef.Generated)
	require.JSONEq(t, `{"namespace": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}}`, made.CueRef.Ref)
}
