// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
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
func (r *Reconciler) observe(ctx context.Context, c *v1alpha1.PivotCluster) (observation, error) {
	out := observation{Nodes: v1alpha1.NodeCounts{Wanted: wantedNodes(c)}}

	// Read the Cluster, which may not be there yet.
	kind := schema.GroupKind{Group: "cluster.x-k8s.io", Kind: "Cluster"}
	mapping, err := r.client.RESTMapper().RESTMapping(kind)
	if apimeta.IsNoMatchError(err) {
		return out, reject("Cluster API is not installed: there is no kind %s", kind)
	}
	if err != nil {
		return out, err
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(mapping.GroupVersionKind)
	err = r.client.Get(ctx, client.ObjectKey{Namespace: c.ClusterNamespace(), Name: c.Name}, o)
	switch {
	case apierrors.IsNotFound(err):
		out.Message = "the engine has not applied the Cluster yet"
		return out, nil
	case err != nil:
		return out, err
	}

	// Take its conditions, and explain what is not reached yet.
	out.There = true
	out.Deleting = o.GetDeletionTimestamp() != nil
	status, message := conditionOf(o, "Available")
	out.Available = status == "True"
	out.Provisioned, _, _ = unstructured.NestedBool(o.Object, "status", "initialization", "controlPlaneInitialized")
	switch {
	case message != "":
		out.Message = message
	case !out.Provisioned:
		out.Message = "the control plane is not initialized"
	}

	// Count the nodes of the control plane and of the workers.
	for _, of := range []string{"controlPlane", "workers"} {
		ready, _, _ := unstructured.NestedInt64(o.Object, "status", of, "readyReplicas")
		out.Nodes.Ready += int32(ready) //nolint:gosec // a count of machines
	}
	return out, nil
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

// wantedNodes returns how many nodes the spec asks for.
func wantedNodes(c *v1alpha1.PivotCluster) int32 {
	n := max(c.Spec.ControlPlane.Replicas, 1)
	for _, pool := range c.Spec.Workers {
		if pool.Replicas == nil {
			n++
		} else {
			n += *pool.Replicas
		}
	}
	return n
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
