// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/render/emit"
)

// Artifacts publishes layers: in a repository, or on the controller's own server.
type Artifacts interface {
	// Publish makes files an artifact of a layer and returns its digest, sha256:…. The same
	// files have the same digest, and cost nothing. It is for artifacts that a hand-over needs
	// between two renders; layers of a Desired are published already.
	Publish(ctx context.Context, layer string, files []emit.File) (digest string, err error)
	// Files returns the files of an artifact of a layer. The error wraps ErrGone where the
	// artifact does not exist any more.
	Files(ctx context.Context, layer, digest string) ([]emit.File, error)
	// Source returns the object of Flux that leads to an artifact of a layer: an OCIRepository
	// with spec.ref.digest, or an ExternalArtifact, with its name, its namespace and the fields
	// from the output of the Transform, but without labels. A Kustomization that has applied the
	// artifact has appliedRevision as its lastAppliedRevision.
	Source(t *v1alpha1.Transform, layer, digest string) (source client.Object, appliedRevision string, err error)
}

// Engine delivers a Desired: objects of Flux, or an Application of Argo CD. Its methods are called
// again and again; each looks at the cluster, does what can be done now, and returns the reason if
// it has to wait.
type Engine interface {
	// Deliver brings the engine nearer to want. It is never more than one step ahead of the
	// cluster, so that a process that is killed anywhere loses nothing.
	Deliver(ctx context.Context, t *v1alpha1.Transform, want Desired) (Progress, error)
	// Withdraw deletes or orphans the delivered objects, as t says, and reports whether it is
	// done; else an event follows when there is more to do.
	Withdraw(ctx context.Context, t *v1alpha1.Transform) (done bool, waiting string, err error)
}

// Progress is the state of a delivery.
type Progress struct {
	// Layers are the layers, those that retire too, as the status shows them.
	Layers []v1alpha1.LayerStatus
	// Nodes are objects that are not Ready.
	Nodes []v1alpha1.NodeStatus
	// NodesReadAt is the time at which objects were read for spec.delivery.flux.reportNodes, or
	// nil.
	NodesReadAt *metav1.Time
	// Ready says that every layer is Ready at the digest that is wanted, and that
	// nothing is handed over or retired any more.
	Ready bool
	// Failed says that the engine has given up on a layer, for now, and Stalled that
	// a user has to change something.
	Failed, Stalled bool
	// Reason and Message are for the condition Ready where it is not Ready.
	Reason, Message string
	// Shared names the objects that other Transforms deliver too.
	Shared string
	// Changed are the layers whose digest was released in this step, for events.
	Changed []string
}
