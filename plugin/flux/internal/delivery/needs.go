// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/render/object"
)

// elsewhereNeeds is the message for nodes with needs in a cluster that only Flux can read.
const elsewhereNeeds = "needs cannot be checked in the cluster of spec.delivery.flux.kubeConfig, which only Flux can read: remove needs, or use dependsOn of Transforms"

// findLacks finds for each layer that is not released yet the first object outside of the render
// that is missing, or not ready. The Progress refuses needs that cannot be looked up. A layer that
// was released stays released, whatever is deleted later.
func (d *delivery) findLacks(ctx context.Context) (Progress, error) {
	known := map[Need]string{}
	for i := range d.desired {
		w := &d.desired[i]
		if s := d.states[w.name]; s != nil && s.digest == w.digest {
			continue
		}
		for _, need := range d.layers[w.name].Needs {
			if d.template().KubeConfig != nil {
				return Progress{Stalled: true, Reason: v1alpha1.InvalidReason, Message: elsewhereNeeds}, nil
			}

			// Several nodes may need the same object.
			node := need.Node
			need.Node = ""
			state, ok := known[need]
			if !ok {
				var err error
				state, err = d.lookUp(ctx, need)
				if err != nil {
					return Progress{}, fmt.Errorf("needs of %s: %w", node, err)
				}
				known[need] = state
			}
			if state != "" && w.lacks == "" {
				w.lacks = fmt.Sprintf("waits for %s, which %s needs: %s", need, node, state)
			}
		}
	}
	return Progress{}, nil
}

// lookUp returns the fault of an object that is needed, or "". Only the metadata is read of an
// object that only has to exist, so that values of Secrets are never seen.
func (d *delivery) lookUp(ctx context.Context, need Need) (string, error) {
	gvk := schema.GroupVersionKind{Group: need.Group, Version: need.Version, Kind: need.Kind}
	var o client.Object = &metav1.PartialObjectMetadata{}
	full := &unstructured.Unstructured{}
	if need.Ready != "" {
		o = full
	}
	o.GetObjectKind().SetGroupVersionKind(gvk)
	err := d.Client.Get(ctx, client.ObjectKey{Namespace: cmp.Or(need.Namespace, d.t.Namespace), Name: need.Name}, o)
	switch {
	case apierrors.IsNotFound(err):
		return "it does not exist", nil
	case apimeta.IsNoMatchError(err):
		return fmt.Sprintf("the cluster has no kind %s of %s", need.Kind, gvk.GroupVersion()), nil
	case err != nil:
		return "", err
	case !o.GetDeletionTimestamp().IsZero():
		return "it is being deleted", nil
	case need.Ready == "":
		return "", nil
	}
	return notTrue(full, need.Ready), nil
}

// notTrue returns the fault of a condition of an object, or "" if the condition is True and of the
// present generation.
func notTrue(o *unstructured.Unstructured, condition string) string {
	observed, ok, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	if ok && observed < o.GetGeneration() {
		return "its status is of an earlier generation"
	}
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, item := range list {
		c, _ := item.(map[string]any)
		if c["type"] != condition {
			continue
		}
		observed, ok := c["observedGeneration"].(int64)
		switch {
		case ok && observed < o.GetGeneration():
			return fmt.Sprintf("its condition %s is of an earlier generation", condition)
		case c["status"] != "True":
			return fmt.Sprintf("its condition %s is %v", condition, c["status"])
		}
		return ""
	}
	return fmt.Sprintf("it has no condition %s yet", condition)
}

// AddNeeds adds to each layer the needs of its objects. The argument needs has them by node.
func AddNeeds(layers []Layer, needs map[string][]object.Need) {
	for i := range layers {
		for _, r := range layers[i].Objects {
			for _, n := range needs[r.Node] {
				group, err := schema.ParseGroupVersion(n.APIVersion)
				if err != nil {
					group = schema.GroupVersion{Group: n.APIVersion} // The lookup reports it.
				}
				layers[i].Needs = append(layers[i].Needs, Need{Ready: n.Ready, ObjectRef: ObjectRef{
					Node: r.Node, Group: group.Group, Version: group.Version, Kind: n.Kind, Namespace: n.Namespace, Name: n.Name,
				}})
			}
		}
	}
}
