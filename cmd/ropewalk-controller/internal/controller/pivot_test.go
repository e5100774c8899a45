// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/ropewalk/ropewalk/artifact"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux"
)

// inNamespace are flags as a Pod has them.
func inNamespace(t *testing.T, args ...string) *flags {
	t.Helper()
	f, set := newFlags(func(name string) string {
		return map[string]string{"RUNTIME_NAMESPACE": "ropewalk-system"}[name]
	})
	require.NoError(t, f.parse(set, args))
	return f
}

func TestTheFlagsOfAPivotReachItsReconciler(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agent.yaml")
	require.NoError(t, os.WriteFile(file, []byte("kind: Namespace"), 0o600))
	f := inNamespace(t, "--parts=transforms,pivot", "--cell-host=parent.test", "--cell-port=7443", "--cell-link-port=7444", "--child-manifest="+file,
		"--registration-addr=:1443", "--link-addr=:1444", "--pivot-hold=3m", "--argocd-namespaces=argocd,ci")
	opened := errors.New("opened")
	recorder := record.NewFakeRecorder(1)
	r := f.pivotReconciler(func(context.Context, *v1alpha1.Transform) (artifact.Store, error) { return nil, opened }, recorder)
	require.Equal(t, &v1alpha1.Cell{Host: "parent.test", Port: 7443, LinkPort: 7444}, r.Endpoints.Given)
	require.Equal(t, ":1443 :1444 ropewalk-system", r.Endpoints.Registration+" "+r.Endpoints.Link+" "+r.Endpoints.Namespace)
	require.Equal(t, 3*time.Minute, r.Hold)
	require.Equal(t, types.NamespacedName{Namespace: "ropewalk-system", Name: flux.Name}, r.Account)
	require.Equal(t, []string{"argocd", "ci"}, r.Delivery.Applications)
	_, err := r.Delivery.Open(t.Context(), nil)
	require.Equal(t, opened, err)
	text, err := r.ChildManifest()
	require.NoError(t, err)
	require.Equal(t, "kind: Namespace", string(text))
	require.Same(t, recorder, r.Events)

	r = inNamespace(t, "--parts=transforms,pivot").pivotReconciler(nil, nil)
	require.Nil(t, r.Endpoints.Given, "the PivotCluster of the cluster itself says it")
	require.Equal(t, ":8443 :8444", r.Endpoints.Registration+" "+r.Endpoints.Link)
	require.Equal(t, time.Minute, r.Hold)
}

func TestThePartsAreThoseOfTheFlag(t *testing.T) {
	for args, want := range map[string][3]bool{
		"":                               {true, false, false},
		"--parts=transforms":             {true, false, false},
		"--parts=agent":                  {false, false, true},
		"--parts=transforms,pivot":       {true, true, false},
		"--parts=transforms,pivot,agent": {true, true, true},
	} {
		all := []string{args}
		if args == "" {
			all = nil
		}
		p := inNamespace(t, all...).pivot
		require.Equal(t, want, [3]bool{p.has(partTransforms), p.has(partPivot), p.has(partAgent)}, args)
	}
}

// TestThePartsAreAddedToAManager: pivot asks the API server for the identity of the cluster.
func TestThePartsAreAddedToAManager(t *testing.T) {
	answer := `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"parent-uid"}}`
	status := http.StatusForbidden
	var paths []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(answer))
	}))
	defer server.Close()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	mapper := apimeta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion, v1alpha1.GroupVersion})
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), apimeta.RESTScopeRoot)
	mapper.Add(v1alpha1.GroupVersion.WithKind(v1alpha1.PivotClusterKind), apimeta.RESTScopeRoot)
	mapper.Add(v1alpha1.GroupVersion.WithKind(v1alpha1.TransformKind), apimeta.RESTScopeNamespace)
	mgr, err := ctrl.NewManager(&rest.Config{Host: server.URL}, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		MapperProvider: func(*rest.Config, *http.Client) (apimeta.RESTMapper, error) { return mapper, nil },
	})
	require.NoError(t, err)
	require.NoError(t, inNamespace(t).setupPivot(t.Context(), mgr, nil, nil))
	require.Empty(t, paths, "transforms need nothing of it")

	f := inNamespace(t, "--parts=transforms,pivot,agent")
	err = f.setupPivot(t.Context(), mgr, &flux.Reconciler{}, record.NewFakeRecorder(1))
	require.ErrorContains(t, err, "the identity of this cluster: ")
	status = http.StatusOK
	require.NoError(t, f.setupPivot(t.Context(), mgr, &flux.Reconciler{}, record.NewFakeRecorder(1)))
	require.Contains(t, paths, "/api/v1/namespaces/kube-system")
}
