// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package validators

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestKnativeTakesServices(t *testing.T) {
	command := filepath.Join(t.TempDir(), "knative")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", command, ".")
	build.Dir, build.Stderr = "knative", os.Stderr
	require.NoError(t, build.Run())
	review := func(o *unstructured.Unstructured) string {
		text, err := o.MarshalJSON()
		require.NoError(t, err)
		c := exec.CommandContext(t.Context(), command)
		c.Stdin, c.Stderr = bytes.NewReader(text), os.Stderr
		out, err := c.Output()
		require.NoError(t, err)
		return string(out)
	}
	var found *unstructured.Unstructured
	for _, r := range Examples(t) {
		for _, o := range r.Of("serving.knative.dev", "Service") {
			require.Empty(t, review(o), "%s %s", r.Name, o.GetName())
			found = o
		}
	}
	require.NotNil(t, found)
	for _, c := range []struct {
		want  string
		value any
		field string
	}{
		{"expected 0 <= -1 <= 1000", int64(-1), "containerConcurrency"},
		{"expected 0 <= 6000 <= 600", int64(6000), "timeoutSeconds"},
		{"must not set the field(s): spec.template.spec.hostNetwork", true, "hostNetwork"},
	} {
		wrong := found.DeepCopy()
		require.NoError(t, unstructured.SetNestedField(wrong.Object, c.value, "spec", "template", "spec", c.field))
		require.Contains(t, review(wrong), c.want)
	}
}
