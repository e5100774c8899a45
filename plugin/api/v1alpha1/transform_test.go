// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestWhatASpecLeavesOut(t *testing.T) {
	bare := &Transform{}
	require.Zero(t, bare.GetRetryInterval(), "the controller decides")
	require.Equal(t, DefaultHistory, bare.GetHistory())

	none := int32(0)
	full := &Transform{Spec: TransformSpec{History: &none, RetryInterval: &metav1.Duration{Duration: time.Minute}}}
	require.Equal(t, time.Minute, full.GetRetryInterval())
	require.Zero(t, full.GetHistory(), "none is not the default")
}

func TestKindsAreKnownToAScheme(t *testing.T) {
	s := runtime.NewScheme()
	require.NoError(t, AddToScheme(s))
	for _, kind := range []string{"Transform", "TransformList", "PivotCluster", "PivotClusterList"} {
		require.True(t, s.Recognizes(GroupVersion.WithKind(kind)), kind)
	}
	require.True(t, s.Recognizes(GroupVersion.WithKind("ListOptions")), "lists and watches have options of the group")
}
