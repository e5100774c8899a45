// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/render/emit"
)

// warnings returns the warnings about manifests in a cluster with these objects.
func warnings(t *testing.T, in []any, manifests ...string) []string {
	t.Helper()
	var files []emit.File
	for _, text := range manifests {
		files = append(files, emit.File{Node: "a/b", Data: []byte(text)})
	}
	out, err := Warn(t.Context(), func(_ context.Context, namespace string) (b Bounds, err error) {
		for _, o := range in {
			switch o := o.(type) {
			case *corev1.ResourceQuota:
				if o.Namespace == namespace {
					b.Quotas = append(b.Quotas, *o)
				}
			case *corev1.LimitRange:
				b.Ranges = append(b.Ranges, *o)
			}
		}
		return b, nil
	}, files)
	require.NoError(t, err)
	return out.Over
}

// object decodes a manifest.
func object[T any](t *testing.T, text string) *T {
	t.Helper()
	out := new(T)
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), out))
	return out
}

const (
	web = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  template: {spec: {containers: [
    {name: app, resources: {requests: {cpu: 500m, memory: 1Gi}, limits: {memory: 2Gi}}},
    {name: side, resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {memory: 128Mi}}}]}}
`
	job = `apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: shop}
spec: {jobTemplate: {spec: {parallelism: 2, template: {spec: {containers: [{name: a, resources: {limits: {cpu: "1"}}}]}}}}}
`
)

func TestARenderThatAsksForMoreThanAQuotaIsWarnedOf(t *testing.T) {
	small := object[corev1.ResourceQuota](t, "metadata: {name: small, namespace: shop}\nspec: {hard: {requests.cpu: \"3\", pods: \"4\", limits.memory: 1Ti, services: \"1\"}}")
	scoped := object[corev1.ResourceQuota](t, "metadata: {name: scoped, namespace: shop}\nspec: {hard: {pods: \"1\"}, scopes: [Terminating]}")
	other := object[corev1.ResourceQuota](t, "metadata: {name: other, namespace: else}\nspec: {hard: {pods: \"1\"}}")
	all := []any{small, scoped, other}
	require.Empty(t, warnings(t, all, web), "three pods of 600m")

	// A limit is the request where there is none, and what a quota counts has to be said.
	require.Equal(t, []string{
		`CronJob shop/nightly: container "a" has no limits.memory, without which ResourceQuota shop/small refuses its pods`,
		"ResourceQuota shop/small allows 3 of requests.cpu, and the pods of this render ask for 3800m",
		"ResourceQuota shop/small allows 4 of pods, and the pods of this render ask for 5",
	}, warnings(t, all, web, job, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\ndata: {x: 'containers:'}\n"))

	// The short names are those of requests.
	short := object[corev1.ResourceQuota](t, "metadata: {name: short, namespace: shop}\nspec: {hard: {cpu: \"1\"}}")
	require.Equal(t, []string{"ResourceQuota shop/short allows 1 of cpu, and the pods of this render ask for 1800m"}, warnings(t, []any{short}, web))
}

func TestALimitRangeFillsInAndBounds(t *testing.T) {
	quota := object[corev1.ResourceQuota](t, "metadata: {name: q, namespace: shop}\nspec: {hard: {limits.memory: 1Ti, limits.cpu: \"100\"}}")
	require.Len(t, warnings(t, []any{quota}, web), 2)
	limits := object[corev1.LimitRange](t, `metadata: {name: r, namespace: shop}
spec: {limits: [{type: Container, default: {cpu: "1"}, max: {memory: 1Gi}, min: {cpu: 200m}}, {type: Pod, max: {cpu: 1m}}]}
`)
	require.Equal(t, []string{
		`Deployment shop/web: container "app" has the limit 2Gi of memory, and LimitRange shop/r allows 1Gi`,
		`Deployment shop/web: container "side" requests 100m of cpu, and LimitRange shop/r wants 200m at least`,
	}, warnings(t, []any{quota, limits}, web))
}

func TestWhatMakesPodsIsCounted(t *testing.T) {
	pods := "{containers: [{name: a}]}"
	for text, replicas := range map[string]int64{
		"apiVersion: v1\nkind: Pod\nspec: " + pods:                                                    1,
		"apiVersion: apps/v1\nkind: DaemonSet\nspec: {template: {spec: " + pods + "}}":                1,
		"apiVersion: apps/v1\nkind: StatefulSet\nspec: {replicas: 0, template: {spec: " + pods + "}}": 0,
		"apiVersion: batch/v1\nkind: Job\nspec: {parallelism: 4, template: {spec: " + pods + "}}":     4,
		"apiVersion: example.com/v1\nkind: Deployment\nspec: {template: {spec: " + pods + "}}":        -1,
		"kind: [": -1,
	} {
		w, ok := parse([]byte(text))
		require.Equal(t, replicas >= 0, ok, text)
		if ok {
			require.Equal(t, replicas, w.replicas, text)
			require.Len(t, w.spec.Containers, 1, text)
		}
	}
}

func TestQuotasThatMayNotBeReadAreNotKnown(t *testing.T) {
	files := []emit.File{{Node: "a/b", Data: []byte(web)}}
	out, err := Warn(t.Context(), func(context.Context, string) (Bounds, error) { return Bounds{Hidden: true}, nil }, files)
	require.NoError(t, err)
	require.Equal(t, Warnings{Hidden: []string{"shop"}}, out)
	_, err = Warn(t.Context(), func(context.Context, string) (Bounds, error) { return Bounds{}, errors.New("away") }, files)
	require.ErrorContains(t, err, "away")
}
