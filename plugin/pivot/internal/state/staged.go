// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// Annotations of the Secret of a chunk.
const (
	chunkOf    = "pivot.ropewalk.dev/digest"
	chunkIndex = "pivot.ropewalk.dev/index"
	chunkSum   = "pivot.ropewalk.dev/sum"
	chunkKey   = "chunk"
)

// chunk returns the Ref of the Secret of a chunk of the snapshot of the receipt.
func (h *handling) chunk(index int) plane.Ref {
	const short = 10
	digest := snapshot.Sum([]byte(h.receipt.Digest))[:short]
	return plane.Ref{Kind: "Secret", Namespace: h.store.cluster.Namespace, Name: fmt.Sprintf("%s-%s-%d", ReceiptName(h.store.cluster.Name), digest, index)}
}

// eachChunk calls f with each Secret with a chunk of the cluster.
func (h *handling) eachChunk(ctx context.Context, f func(o *unstructured.Unstructured, digest string, index int) error) error {
	const page = 4 // A chunk is large.
	selector := ChunkLabel + "=" + labelValue(h.store.cluster.Name)
	return h.Plane.Select(ctx, plane.SecretKind, h.store.cluster.Namespace, selector, page, func(o *unstructured.Unstructured) error {
		index, err := strconv.Atoi(o.GetAnnotations()[chunkIndex])
		if err != nil {
			index = -1
		}
		return f(o, o.GetAnnotations()[chunkOf], index)
	})
}

// checkStageable refuses chunks that come too late. It accepts those of the snapshot that was
// activated, because without them its activation could not go on.
func (h *handling) checkStageable() error {
	if s := h.receipt.Step; (s == Activating || s == Active) && h.receipt.Digest == h.request.Digest {
		return nil
	}
	return h.checkNotActive()
}

// checkStaging refuses chunks that checkStageable refuses, and those of another snapshot than the
// one that is being staged.
func (h *handling) checkStaging() error {
	if err := h.checkStageable(); err != nil || h.receipt.Digest == h.request.Digest {
		return err
	}
	return refuse(Stale, "snapshot %q is not the one that is being staged, %q", h.request.Digest, h.receipt.Digest)
}

// reportHeld puts the chunks that are staged into the response. A new snapshot begins with it:
// what was staged of another one is removed.
func (h *handling) reportHeld(ctx context.Context) error {
	if err := h.checkStageable(); err != nil {
		return err
	}
	if err := h.checkPlane(ctx); err != nil {
		return err
	}

	// A new snapshot begins without anything of the one before.
	if h.receipt.Digest != h.request.Digest {
		// An object of the snapshot before may be none of the new one.
		if err := h.discard(ctx); err != nil {
			return err
		}
		h.receipt.Digest = h.request.Digest
		h.receipt.Round = h.request.Round
		h.receipt.Chunks = h.request.Chunks
		h.receipt.Objects = 0
		if err := h.save(ctx, Prepared, "a snapshot"); err != nil {
			return err
		}
	}
	if err := h.unstage(ctx, h.request.Digest); err != nil {
		return err
	}

	// Chunks that are damaged are sent again.
	h.response.Held = map[int]string{}
	return h.eachChunk(ctx, func(o *unstructured.Unstructured, _ string, index int) error {
		if c, err := chunkIn(o, index); err == nil {
			h.response.Held[index] = c.Sum
		}
		return nil
	})
}

