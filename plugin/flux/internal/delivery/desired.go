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

// Layer is what one Kustomization applies: a barrier layer, or, where a layer has
// more than MaxObjects, a shard of it.
type Layer struct {
	// Name is stable within a Transform: that of the layer, such as layer-01, with
	// the number of the shard where there are several (layer-01-2). The objects of
	// Flux are called TRANSFORM-NAME.
	Name string `json:"name"`
	// Barrier is the name of the barrier layer, and Waves are its waves.
	Barrier string  `json:"layer"`
	Waves   []int32 `json:"waves,omitempty"`
	// After are the layers that must be Ready at their digest before this one is
	// released.
	After []string `json:"after,omitempty"`
	// Objects are what it applies, in the order of the files.
	Objects []ObjectRef `json:"objects,omitempty"`
	// HealthChecks and HealthCheckExprs are what Flux waits for.
	HealthChecks     []meta.NamespacedObjectKindReference `json:"healthChecks,omitempty"`
	HealthCheckExprs []kustomize.CustomHealthCheck        `json:"healthCheckExprs,omitempty"`
	// Needs are objects outside of the render that must be there before it is released.
	Needs []Need `json:"needs,omitempty"`
	// Digest is that of its artifact, once it is published.
	Digest string `json:"digest,omitempty"`

	// Files are its manifests, flat; they are not part of a stored plan.
	Files []emit.File `json:"-"`
}

// timeout returns how long Flux waits for the objects of a layer: the longest of their timeouts,
// where one without has that of the Transform. The wait is thus shorter than otherwise only if
// each object that Flux waits for has a timeout of its own.
func (u *Layer) timeout(otherwise time.Duration) time.Duration {
	own := map[key]time.Duration{}
	for _, r := range u.Objects {
		own[r.key()] = r.Timeout.Duration
	}
	var longest time.Duration
	for _, c := range u.HealthChecks {
		longest = max(longest, cmp.Or(own[checked(c).key()], otherwise))
	}
	return cmp.Or(longest, otherwise)
}

// ObjectRef names an object, and the node that it is.
type ObjectRef struct {
	Node      string `json:"node,omitempty"`
	Group     string `json:"group,omitempty"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Adopt is what the module says of this object alone, Never or TakeOwnership; ""
	// is what spec.adopt of the Transform says.
	Adopt string `json:"adopt,omitempty"`
	// Timeout is how long it may take to be ready, 0 where it has no timeout of its own.
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

// Desired is what is to be delivered: the whole, and the layers in the order in
// which they are released. As JSON it is stored beside the artifact, so that a
// rollback needs no render.
type Desired struct {
	// Digest and Revision are those of the whole.
	Digest   string  `json:"digest"`
	Revision string  `json:"revision,omitempty"`
	Layers   []Layer `json:"units"`
}
