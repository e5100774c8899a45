// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"cmp"
	"time"

	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ropewalk/ropewalk/render/emit"
)

// Layer has the objects of one Kustomization: a barrier layer, or a shard of a barrier layer with
// more than MaxObjects.
type Layer struct {
	// Name is stable within a Transform: the name of the barrier layer, such as layer-01, with
	// the number of the shard where there are several (layer-01-2). The objects of Flux are
	// called TRANSFORM-NAME.
	Name string `json:"name"`
	// Barrier is the name of the barrier layer, and Waves are its waves.
	Barrier string  `json:"layer"`
	Waves   []int32 `json:"waves,omitempty"`
	// After are the layers that must be Ready at their digest before this one is
	// released.
	After []string `json:"after,omitempty"`
	// Objects are in the order of the files.
	Objects []ObjectRef `json:"objects,omitempty"`
	// HealthChecks and HealthCheckExprs are the health checks of the Kustomization.
	HealthChecks     []meta.NamespacedObjectKindReference `json:"healthChecks,omitempty"`
	HealthCheckExprs []kustomize.CustomHealthCheck        `json:"healthCheckExprs,omitempty"`
	// Needs are objects outside of the render that must be there before it is released.
	Needs []Need `json:"needs,omitempty"`
	// Digest is the digest of its artifact, once it is published.
	Digest string `json:"digest,omitempty"`

	// Files are its manifests, flat; they are not part of a stored plan.
	Files []emit.File `json:"-"`
}

// timeout returns the timeout of a layer: the longest timeout of its objects. An object without a
// timeout has the fallback, which comes from the Transform, so that the wait is shorter only if each
// object that Flux waits for has a timeout of its own.
func (u *Layer) timeout(fallback time.Duration) time.Duration {
	timeouts := map[key]time.Duration{}
	for _, r := range u.Objects {
		timeouts[r.key()] = r.Timeout.Duration
	}
	var longest time.Duration
	for _, c := range u.HealthChecks {
		longest = max(longest, cmp.Or(timeouts[checked(c).key()], fallback))
	}
	return cmp.Or(longest, fallback)
}

// ObjectRef names an object, and the node that it is.
type ObjectRef struct {
	Node      string `json:"node,omitempty"`
	Group     string `json:"group,omitempty"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Adopt is the choice of the module for this object alone, Never or TakeOwnership; "" leaves
	// it to spec.adopt of the Transform.
	Adopt string `json:"adopt,omitempty"`
	// Timeout bounds the time until it is ready, 0 where it has no timeout of its own.
	Timeout metav1.Duration `json:"timeout,omitzero"`
	// Encrypted says that SOPS encrypted it, and that Flux is to decrypt it.
	Encrypted bool `json:"encrypted,omitempty"`
}

// Need is an object outside of the render, and the node that needs it.
type Need struct {
	ObjectRef
	// Ready is the type of a condition that must be True; with "" the object has to exist.
	Ready string `json:"ready,omitempty"`
}

// Desired is a published render that is to be delivered, with its layers in the order in which they
// are released. As JSON it is stored beside the artifact, so that a rollback needs no render.
type Desired struct {
	// Digest and Revision identify the artifact of all layers.
	Digest   string  `json:"digest"`
	Revision string  `json:"revision,omitempty"`
	Layers   []Layer `json:"units"`
}