// stage keeps one chunk.
func (h *handling) stage(ctx context.Context) error {
	if err := h.checkStaging(); err != nil {
		return err
	}

	// Check the chunk before it is written.
	c := h.request.Chunk
	if c == nil {
		return refuse(Failed, "no chunk")
	}
	if len(c.Data) > snapshot.ChunkSize || c.Index < 0 || c.Index >= h.receipt.Chunks {
		return refuse(Corrupt, "chunk %d of %d has %d bytes: at most %d are expected", c.Index, h.receipt.Chunks, len(c.Data), snapshot.ChunkSize)
	}
	if err := c.Check(); err != nil {
		return &refusal{why: Corrupt, err: err}
	}

	// Write it, in place of a damaged one. A chunk that is there already stays.
	r := h.chunk(c.Index)
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "pivot.ropewalk.dev/chunk",
		"metadata": map[string]any{
			"name": r.Name, "namespace": r.Namespace,
			"labels":      map[string]any{ChunkLabel: labelValue(h.store.cluster.Name)},
			"annotations": map[string]any{chunkOf: h.request.Digest, chunkIndex: strconv.Itoa(c.Index), chunkSum: c.Sum},
		},
		"data": map[string]any{chunkKey: base64.StdEncoding.EncodeToString(c.Data)},
	}}
	_, err := h.Plane.Create(ctx, plane.SecretKind, o, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = h.Plane.Update(ctx, plane.SecretKind, r, metav1.UpdateOptions{}, func(live *unstructured.Unstructured) error {
			if had, err := chunkIn(live, c.Index); err == nil && had.Sum == c.Sum {
				return plane.ErrUnchanged
			}
			o.SetResourceVersion(live.GetResourceVersion())
			live.Object = o.DeepCopy().Object
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("%s plane: staging chunk %d: %w", h.Plane.Name(), c.Index, err)
	}
	return nil
}

// chunkIn reads a chunk from its Secret.
func chunkIn(o *unstructured.Unstructured, index int) (snapshot.Chunk, error) {
	text, _, _ := unstructured.NestedString(o.Object, "data", chunkKey)
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return snapshot.Chunk{}, fmt.Errorf("%s: %w: it is not base64", plane.RefOf(o), snapshot.ErrCorrupt)
	}
	c := snapshot.Chunk{Index: index, Sum: o.GetAnnotations()[chunkSum], Data: data}
	return c, c.Check()
}

// seal checks that the snapshot is staged as a whole.
func (h *handling) seal(ctx context.Context) error {
	if err := h.checkStaging(); err != nil {
		return err
	}
	h.staged, h.digest = nil, ""
	entries, _, err := h.entries(ctx)
	if err != nil {
		return err
	}
	h.receipt.Objects = len(entries)
	if h.receipt.Step == Prepared {
		return h.save(ctx, Staged, "")
	}
	return nil
}

// entries returns the entries that are staged, and their kinds at the versions that they have.
func (h *handling) entries(ctx context.Context) ([]snapshot.Entry, plane.Kinds, error) {
	if err := h.decode(ctx); err != nil {
		return nil, nil, err
	}
	kinds := make(plane.Kinds, len(h.kinds))
	for _, e := range h.staged {
		k, err := h.kinds.At(e.Ref, e.APIVersion)
		if err != nil {
			return nil, nil, refuse(Blocked, "%s plane: %w", h.Plane.Name(), err)
		}
		kinds[e.Ref.GroupKind()] = k
	}
	h.used = kinds
	return h.staged, kinds, nil
}

// decode reads what is staged, and the kinds that are served.
func (h *handling) decode(ctx context.Context) error {
	if err := h.readKinds(ctx); err != nil {
		return err
	}
	if h.digest != h.receipt.Digest || h.staged == nil {
		// Read the chunks one by one, in their order.
		index := 0
		entries, err := snapshot.Decode(func() (snapshot.Chunk, error) {
			if index == h.receipt.Chunks {
				return snapshot.Chunk{}, io.EOF
			}
			o, err := h.Plane.Get(ctx, plane.SecretKind, h.chunk(index))
			if plane.IgnoreNotFound(err) != nil {
				return snapshot.Chunk{}, err
			}
			if err != nil {
				return snapshot.Chunk{}, fmt.Errorf("chunk %d is missing: %w", index, snapshot.ErrCorrupt)
			}
			index++
			return chunkIn(o, index-1)
		}, h.receipt.Digest)

		// What is damaged is staged again, and what is not accepted is refused.
		if errors.Is(err, snapshot.ErrCorrupt) {
			return &refusal{why: Corrupt, err: fmt.Errorf("%s plane: %w", h.Plane.Name(), err)}
		}
		if err != nil {
			return fmt.Errorf("%s plane: reading what is staged: %w", h.Plane.Name(), err)
		}
		if err := h.accept(entries, checkObject); err != nil {
			return err
		}
		h.staged, h.digest = entries, h.receipt.Digest
	}
	return nil
}

// unstage deletes the chunks of all snapshots but one.
func (h *handling) unstage(ctx context.Context, keep string) error {
	if keep == "" {
		h.staged, h.digest = nil, ""
	}
	return h.eachChunk(ctx, func(o *unstructured.Unstructured, digest string, _ int) error {
		if keep != "" && digest == keep {
			return nil
		}
		return h.Plane.Remove(ctx, plane.SecretKind, plane.RefOf(o), metav1.UpdateOptions{}, func(*unstructured.Unstructured) error { return plane.ErrUnchanged })
	})
}
