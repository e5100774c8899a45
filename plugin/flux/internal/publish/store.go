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

// Render is what a render made, on its way to a store.
type Render struct {
	// Files are those of the whole, with the names that they get: flat, no
	// folders, and without the Flux objects of emit.DeliveryDir.
	Files []emit.File
	// Layers are what it is cut into, in the order of their release. Their Files are
	// flat too, and their Digest is still "".
	Layers []delivery.Layer
	// Source and Revision are where the specs come from: the URL, and the revision
	// such as main@sha1:…; "" where there is no source.
	Source, Revision string
	// Graph is the document of the plan, as JSON, and Build what the render was
	// made of. Images are those that the objects run. A store that attaches nothing
	// leaves them alone.
	Graph  []byte
	Build  statement.Build
	Images func() []string
}

// Published is what became of a Render.
type Published struct {
	// Desired has the digest of the whole and that of each layer; its layers have no
	// Files.
	Desired delivery.Desired
	// Tree identifies the files of the whole, however they are packed.
	Tree string
	// Location is where it is: oci://host/name, or the URL of the file.
	Location string
	// Changed says that something was written: false where the tree was there
	// already.
	Changed bool
}

// Store keeps the artifacts of one Transform: of its whole, of its layers, and, for
// rollbacks, the Desired of each whole. It is made anew for each reconciliation, so
// it must be cheap to make; it is used by one goroutine at a time.
//
// Two Transforms may share a repository: a store touches nothing that it did not
// publish for its own Transform.
type Store interface {
	delivery.Artifacts
	// Release publishes a render: layers, whole and Desired, the whole last. What is
	// there already is not written again: an unchanged layer keeps its digest,
	// and so does an unchanged whole.
	Release(ctx context.Context, r Render) (Published, error)
	// Pack is what Release would publish, without publishing it: for what is
	// rendered during a rollback. Digests of it are known only approximately.
	Pack(ctx context.Context, r Render) (Published, error)
	// Desired is what was stored with a whole. The error wraps delivery.ErrGone where the whole, or what was stored
	// with it, is not there any more.
	Desired(ctx context.Context, digest string) (delivery.Desired, error)
	// Prune deletes what was published for wholes that are not wanted any more:
	// drop, with their layers, but for those that a whole of keep has too; and what
	// hand-overs left behind. It is called when nothing is handed over. A store
	// that cannot delete says so in left, in words for people, and is not asked
	// again.
	Prune(ctx context.Context, keep, drop []v1alpha1.Artifact) (left string, err error)
	// Remove takes away what must not outlive the Transform, after its delivery was
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

// Pointer is a store whose whole has an object that leads to it, which a rollback
// must have lead to an earlier one.
type Pointer interface {
	Point(ctx context.Context, digest string) error
}
