// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"github.com/stretchr/testify/require"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

func TestAPlaneThatIsNotInChargeSaysWhichOneIs(t *testing.T) {
	const parent = "the parent is in charge: what is changed here counts after the pivot"
	require.Equal(t, parent, notInCharge(nil))
	require.Equal(t, parent, notInCharge(&state.Receipt{Role: state.RoleTarget}))
	moves := &state.Receipt{Role: state.RoleSource, Target: state.Peer{UID: "u", Server: "https://next.test"}}
	require.Equal(t, "the cluster moves to https://next.test: what is changed here does not count", notInCharge(moves))
	moves.Target.Server = ""
	require.Equal(t, "the cluster moves to the cluster with UID u: what is changed here does not count", notInCharge(moves))
}

func TestAnAgentOfARecordGetsATokenOnlyWhenItIsWanted(t *testing.T) {
	for name, c := range map[string]struct {
		rejoin    string
		enrolment *v1alpha1.EnrolmentStatus
		wants     bool
	}{
		"none is wanted":               {enrolment: &v1alpha1.EnrolmentStatus{Rejoin: "1"}},
		"there was none":               {rejoin: "1", wants: true},
		"there was another one":        {rejoin: "2", enrolment: &v1alpha1.EnrolmentStatus{Rejoin: "1", PublicKey: "a"}, wants: true},
		"it was made, and is not used": {rejoin: "1", enrolment: &v1alpha1.EnrolmentStatus{Rejoin: "1"}, wants: true},
		"the agent has enrolled by it": {rejoin: "1", enrolment: &v1alpha1.EnrolmentStatus{Rejoin: "1", PublicKey: "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.PivotCluster{}
			p.Spec.Agent.Rejoin, p.Status.Enrolment = c.rejoin, c.enrolment
			require.Equal(t, c.wants, wantsToken(p))
		})
	}
}

func TestAnInstalledClusterSaysItselfWhyItIsUnready(t *testing.T) {
	own := &v1alpha1.PivotCluster{}
	require.Equal(t, "its PivotCluster is gone", whyUnready(nil))
	require.Equal(t, "it says of itself: nothing", whyUnready(own))
	setSettled(own, v1alpha1.PhaseDegraded, "1 of 2 nodes are ready")
	require.Equal(t, "it says of itself: Degraded: 1 of 2 nodes are ready", whyUnready(own))
	setSettled(own, v1alpha1.PhaseReady, "in charge of itself")
	require.Empty(t, whyUnready(own))
}
