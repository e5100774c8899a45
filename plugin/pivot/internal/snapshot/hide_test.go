// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestHideShowsNoValueOfAnObject(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{"name": "blue-ca", "annotations": map[string]any{"note": "hunter2-annotation"}},
		"data":     map[string]any{"key": base64.StdEncoding.EncodeToString([]byte("hunter2-data"))},
		"spec":     map[string]any{"files": []any{map[string]any{"content": "hunter2-file"}}},
	}}
	hidden := Hide(o, `denied: "hunter2-annotation", hunter2-data and hunter2-file in Secret blue-ca`)
	require.NotContains(t, hidden, "hunter2")
	require.Contains(t, hidden, "in Secret blue-ca")
}

func TestHideShowsNamesAndAddresses(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine",
		"metadata": map[string]any{"name": "blue-md-0", "annotations": map[string]any{"cluster.x-k8s.io/cloned-from-name": "blue-workers", "example.com/name": "hunter2-name"}},
		"spec": map[string]any{
			"clusterName": "blue-cluster", "providerID": "dev:///blue-md-0", "controlPlaneEndpoint": map[string]any{"host": "127.0.0.1"},
			"infrastructureRef": map[string]any{"name": "blue-workers"}, "users": []any{map[string]any{"name": "operator", "passwd": "hunter2-passwd"}},
		},
	}}
	message := `Post "https://127.0.0.1:9443/validate": blue-cluster, blue-workers, dev:///blue-md-0`
	require.Equal(t, message, Hide(o, message))
	require.NotContains(t, Hide(o, "hunter2-name hunter2-passwd"), "hunter2")
	secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "stringData": map[string]any{"host": "hunter2-host", "name": "hunter2-name"}}}
	require.NotContains(t, Hide(secret, "hunter2-host hunter2-name"), "hunter2")
}
