// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
)

// The names of objects are also those of rendered ones, which no definition has checked.
func TestNoNameChangesThePathOfARequest(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		http.NotFound(w, r)
	}))
	defer server.Close()
	mapper := apimeta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), apimeta.RESTScopeNamespace)
	c, err := newClient(&rest.Config{Host: server.URL}, server.Client(), mapper, Scheme())
	require.NoError(t, err)

	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	for _, into := range []client.Object{metadata, &corev1.Secret{}} {
		for _, key := range []client.ObjectKey{
			{Namespace: "apps", Name: "../../other/secrets/name"}, {Namespace: "apps", Name: ".."}, {Namespace: "../other", Name: "name"}, {Namespace: "apps", Name: "a%2fb"},
		} {
			p := diagnose(c.Get(t.Context(), key, into))
			require.Equal(t, stalled, p.kind)
			require.Equal(t, v1alpha1.InvalidReason, p.reason)
			require.ErrorContains(t, p.err, "is not the name of an object")
		}
		require.Zero(t, requests.Load())
		require.Error(t, c.Get(t.Context(), client.ObjectKey{Namespace: "apps", Name: "name"}, into))
		require.Equal(t, int32(1), requests.Swap(0))
	}
}

func TestOnlyWhatFluxAppliesAsAnAccountIsChecked(t *testing.T) {
	// The server allows nothing.
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		_, _ = io.Copy(w, r.Body)
	}))
	defer server.Close()
	mapper := apimeta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{"SelfSubjectRulesReview", "SelfSubjectAccessReview"} {
		mapper.Add(authorizationv1.SchemeGroupVersion.WithKind(kind), apimeta.RESTScopeRoot)
	}
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Service"), apimeta.RESTScopeNamespace)
	mapper.Add(kustomizev1.GroupVersion.WithKind("Kustomization"), apimeta.RESTScopeNamespace)
	mapper.Add(sourcev1.GroupVersion.WithKind("OCIRepository"), apimeta.RESTScopeNamespace)
	as, err := newClient(&rest.Config{Host: server.URL}, server.Client(), mapper, Scheme())
	require.NoError(t, err)
	layers := []delivery.Layer{{Name: "layer-00", Objects: []delivery.ObjectRef{{Version: "v1", Kind: "Service", Namespace: "shop", Name: "web"}}}}

	// All that it lacks is one error, which is tried again without an event.
	of := &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "web"}}
	of.Spec.ServiceAccountName = "deployer"
	of.Spec.Output = &v1alpha1.Output{OCI: &v1alpha1.OCIOutput{}}
	o := opener{accounts: &accounts{}}
	p := diagnose(o.checkRights(t.Context(), of, access{as: as}, layers))
	require.Equal(t, "system:serviceaccount:apps:deployer cannot apply what is rendered, so that nothing is published: grant it to\n"+
		"create, get, patch kustomizations.kustomize.toolkit.fluxcd.io in apps\ncreate, get, patch ocirepositories.source.toolkit.fluxcd.io in apps\n"+
		"create, get, patch services in shop", message(p.err))
	require.Equal(t, [4]any{stalled, v1alpha1.AccessDeniedReason, "True", "False"}, [4]any{p.kind, p.reason, p.validated, p.rendered})
	require.False(t, p.endsWithEvent())

	// Another engine, and another cluster, have rights of their own.
	requests.Store(0)
	for about, change := range map[string]func(*v1alpha1.Transform){
		"no account": func(t *v1alpha1.Transform) { t.Spec.ServiceAccountName = "" },
		"Argo CD":    func(t *v1alpha1.Transform) { t.Spec.Delivery = &v1alpha1.Delivery{Type: v1alpha1.EngineArgoCD} },
		"none":       func(t *v1alpha1.Transform) { t.Spec.Delivery = &v1alpha1.Delivery{Type: v1alpha1.EngineNone} },
		"elsewhere": func(t *v1alpha1.Transform) {
			t.Spec.Delivery = &v1alpha1.Delivery{Flux: &v1alpha1.FluxDelivery{KubeConfig: &meta.KubeConfigReference{}}}
		},
	} {
		t.Run(about, func(t *testing.T) {
			other := of.DeepCopy()
			change(other)
			require.NoError(t, o.checkRights(t.Context(), other, access{as: as}, layers))
			require.Zero(t, requests.Load())
		})
	}
}
