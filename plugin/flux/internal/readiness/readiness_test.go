// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"errors"
	"testing"

	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"
)

// object decodes a manifest.
func object(t *testing.T, text string) unstructured.Unstructured {
	t.Helper()
	var out map[string]any
	data, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	o := unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal(data, &out))
	require.NoError(t, o.UnmarshalJSON(data))
	return o
}

func TestObjectsAreJudgedAsFluxDoes(t *testing.T) {
	engines := []kustomize.CustomHealthCheck{{APIVersion: "example.com/v1", Kind: "Engine", HealthCheckExpressions: kustomize.HealthCheckExpressions{
		Current: "has(status.phase) && status.phase == 'Running'", Failed: "status.phase == 'Broken'",
	}}}
	for name, test := range map[string]struct {
		text string
		want Verdict
	}{
		"a ConfigMap":               {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}", Verdict{Ready: true}},
		"a Deployment without pods": {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: shop}\nspec: {replicas: 2}\nstatus: {replicas: 2, updatedReplicas: 2, readyReplicas: 1}", Verdict{Reason: "Available: 0/2"}},
		"a Job that failed":         {"apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, namespace: shop}\nstatus: {conditions: [{type: Failed, status: \"True\", reason: x}]}", Verdict{Failed: true, Reason: "Job Failed. failed: 0/1"}},
		"a rule that holds":         {"apiVersion: example.com/v1\nkind: Engine\nmetadata: {name: a, namespace: shop}\nstatus: {phase: Running}", Verdict{Ready: true}},
		"a rule that does not":      {"apiVersion: example.com/v1\nkind: Engine\nmetadata: {name: a, namespace: shop}\nstatus: {phase: Starting}", Verdict{Reason: "its readyWhen does not hold"}},
		"a rule of nothing yet":     {"apiVersion: example.com/v1\nkind: Engine\nmetadata: {name: a, namespace: shop}", Verdict{Reason: "its readyWhen cannot be evaluated yet: no such attribute(s): status.phase"}},
		"a rule of an earlier spec": {"apiVersion: example.com/v1\nkind: Engine\nmetadata: {name: a, namespace: shop, generation: 2}\nstatus: {phase: Running, observedGeneration: 1}", Verdict{Reason: "its status is of an earlier generation"}},
		"a rule of failure":         {"apiVersion: example.com/v1\nkind: Engine\nmetadata: {name: a, namespace: shop}\nstatus: {phase: Broken}", Verdict{Failed: true, Reason: "its readyWhen does not hold"}},
	} {
		t.Run(name, func(t *testing.T) {
			there := object(t, test.text)
			c := fake.NewClientBuilder().WithObjects(&there).Build()
			asked := unstructured.Unstructured{}
			asked.SetGroupVersionKind(there.GroupVersionKind())
			asked.SetNamespace("shop")
			asked.SetName("a")
			got, err := Judge(t.Context(), c, []unstructured.Unstructured{asked}, engines)
			require.NoError(t, err)
			require.Equal(t, []Verdict{test.want}, got)

			// What is gone is not ready.
			require.NoError(t, c.Delete(t.Context(), &there))
			got, err = Judge(t.Context(), c, []unstructured.Unstructured{asked}, engines)
			require.NoError(t, err)
			require.Equal(t, []Verdict{{Reason: "it does not exist"}}, got)
		})
	}
}

func TestWhatMayNotBeReadIsNotKnown(t *testing.T) {
	secret := object(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: shop}")
	refusal := error(apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "a", errors.New("no")))
	var asked client.Object
	c := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
			asked = o
			return refusal
		},
	}).Build()
	got, err := Judge(t.Context(), c, []unstructured.Unstructured{secret}, nil)
	require.NoError(t, err)
	require.Equal(t, []Verdict{{Reason: "not known: the account may not get it"}}, got)
	require.IsType(t, &metav1.PartialObjectMetadata{}, asked, "the values of a Secret are not read")
	refusal = errors.New("connection refused")
	_, err = Judge(t.Context(), c, []unstructured.Unstructured{secret}, nil)
	require.ErrorContains(t, err, "connection refused")
}
