// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

func TestARejectionWaitsForTheUserAndAnyOtherErrorIsTriedAgain(t *testing.T) {
	c := &v1alpha1.PivotCluster{}
	require.NoError(t, setError(c, nil))
	require.Empty(t, c.Status)

	away := errors.New("the server is away")
	require.Equal(t, away, setError(c, away))
	require.Equal(t, v1alpha1.PhasePending, c.Status.Phase)
	require.Equal(t, "the server is away", ready(c))
	require.True(t, apimeta.IsStatusConditionTrue(c.Status.Conditions, "Reconciling"))

	require.NoError(t, setError(c, fmt.Errorf("on the way: %w", reject("spec.%s: wrong", "cell"))))
	require.Equal(t, v1alpha1.PhaseFailed, c.Status.Phase)
	require.Equal(t, "spec.cell: wrong", ready(c))
	require.True(t, apimeta.IsStatusConditionTrue(c.Status.Conditions, "Stalled"))
	require.Nil(t, apimeta.FindStatusCondition(c.Status.Conditions, "Reconciling"))
}

func TestAnErrorLeavesThePhaseThatWasReached(t *testing.T) {
	c := &v1alpha1.PivotCluster{}
	setProgress(c, v1alpha1.PhaseProvisioning, "the machines are being made")
	require.Error(t, setError(c, errors.New("the server is away")))
	require.Equal(t, v1alpha1.PhaseProvisioning, c.Status.Phase)
}
