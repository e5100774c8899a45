// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
)

func TestWhatAClusterReportsIsObserved(t *testing.T) {
	o := available(2)
	require.Equal(t, observation{
		There: true, Provisioned: true, Available: true, Nodes: v1alpha1.NodeCounts{Wanted: 4, Ready: 3},
	}, observationOf(o, 4))

	// Its condition explains what is missing.
	o.Object["status"].(map[string]any)["conditions"] = []any{map[string]any{"type": "Available", "status": "False", "message": "workers are being made"}}
	seen := observationOf(o, 4)
	require.False(t, seen.Available)
	require.Equal(t, "workers are being made", seen.Message)

	// A Cluster that its controller has not looked at explains nothing itself.
	now := metav1.Now()
	fresh := &unstructured.Unstructured{Object: map[string]any{}}
	fresh.SetDeletionTimestamp(&now)
	require.Equal(t, observation{There: true, Deleting: true, Message: "the control plane is not initialized", Nodes: v1alpha1.NodeCounts{Wanted: 1}}, observationOf(fresh, 1))
}

func TestAClusterInChargeOfItselfIsDegradedUntilAllIsThere(t *testing.T) {
	nodes := func(wanted, ready int32) observation {
		return observation{Nodes: v1alpha1.NodeCounts{Wanted: wanted, Ready: ready}}
	}
	for name, c := range map[string]struct {
		seen      observation
		connected bool
		phase     v1alpha1.PivotClusterPhase
		message   string
	}{
		"all nodes are ready":        {nodes(2, 2), true, v1alpha1.PhaseReady, "in charge of itself"},
		"a node is not ready":        {nodes(2, 1), true, v1alpha1.PhaseDegraded, "in charge of itself; 1 of 2 nodes are ready"},
		"nothing is reported":        {nodes(0, 0), true, v1alpha1.PhaseDegraded, "in charge of itself; its agent has reported no nodes"},
		"the agent is not connected": {nodes(2, 2), false, v1alpha1.PhaseDegraded, "in charge of itself; its agent is not connected"},
	} {
		t.Run(name, func(t *testing.T) {
			phase, message := phaseOf(c.seen, c.connected)
			require.Equal(t, c.phase, phase)
			require.Equal(t, c.message, message)
		})
	}
}

// Each write of a status is a write to etcd.
func TestAHeartbeatIsWrittenOnceAMinute(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	c := &v1alpha1.PivotCluster{}
	reportAgent(c, Child{Version: "v1", KubernetesVersion: "v1.36.3", Pins: "a b", Seen: at})
	require.Equal(t, &v1alpha1.AgentStatus{
		Version: "v1", KubernetesVersion: "v1.36.3", Pins: []string{"a", "b"}, LastSeen: &metav1.Time{Time: at.Truncate(time.Second)},
	}, c.Status.Agent)
	reportAgent(c, Child{Version: "v2", Seen: at.Add(59 * time.Second)})
	require.Equal(t, "v2", c.Status.Agent.Version)
	require.Equal(t, at.Truncate(time.Second), c.Status.Agent.LastSeen.Time)
	reportAgent(c, Child{Seen: at.Add(time.Minute), State: wire.AgentState_AGENT_STATE_IMPORTING})
	require.Equal(t, v1alpha1.AgentImporting, c.Status.Agent.State)
	require.Equal(t, at.Add(time.Minute).Truncate(time.Second), c.Status.Agent.LastSeen.Time)
}

// An agent may be older or newer than its parent.
func TestStatesOfAgentsAreShown(t *testing.T) {
	shown := map[v1alpha1.AgentState]bool{}
	for number := range wire.AgentState_name {
		shown[stateOf(wire.AgentState(number))] = true
	}
	require.Equal(t, map[v1alpha1.AgentState]bool{
		"": true, "Waiting": true, "Bootstrapping": true, "Bootstrapped": true, "Importing": true, "InCharge": true,
	}, shown)
	require.Equal(t, v1alpha1.AgentUnknown, stateOf(99))
}

func TestOnlyATokenThatEndedUnusedHasExpired(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ended := &metav1.Time{Time: now.Add(-time.Hour)}
	require.Contains(t, expired(&v1alpha1.EnrolmentStatus{Expires: ended}, now), "the token of the agent has expired at 2026-01-02T02:04:05Z, unused: ")
	require.Empty(t, expired(nil, now))
	require.Empty(t, expired(&v1alpha1.EnrolmentStatus{}, now))
	require.Empty(t, expired(&v1alpha1.EnrolmentStatus{Expires: ended, PublicKey: "a"}, now))
	require.Empty(t, expired(&v1alpha1.EnrolmentStatus{Expires: &metav1.Time{Time: now.Add(time.Minute)}}, now))
}
