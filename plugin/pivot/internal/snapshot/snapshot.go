// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// Entry is an object of a snapshot.
type Entry struct {
	Ref plane.Ref `json:"ref"`
	// APIVersion is the version in which the object is read and created.
	APIVersion string `json:"apiVersion"`
	// UID is its UID on the source.
	UID string `json:"uid"`
	// Depth is 0 without an owner in the snapshot. Otherwise it is the greatest depth of its owners,
	// plus 1.
	Depth int `json:"depth"`
	// Stays means that the object is copied, and not deleted from the source, as others may use it.
	Stays bool `json:"stays,omitempty"`
	// ReportsPaused means that a controller sets the condition Paused. If the condition is missing
	// on the target, no controller has seen the object yet.
	ReportsPaused bool `json:"reportsPaused,omitempty"`
	// Digest is the SHA-256 of Object, in hex.
	Digest string `json:"digest"`
	// Object is the result of Canonical; nil in an outline.
	Object json.RawMessage `json:"object,omitempty"`
	// ManagedFields has the entries of server-side applies on the source, if there are any: without
	// them an apply after the move would not remove the fields that it owned.
	ManagedFields json.RawMessage `json:"managedFields,omitempty"`
}

// ImportAnnotation marks an object that is being imported, by the id of the pivot and the
// UID of the original. It is removed before the target is activated.
const ImportAnnotation = "pivot.ropewalk.dev/import"

// local returns the annotations that belong to a single plane.
func local() []string {
	return []string{ImportAnnotation, "clusterctl.cluster.x-k8s.io/block-move", "clusterctl.cluster.x-k8s.io/delete-for-move"}
}

// Canonical returns an object without the fields that belong to its plane: status, metadata of the
// server, UIDs of owners. The same object gives the same bytes on every plane. The object is not
// altered.
func Canonical(o *unstructured.Unstructured) (json.RawMessage, error) {
	top := make(map[string]any, len(o.Object))
	for k, v := range o.Object {
		top[k] = v
	}
	delete(top, "status")

	// Take the metadata that a user or a controller has set.
	before, _ := o.Object["metadata"].(map[string]any)
	metadata := map[string]any{}
	for _, k := range []string{"name", "namespace", "generateName", "labels", "finalizers"} {
		if v, ok := before[k]; ok {
			metadata[k] = v
		}
	}

	// Leave out annotations of this plane.
	annotations := o.GetAnnotations()
	for _, k := range local() {
		delete(annotations, k)
	}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}

	// Owners are known by name: their UIDs differ.
	var owners []map[string]any
	for _, r := range o.GetOwnerReferences() {
		owner := map[string]any{"apiVersion": r.APIVersion, "kind": r.Kind, "name": r.Name}
		if r.Controller != nil {
			owner["controller"] = *r.Controller
		}
		if r.BlockOwnerDeletion != nil {
			owner["blockOwnerDeletion"] = *r.BlockOwnerDeletion
		}
		owners = append(owners, owner)
	}
	if len(owners) > 0 {
		metadata["ownerReferences"] = owners
	}

	// Keys of maps are sorted.
	top["metadata"] = metadata
	data, err := json.Marshal(top)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", plane.RefOf(o), err)
	}
	return data, nil
}

// Sum returns the digest of the canonical form of an object.
func Sum(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

// Compare orders entries as an import and Digest do: by depth, then by name.
func (e *Entry) Compare(o *Entry) int {
	return cmp.Or(cmp.Compare(e.Depth, o.Depth), e.Ref.Compare(o.Ref))
}

// Digest returns the digest of all entries, which must be in the order of Compare. It covers their
// names, depths and digests.
func Digest(entries []Entry) string {
	hash := sha256.New()
	for _, e := range entries {
		// A hash takes all that is written to it.
		_, _ = fmt.Fprintf(hash, "%d\x00%s\x00%s\x00%t\x00%s\n", e.Depth, e.APIVersion, e.Ref, e.Stays, e.Digest)
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil))
}

// Outline returns the entries without their objects.
func Outline(entries []Entry) []Entry {
	out := slices.Clone(entries)
	for i := range out {
		out[i].Object, out[i].ManagedFields = nil, nil
	}
	return out
}
