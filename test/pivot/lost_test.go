// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ropewalk/ropewalk/test/pivot/harness"
)

// TestTheNamespaceOfTheSourceIsDeletedAfterTheCommit: the receipt outlives what else is in it,
// and the next run goes on.
func TestTheNamespaceOfTheSourceIsDeletedAfterTheCommit(t *testing.T) {
	r := newRig(t, ropewalk)
	m := r.begin()
	m.stop(t, committed)
	namespaces := kubernetesOf(t, m.from).CoreV1().Namespaces()
	require.NoError(t, namespaces.Delete(t.Context(), r.cluster.Namespace, metav1.DeleteOptions{}))
	harness.Await(t, time.Minute, "Kubernetes deletes what has no finalizer", func() bool {
		return len(own(m.from.Objects(t, r.cluster.Namespace))) < len(m.auditor.Set())/2
	})
	said, err := m.run(t)
	require.NoError(t, err, "%s", said)
	require.Empty(t, m.settled(t))
	m.auditor.Stop(t).Require(t)
	harness.Await(t, time.Minute, "the namespace is gone", func() bool {
		_, err := namespaces.Get(t.Context(), r.cluster.Namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	r.cluster.AwaitAvailable(t, m.to)
}

// TestAnObjectThatChangesAfterTheSnapshot is moved as it became.
func TestAnObjectThatChangesAfterTheSnapshot(t *testing.T) {
	r := newRig(t, ropewalk)
	m := r.begin()
	m.stop(t, staged)
	r.cluster.Patch(t, m.from, `{"metadata":{"annotations":{"example.com/changed":"meanwhile"}}}`)
	said, err := m.run(t)
	require.NoError(t, err, "%s", said)
	t.Logf("%s", said)
	require.Empty(t, m.settled(t))
	m.auditor.Stop(t).Require(t)
	o, err := r.cluster.Get(t.Context(), m.to)
	require.NoError(t, err)
	require.Equal(t, "meanwhile", o.GetAnnotations()["example.com/changed"])
	r.cluster.Patch(t, m.to, `{"metadata":{"annotations":{"example.com/changed":null}}}`)
}
