// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/statement"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/render/emit"
)

// Render is a finished render, on its way to a store.
type Render struct {
	// Files are the files of the complete artifact, with the names that they get: flat, no
	// folders, and without the Flux objects of emit.DeliveryDir.
	Files []emit.File
	// Layers are in the order of their release. Their Files are flat too, and their Digest is
	// still "".
	Layers []delivery.Layer
	// Source and Revision name the origin of the specs: the URL, and the revision such as
	// main@sha1:…; "" where there is no source.
	Source, Revision string
	// Graph is the document of the plan, as JSON, and Build has the inputs of the render.
	// Images returns the images that the objects run. A store that attaches nothing leaves them
	// alone.
	Graph  []byte
	Build  statement.Build
	Images func() []string
}

// Published is a Render that a store has published.
type Published struct {
	// Desired has the digests of the complete artifact and of each layer; its layers have no
	// Files.
	Desired delivery.Desired
	// Tree identifies the files of the complete artifact, however they are packed.
	Tree string
	// Location is the address: oci://host/name, or the URL of the file.
	Location string
	// Changed says that something was written: false where the tree existed already.
	Changed bool
}

// Store keeps the artifacts of one Transform: complete artifacts, artifacts of layers, and, for
// rollbacks, the Desired of each complete artifact. It is made anew for each reconciliation, so
// it must be cheap to make; it is used by one goroutine at a time.
//
// Two Transforms may share a repository: a store touches nothing that it did not
// publish for its own Transform.
type Store interface {
	delivery.Artifacts
	// Release publishes a render: layers, complete artifact and Desired, the complete artifact
	// last. Artifacts that exist already are not written again, and keep their digests.
	Release(ctx context.Context, r Render) (Published, error)
	// Pack returns what Release would publish, without publishing it: for a render during a
	// rollback. Its digests are known only approximately.
	Pack(ctx context.Context, r Render) (Published, error)
	// Desired returns the Desired that was stored with a complete artifact. The error wraps
	// delivery.ErrGone where either does not exist any more.
	Desired(ctx context.Context, digest string) (delivery.Desired, error)
	// Prune deletes complete artifacts that are not wanted any more (drop), with their layers,
	// except layers that an artifact of keep has too, and artifacts that hand-overs left behind.
	// It is called when nothing is handed over. A store that cannot delete returns the obstacle,
	// in words for people, and is not asked again.
	Prune(ctx context.Context, keep, drop []v1alpha1.Artifact) (obstacle string, err error)
	// Remove deletes objects that must not outlive the Transform, after its delivery was
	// withdrawn. A registry keeps its artifacts, unless the spec says otherwise.
	Remove(ctx context.Context) error
}

// pack makes the set of a render: the complete artifact, and its layers if there are several.
func pack(r Render) (artifact.Set, error) {
	whole, err := folder(r.Files)
	if err != nil {
		return artifact.Set{}, err
	}
	var layers []artifact.Layer
	for _, u := range r.Layers {
		if len(r.Layers) < 2 {
			break // The whole is the layer.
		}
		files, err := folder(u.Files)
		if err != nil {
			return artifact.Set{}, err
		}
		layers = append(layers, artifact.Layer{Name: u.Name, FS: files})
	}
	// An empty render comes only from a Transform that allows it.
	return artifact.PackSet(whole, layers, artifact.Options{Source: r.Source, Revision: r.Revision, Empty: true, Limits: packing()})
}

// Pointer is a store with an object in the cluster that leads to the complete artifact. A rollback
// makes it lead to an earlier artifact.
type Pointer interface {
	Point(ctx context.Context, digest string) error
}
