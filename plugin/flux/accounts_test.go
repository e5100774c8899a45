// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
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
