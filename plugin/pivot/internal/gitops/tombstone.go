// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/manifest"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// TypeTombstone is the artifact type of a tombstone, and the media type of its JSON.
const TypeTombstone = "application/vnd.ropewalk.tombstone.v1+json"

// maxTombstone bounds the bytes of the JSON that is read.
const maxTombstone = 64 << 10

// ErrAnother means that the tombstone of a name belongs to another cluster, or to another pivot.
var ErrAnother = errors.New("the tombstone of another cluster")

// Tombstone records that a cluster is in charge of itself.
type Tombstone struct {
	// Cluster is the name of the PivotCluster on the parent, Namespace the namespace of its objects,
	// and UID its UID.
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	UID       string `json:"uid"`
	// Parent was the source of the pivot, and Target is the cluster itself.
	Parent state.Peer `json:"parent"`
	Target state.Peer `json:"target"`
	// Pivot is the ID of the pivot, and Digest the digest of its snapshot.
	Pivot  string `json:"pivot"`
	Digest string `json:"digest"`
	// At is the time of the commit. If the cluster itself writes the tombstone, it is the time at
	// which the cluster was activated.
	At time.Time `json:"at"`

	// Artifact is the digest of the artifact; "" if only the policy was found.
	Artifact string `json:"-"`
}

// String returns the PivotCluster of the tombstone, its parent and its pivot.
func (t Tombstone) String() string {
	const format = "PivotCluster %q with UID %s of the parent with UID %s (pivot %q, committed at %s)"
	return fmt.Sprintf(format, t.Cluster, t.UID, t.Parent.UID, t.Pivot, t.At.Format(time.RFC3339))
}

// same reports whether two tombstones belong to the same pivot.
func (t Tombstone) same(o Tombstone) bool {
	sameCluster := t.Cluster == o.Cluster && t.Namespace == o.Namespace && t.UID == o.UID
	return sameCluster && t.Parent.UID == o.Parent.UID && t.Pivot == o.Pivot
}

// Tag returns the tag of the tombstone of a PivotCluster.
func Tag(cluster string) string { return "tombstone-" + cluster }

// tombstone returns the tombstone of a receipt. It is the same for the same receipt, whenever it
// is made.
func (g *GitOps) tombstone(r *state.Receipt) Tombstone {
	return Tombstone{
		Cluster:   g.Cluster.Name,
		Namespace: g.Cluster.ClusterNamespace(),
		UID:       string(g.Cluster.UID),
		Parent:    r.Source,
		Target:    r.Target,
		Pivot:     r.ID,
		Digest:    r.Digest,
		At:        r.When(state.Committed),
	}
}

// Record writes the tombstone from the cluster itself, once the cluster is in charge: its parent may
// have been lost before it wrote the tombstone. The cluster passes its own receipt, and the UID of
// its PivotCluster on the parent. It returns the digest of the artifact.
func (g *GitOps) Record(ctx context.Context, r *state.Receipt, uid string) (string, error) {
	if !r.InCharge() {
		return "", fmt.Errorf("pivot %q is at step %s of its %s: the cluster is not in charge of itself", r.ID, r.Step, r.Role)
	}
	t := g.tombstone(r)
	t.UID = uid
	t.At = r.When(state.Active)
	t, err := g.push(ctx, t)
	return t.Artifact, err
}

// open returns the repository of spec.output.
func (g *GitOps) open(ctx context.Context) (artifact.Store, error) {
	if g.Cluster.Spec.Output.OCI == nil {
		return nil, fmt.Errorf("PivotCluster %q: spec.output.oci: it is needed for the tombstone", g.Cluster.Name)
	}
	return g.Open(ctx, &v1alpha1.Transform{
		ObjectMeta: metav1.ObjectMeta{Namespace: g.Cluster.ClusterNamespace(), Name: g.Cluster.Name},
		Spec:       v1alpha1.TransformSpec{Output: g.Cluster.Spec.Output.DeepCopy(), ServiceAccountName: g.ServiceAccount},
	})
}

// artifactName returns the name of the artifact in messages.
func (g *GitOps) artifactName() string {
	return g.Cluster.Spec.Output.OCI.Repository + ":" + Tag(g.Cluster.Name)
}

