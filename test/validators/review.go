// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package validators

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	admission "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Review asks a webhook whether an object may be created, as the API server does. The
// message is empty where it may.
func Review(t testing.TB, c *http.Client, url string, o *unstructured.Unstructured) (message string) {
	t.Helper()
	raw, err := o.MarshalJSON()
	require.NoError(t, err)
	kind := o.GroupVersionKind()
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	dryRun := false
	body, err := json.Marshal(admission.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admission.AdmissionRequest{
			UID:       types.UID("1"),
			Kind:      metav1.GroupVersionKind(kind),
			Resource:  metav1.GroupVersionResource(plural),
			Name:      o.GetName(),
			Namespace: o.GetNamespace(),
			Operation: admission.Create,
			Object:    runtime.RawExtension{Raw: raw},
			DryRun:    &dryRun,
		},
	})
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := c.Do(request) //nolint:gosec // a webhook on the loopback
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	require.Equal(t, http.StatusOK, response.StatusCode)
	var answer admission.AdmissionReview
	require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
	require.NotNil(t, answer.Response)
	if answer.Response.Allowed {
		require.Empty(t, answer.Response.Warnings, o.GetName())
		return ""
	}
	require.NotEmpty(t, answer.Response.Result.Message)
	return answer.Response.Result.Message
}
