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
	out := observation{Nodes: v1alpha1.NodeCounts{Wanted: wanted(c)}}
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
	out.There, out.Deleting = true, o.GetDeletionTimestamp() != nil
	status, message := said(o, "Available")
	out.Available = status == "True"
	out.Provisioned, _, _ = unstructured.NestedBool(o.Object, "status", "initialization", "controlPlaneInitialized")
	switch {
	case message != "":
		out.Message = message
	case !out.Provisioned:
		out.Message = "the control plane is not initialized"
	}
	for _, of := range []string{"controlPlane", "workers"} {
		ready, _, _ := unstructured.NestedInt64(o.Object, "status", of, "readyReplicas")
		out.Nodes.Ready += int32(ready) //nolint:gosec // a count of machines
	}
	return out, nil
}

// said is one of the v1beta2 conditions of an object of Cluster API.
func said(o *unstructured.Unstructured, name string) (status, message string) {
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

// wanted is how many nodes the spec has.
func wanted(c *v1alpha1.PivotCluster) int32 {
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

// phaseOf is the phase of a cluster that is in charge of itself.
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
