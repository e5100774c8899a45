// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
)

// named is a Transform that depends on others.
func named(name string, on ...string) *v1alpha1.Transform {
	t := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Generation: 1}}
	for _, other := range on {
		t.Spec.DependsOn = append(t.Spec.DependsOn, v1alpha1.TransformName(other))
	}
	return t
}

// settled is a Transform with a condition Ready of its present spec.
func settled(name string, status metav1.ConditionStatus, reason string) *v1alpha1.Transform {
	t := named(name)
	t.Status.ObservedGeneration = 1
	conditions.Set(t, &metav1.Condition{Type: meta.ReadyCondition, Status: status, Reason: reason, ObservedGeneration: 1})
	return t
}

func TestATransformWaitsForThoseThatItDependsOn(t *testing.T) {
	ready := settled("ready", metav1.ConditionTrue, v1alpha1.SucceededReason)
	changed := settled("changed", metav1.ConditionTrue, v1alpha1.SucceededReason)
	changed.Generation = 2
	handing := settled("handing", metav1.ConditionUnknown, v1alpha1.HandingOverReason)
	failed := settled("failed", metav1.ConditionFalse, v1alpha1.InvalidReason)
	reader := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(ready, changed, handing, failed).Build()
	others := fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(
		settled("elsewhere", metav1.ConditionTrue, v1alpha1.SucceededReason), settled("failed-elsewhere", metav1.ConditionFalse, v1alpha1.InvalidReason)).Build()
	r := resolver{reader: reader, direct: others, claims: delivery.NewClaims(delivery.ClaimOptions{})}
	for name, c := range map[string]struct {
		on   []string
		kind kind
		text string
	}{
		"on nothing":                          {nil, 0, ""},
		"on one that is Ready":                {[]string{"ready"}, 0, ""},
		"on one that hands its objects on":    {[]string{"ready", "handing"}, 0, ""},
		"on one that failed":                  {[]string{"ready", "failed"}, waiting, `Transform "failed" is not Ready`},
		"on one that is Ready at an old spec": {[]string{"changed"}, waiting, `Transform "changed" is not Ready`},
		"on one that is not there":            {[]string{"gone"}, waiting, `Transform "gone" does not exist`},
		"on itself":                           {[]string{"web"}, stalled, "depends on itself"},
		"on one of another shard":             {[]string{"ready", "elsewhere"}, 0, ""},
		"on one that failed in another shard": {[]string{"failed-elsewhere"}, waiting, `Transform "failed-elsewhere" is not Ready`},
	} {
		t.Run(name, func(t *testing.T) {
			err := r.checkDependencies(t.Context(), named("web", c.on...))
			if c.text == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.text)
			require.Equal(t, c.kind, diagnose(err).kind)
			isElsewhere := strings.Contains(c.text, "elsewhere") || strings.Contains(c.text, "does not exist")
			require.Equal(t, !isElsewhere, diagnose(err).endsWithEvent(), "no event tells of another shard")
		})
	}
}

func TestADependencyLeadsToAnotherOneOverOthers(t *testing.T) {
	var all []client.Object
	for _, one := range []*v1alpha1.Transform{named("a", "b"), named("b", "c", "a"), named("c", "gone")} {
		all = append(all, one)
	}
	r := resolver{reader: fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(all...).Build()}
	require.True(t, r.leadsTo(t.Context(), named("a"), map[string]bool{"a": true}))
	require.True(t, r.leadsTo(t.Context(), named("a"), map[string]bool{"c": true}))
	require.False(t, r.leadsTo(t.Context(), named("a"), map[string]bool{"d": true}), "a cycle ends")
	require.False(t, r.leadsTo(t.Context(), named("a"), nil))
}