// push writes the artifact, unless it is there, and reads it back.
func (g *GitOps) push(ctx context.Context, t Tombstone) (stored Tombstone, err error) {
	store, err := g.open(ctx)
	if err != nil {
		return stored, err
	}
	stored, found, err := g.pull(ctx, store)
	if err != nil {
		return stored, err
	}
	if !found {
		if err := g.send(ctx, store, t); err != nil {
			return stored, remote.Explain(err, g.artifactName())
		}
		stored, found, err = g.pull(ctx, store)
		if err != nil {
			return stored, err
		}
	}

	// The artifact must be there, and belong to this pivot.
	if !found {
		return stored, fmt.Errorf("%s: it was pushed, and is not there: see why the registry loses it", g.artifactName())
	}
	if !stored.same(t) {
		const format = "%s: %w: it is that of %s, and not of %s: if that cluster is gone, delete the tag by hand, see the guide"
		return stored, fmt.Errorf(format, g.artifactName(), ErrAnother, stored, t)
	}
	return stored, nil
}

// send writes the artifact. The same tombstone always gives the same bytes.
func (g *GitOps) send(ctx context.Context, store artifact.Store, t Tombstone) error {
	data, err := manifest.Encode(t)
	if err != nil {
		return err
	}
	config := manifest.Describe(ocispec.MediaTypeEmptyJSON, []byte(manifest.EmptyJSON))
	content := manifest.Describe(TypeTombstone, data)
	top, err := manifest.Encode(manifest.Image{
		SchemaVersion: 2,
		MediaType:     artifact.TypeManifest,
		ArtifactType:  TypeTombstone,
		Config:        manifest.Plain(config),
		Layers:        []manifest.Descriptor{manifest.Plain(content)},
		Annotations:   map[string]string{artifact.AnnotationCreated: t.At.UTC().Format(time.RFC3339)},
	})
	if err != nil {
		return err
	}

	// The tag comes last, so that it never names a missing blob.
	for _, blob := range []struct {
		at   ocispec.Descriptor
		data string
	}{{config, manifest.EmptyJSON}, {content, string(data)}} {
		if err := store.Push(ctx, blob.at, strings.NewReader(blob.data)); err != nil {
			return err
		}
	}
	return store.PushReference(ctx, manifest.Describe(artifact.TypeManifest, top), bytes.NewReader(top), Tag(g.Cluster.Name))
}

// pull reads the artifact, and reports whether its tag exists. A tag whose content cannot be read is
// an error.
func (g *GitOps) pull(ctx context.Context, store artifact.Store) (t Tombstone, found bool, err error) {
	// Resolve the tag.
	top, err := store.Resolve(ctx, Tag(g.Cluster.Name))
	if manifest.Missing(err) {
		return t, false, nil
	}
	if err != nil {
		return t, false, remote.Explain(err, g.artifactName())
	}
	m, _, err := manifest.Read(ctx, store, top)
	if err != nil {
		return t, false, remote.Explain(err, g.artifactName())
	}

	// Read the tombstone.
	if m.ArtifactType != TypeTombstone || len(m.Layers) != 1 {
		const format = "%s is no tombstone, but of type %q: nothing else may have this tag: delete it, or use another repository"
		return t, false, fmt.Errorf(format, g.artifactName(), m.Type())
	}
	data, err := manifest.ReadAll(ctx, store, m.Layers[0], maxTombstone)
	if err != nil {
		return t, false, remote.Explain(err, g.artifactName())
	}
	t, err = g.decode(data)
	if err != nil {
		return t, false, fmt.Errorf("%s: %w", g.artifactName(), err)
	}
	t.Artifact = top.Digest.String()
	return t, true, nil
}

// decode reads the JSON of a tombstone of the cluster.
func (g *GitOps) decode(data []byte) (t Tombstone, err error) {
	if err := json.Unmarshal(data, &t); err != nil {
		return Tombstone{}, fmt.Errorf("it is no tombstone: %w", err)
	}
	isOurs := t.Cluster == g.Cluster.Name && t.Namespace == g.Cluster.ClusterNamespace()
	if !isOurs || t.UID == "" || t.Pivot == "" {
		return Tombstone{}, fmt.Errorf("%w: it is that of %s, expected one of PivotCluster %q", ErrAnother, t, g.Cluster.Name)
	}
	return t, nil
}
