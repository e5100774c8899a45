// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
)

// observation is what Cluster API says of a cluster on this plane.
type observation struct {
	// There: the Cluster exists.
	There bool
	// Deleting: it is being deleted.
	Deleting bool
	// Provisioned: the API server of the cluster answers.
	Provisioned bool
	// Available: all of it is as it should be.
	Available bool
	Message   string
	Nodes     v1alpha1.NodeCounts
}

// observe reads the Cluster, in the version that the API server prefers.
func observe(ctx context.Context, from client.Client, c *v1alpha1.PivotCluster) (observation, error) {
	absent := observation{Nodes: v1alpha1.NodeCounts{Wanted: wantedNodes(c, 0)}}
	kind := schema.GroupKind{Group: "cluster.x-k8s.io", Kind: "Cluster"}
	mapping, err := from.RESTMapper().RESTMapping(kind)
	if apimeta.IsNoMatchError(err) {
		return absent, reject("Cluster API is not installed: there is no kind %s", kind)
	}
	if err != nil {
		return absent, err
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(mapping.GroupVersionKind)
	err = from.Get(ctx, keyOf(c), o)
	switch {
	case apierrors.IsNotFound(err):
		absent.Message = "the engine has not applied the Cluster yet"
		return absent, nil
	case err != nil:
		return absent, err
	}
	workers, _, _ := unstructured.NestedInt64(o.Object, "status", "workers", "desiredReplicas")
	return observationOf(o, wantedNodes(c, int32(workers))), nil //nolint:gosec // a count of machines
}

// observationOf returns what a Cluster reports of itself.
func observationOf(o *unstructured.Unstructured, wanted int32) observation {
	// Take its conditions, and explain what is not reached yet.
	status, message := conditionOf(o, "Available")
	provisioned, _, _ := unstructured.NestedBool(o.Object, "status", "initialization", "controlPlaneInitialized")
	if message == "" && !provisioned {
		message = "the control plane is not initialized"
	}
	out := observation{
		There: true, Deleting: o.GetDeletionTimestamp() != nil, Provisioned: provisioned, Available: status == "True",
		Message: message, Nodes: v1alpha1.NodeCounts{Wanted: wanted},
	}

	// Count the nodes of the control plane and of the workers.
	for _, of := range []string{"controlPlane", "workers"} {
		ready, _, _ := unstructured.NestedInt64(o.Object, "status", of, "readyReplicas")
		out.Nodes.Ready += int32(ready) //nolint:gosec // a count of machines
	}
	return out
}

// reportMachines sets in the status what Cluster API reports.
func reportMachines(c *v1alpha1.PivotCluster, seen observation) {
	c.Status.Nodes = &seen.Nodes
	set(c, v1alpha1.ProvisionedCondition, seen.Provisioned, "Provisioned", seen.Message)
}

// conditionOf returns the status and the message of a v1beta2 condition of an object of Cluster
// API; "" for both if there is none.
func conditionOf(o *unstructured.Unstructured, name string) (status, message string) {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == name {
			status, _ = c["status"].(string)
			message, _ = c["message"].(string)
			return status, message
		}
	}
	return "", ""
}

// wantedNodes returns how many nodes the spec asks for. Where an autoscaler has a pool, the workers
// are as many as Cluster API is to have by now, if those are more.
func wantedNodes(c *v1alpha1.PivotCluster, workersNow int32) int32 {
	var workers int32
	scaled := false
	for _, pool := range c.Spec.Workers {
		switch {
		case pool.Autoscale != nil:
			scaled = true
			workers += pool.Autoscale.Min
		case pool.Replicas != nil:
			workers += *pool.Replicas
		default:
			workers++
		}
	}
	if scaled {
		workers = max(workers, workersNow)
	}
	return max(c.Spec.ControlPlane.Replicas, 1) + workers
}

// phaseOf returns the phase of a cluster that is in charge of itself, and its message.
func phaseOf(o observation, connected bool) (v1alpha1.PivotClusterPhase, string) {
	switch {
	case !connected:
		return v1alpha1.PhaseDegraded, "in charge of itself; its agent is not connected"
	case o.Nodes.Wanted == 0:
		return v1alpha1.PhaseDegraded, "in charge of itself; its agent has reported no nodes"
	case o.Nodes.Ready < o.Nodes.Wanted:
		return v1alpha1.PhaseDegraded, fmt.Sprintf("in charge of itself; %d of %d nodes are ready", o.Nodes.Ready, o.Nodes.Wanted)
	}
	return v1alpha1.PhaseReady, "in charge of itself"
}

// agents are those of children, as their sessions show them.
type agents struct {
	// children are nil where this controller serves none.
	children *children
	now      func() time.Time
}

// observe returns what the agent of a cluster reports, and whether it is connected. It sets the
// conditions of the agent.
func (a agents) observe(c *v1alpha1.PivotCluster) (Child, bool) {
	enrolled := c.Status.Enrolment != nil && c.Status.Enrolment.Certificate != ""
	why := cmp.Or(expired(c.Status.Enrolment, a.now()), "the agent has not asked for a certificate yet")
	set(c, v1alpha1.EnrolledCondition, enrolled, "Enrolled", why)
	if a.children == nil {
		return Child{}, false
	}
	child, connected := a.children.child(c.UID)
	set(c, v1alpha1.ConnectedCondition, connected, "Connected", "the agent is not on the link")
	if connected {
		reportAgent(c, child)
	}
	return child, connected
}

// reportAgent sets in the status what a connected agent reports.
func reportAgent(c *v1alpha1.PivotCluster, child Child) {
	if c.Status.Agent == nil {
		c.Status.Agent = &v1alpha1.AgentStatus{}
	}
	a := c.Status.Agent
	a.Version = child.Version
	a.KubernetesVersion = child.KubernetesVersion
	a.Pins = strings.Fields(child.Pins)
	a.State = stateOf(child.State)
	// Each write of a status is a write to etcd.
	if a.LastSeen == nil || child.Seen.Sub(a.LastSeen.Time) >= time.Minute {
		a.LastSeen = &metav1.Time{Time: child.Seen.Truncate(time.Second)}
	}
}

// stateOf returns the state of an agent as a status shows it: "" for an agent that sends none, and
// Unknown for a value of a later version.
func stateOf(s wire.AgentState) v1alpha1.AgentState {
	switch s {
	case wire.AgentState_AGENT_STATE_UNSPECIFIED:
		return ""
	case wire.AgentState_AGENT_STATE_WAITING:
		return v1alpha1.AgentWaiting
	case wire.AgentState_AGENT_STATE_BOOTSTRAPPING:
		return v1alpha1.AgentBootstrapping
	case wire.AgentState_AGENT_STATE_BOOTSTRAPPED:
		return v1alpha1.AgentBootstrapped
	case wire.AgentState_AGENT_STATE_IMPORTING:
		return v1alpha1.AgentImporting
	case wire.AgentState_AGENT_STATE_IN_CHARGE:
		return v1alpha1.AgentInCharge
	}
	return v1alpha1.AgentUnknown
}

// expired returns what to do about a token that has ended unused; "" if it has not.
func expired(e *v1alpha1.EnrolmentStatus, now time.Time) string {
	if e == nil || e.Expires == nil || e.PublicKey != "" || !enrol.Expired(e, now) {
		return ""
	}
	return fmt.Sprintf("the token of the agent has expired at %s, unused: see whether the machines reach the parent, then change spec.agent.rejoin, and run the script on a machine of the control plane again",
		e.Expires.UTC().Format(time.RFC3339))
}
