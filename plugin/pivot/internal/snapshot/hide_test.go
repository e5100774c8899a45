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
