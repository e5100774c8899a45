// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"github.com/stretchr/testify/require"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

func TestAPivotWaitsForADeliveredSpecAndAClusterAtRest(t *testing.T) {
	require.Empty(t, unready(observation{Available: true}, ""))
	require.Equal(t, "the pivot waits until the cluster is at rest: a machine is being made", unready(observation{Message: "a machine is being made"}, ""))
	require.Equal(t, "the pivot waits until the spec is delivered: Transform rw-blue/blue: Invalid: no", unready(observation{Available: true}, "Transform rw-blue/blue: Invalid: no"))
}

func TestAClusterThatIsWaitedForSaysWhy(t *testing.T) {
	for name, c := range map[string]struct {
		seen        observation
		undelivered string
		phase       v1alpha1.PivotClusterPhase
		message     string
	}{
		"there is no Cluster":             {phase: v1alpha1.PhasePending, message: "no agent"},
		"there is a Cluster":              {seen: observation{There: true}, phase: v1alpha1.PhaseProvisioning, message: "no agent"},
		"its spec is not delivered":       {seen: observation{There: true}, undelivered: "Invalid", phase: v1alpha1.PhaseProvisioning, message: "no agent: Invalid"},
		"its first spec is not delivered": {undelivered: "Invalid", phase: v1alpha1.PhasePending, message: "no agent: Invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.PivotCluster{}
			reportMissing(p, c.seen, "no agent", c.undelivered)
			require.Equal(t, c.phase, p.Status.Phase)
			require.Equal(t, c.message, ready(p))
		})
	}
}
