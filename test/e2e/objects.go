// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// owner is the field manager of what tests apply.
const owner = client.FieldOwner("e2e")

// Apply applies manifests as an administrator, on the side of the server, in the
// order in which they are.
func (c *Cluster) Apply(t testing.TB, manifests string) {
	t.Helper()
	for _, object := range decode(t, []byte(manifests)) {
		c.apply(t, object)
	}
}

func (c *Cluster) apply(t testing.TB, object *unstructured.Unstructured) {
	t.Helper()
	err := c.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), owner, client.ForceOwnership)
	require.NoError(t, err, "%s %s/%s", object.GetKind(), object.GetNamespace(), object.GetName())
}

// applyFile applies those objects of a file that change does not take away, after
// it has changed them.
func (c *Cluster) applyFile(file string, change func(*unstructured.Unstructured) (keep bool)) {
	data, err := os.ReadFile(file) //nolint:gosec // a file of a module
	require.NoError(c.run, err)
	for _, object := range decode(c.run, data) {
		if change == nil || change(object) {
			c.apply(c.run, object)
		}
	}
}

// decode reads YAML documents; those that hold nothing are left out.
func decode(t testing.TB, data []byte) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for from := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		object := &unstructured.Unstructured{}
		err := from.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		if len(object.Object) > 0 {
			out = append(out, object)
		}
	}
}

// Await waits until is says so. The test fails after a time, with what was waited
// for.
func (c *Cluster) Await(t testing.TB, within time.Duration, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !is(); time.Sleep(25 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "not within %s: %s", within, what)
	}
}

// conditioned is an object that has conditions, as those of Flux.
type conditioned interface {
	client.Object
	GetConditions() []metav1.Condition
}

// AwaitReady reads an object of Flux by its name and namespace until its condition
// Ready is true for its generation.
func (c *Cluster) AwaitReady(t testing.TB, within time.Duration, object conditioned) {
	t.Helper()
	var last *metav1.Condition
	for deadline := time.Now().Add(within); ; time.Sleep(25 * time.Millisecond) {
		require.NoError(t, c.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object))
		last = meta.FindStatusCondition(object.GetConditions(), "Ready")
		if last != nil && last.Status == metav1.ConditionTrue && last.ObservedGeneration == object.GetGeneration() {
			return
		}
		require.True(t, time.Now().Before(deadline), "%T %s is not ready within %s: %+v", object, object.GetName(), within, last)
	}
}
