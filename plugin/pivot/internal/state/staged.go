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

// staging keeps the chunks of a snapshot on the target, each in a Secret.
type staging struct{ h *handling }

// chunk returns the Ref of the Secret with a chunk of the receipt's snapshot.
func (s staging) chunk(index int) plane.Ref {
	const short = 10
	digest := snapshot.Sum([]byte(s.h.receipt.Digest))[:short]
	name := fmt.Sprintf("%s-%s-%d", ReceiptName(s.h.store.cluster.Name), digest, index)
	return plane.Ref{Kind: "Secret", Namespace: s.h.store.cluster.Namespace, Name: name}
}

// eachChunk calls f with each Secret with a chunk of the cluster.
func (s staging) eachChunk(ctx context.Context, f func(o *unstructured.Unstructured, digest string, index int) error) error {
	const page = 4 // A chunk is large.
	selector := ChunkLabel + "=" + labelValue(s.h.store.cluster.Name)
	return s.h.plane.Select(ctx, plane.SecretKind, s.h.store.cluster.Namespace, selector, page, func(o *unstructured.Unstructured) error {
		index, err := strconv.Atoi(o.GetAnnotations()[chunkIndex])
		if err != nil {
			index = -1
		}
		return f(o, o.GetAnnotations()[chunkOf], index)
	})
}

// checkStageable refuses chunks that come too late. It accepts chunks of the activated snapshot,
// because the activation cannot go on without them.
func (s staging) checkStageable() error {
	step := s.h.receipt.Step
	activated := step == Activating || step == Active
	if activated && s.h.receipt.Digest == s.h.request.Digest {
		return nil
	}
	return s.h.checkNotActive()
}

// checkStaging refuses chunks that checkStageable refuses, and chunks of another snapshot than the
// one that is being staged.
func (s staging) checkStaging() error {
	if err := s.checkStageable(); err != nil || s.h.receipt.Digest == s.h.request.Digest {
		return err
	}
	return refuse(Stale, "snapshot %q is not the one that is being staged, %q", s.h.request.Digest, s.h.receipt.Digest)
}

// stage keeps a chunk.
func (s staging) stage(ctx context.Context) error {
	if err := s.checkStaging(); err != nil {
		return err
	}

	// Check the chunk before it is written.
	c := s.h.request.Chunk
	if c == nil {
		return refuse(Failed, "no chunk")
	}
	inRange := c.Index >= 0 && c.Index < s.h.receipt.Chunks
	if len(c.Data) > snapshot.ChunkSize || !inRange {
		const format = "chunk %d of %d has %d bytes: at most %d are expected"
		return refuse(Corrupt, format, c.Index, s.h.receipt.Chunks, len(c.Data), snapshot.ChunkSize)
	}
	if err := c.Check(); err != nil {
		return &refusal{why: Corrupt, err: err}
	}

	// Write it, also in place of a damaged chunk. A chunk that is there already stays.
	r := s.chunk(c.Index)
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "pivot.ropewalk.dev/chunk",
		"metadata": map[string]any{
			"name": r.Name, "namespace": r.Namespace,
			"labels":      map[string]any{ChunkLabel: labelValue(s.h.store.cluster.Name)},
			"annotations": map[string]any{chunkOf: s.h.request.Digest, chunkIndex: strconv.Itoa(c.Index), chunkSum: c.Sum},
		},
		"data": map[string]any{chunkKey: base64.StdEncoding.EncodeToString(c.Data)},
	}}
	_, err := s.h.plane.Create(ctx, plane.SecretKind, o, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = s.h.plane.Update(ctx, plane.SecretKind, r, metav1.UpdateOptions{}, func(live *unstructured.Unstructured) error {
			if staged, err := chunkIn(live, c.Index); err == nil && staged.Sum == c.Sum {
				return plane.ErrUnchanged
			}
			o.SetResourceVersion(live.GetResourceVersion())
			live.Object = o.DeepCopy().Object
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("%s plane: staging chunk %d: %w", s.h.plane.Name(), c.Index, err)
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
	if err := c.Check(); err != nil {
		return snapshot.Chunk{}, err
	}
	return c, nil
}

// seal checks that the snapshot is completely staged.
func (s staging) seal(ctx context.Context) error {
	if err := s.checkStaging(); err != nil {
		return err
	}
	s.h.memory.entries, s.h.memory.digest = nil, ""
	entries, _, err := s.entries(ctx)
	if err != nil {
		return err
	}
	s.h.receipt.Objects = len(entries)
	if s.h.receipt.Step == Prepared {
		return s.h.save(ctx, Staged, "")
	}
	return nil
}

// entries returns the staged entries, and their kinds at the versions of the entries.
func (s staging) entries(ctx context.Context) ([]snapshot.Entry, plane.Kinds, error) {
	if err := s.decode(ctx); err != nil {
		return nil, nil, err
	}
	kinds := make(plane.Kinds, len(s.h.memory.kinds))
	for _, e := range s.h.memory.entries {
		k, err := s.h.memory.kinds.At(e.Ref, e.APIVersion)
		if err != nil {
			return nil, nil, refuse(Blocked, "%s plane: %w", s.h.plane.Name(), err)
		}
		kinds[e.Ref.GroupKind()] = k
	}
	s.h.used = kinds
	return s.h.memory.entries, kinds, nil
}

// decode reads the staged entries, and the kinds that the plane serves.
func (s staging) decode(ctx context.Context) error {
	if err := s.h.readKinds(ctx); err != nil {
		return err
	}
	if s.h.memory.digest != s.h.receipt.Digest || s.h.memory.entries == nil {
		// Read the chunks one by one, in their order.
		index := 0
		entries, err := snapshot.Decode(func() (snapshot.Chunk, error) {
			if index == s.h.receipt.Chunks {
				return snapshot.Chunk{}, io.EOF
			}
			o, err := s.h.plane.Get(ctx, plane.SecretKind, s.chunk(index))
			if plane.IgnoreNotFound(err) != nil {
				return snapshot.Chunk{}, err
			}
			if err != nil {
				return snapshot.Chunk{}, fmt.Errorf("chunk %d is missing: %w", index, snapshot.ErrCorrupt)
			}
			index++
			return chunkIn(o, index-1)
		}, s.h.receipt.Digest)

		// A damaged snapshot is staged again, and objects that are not accepted are refused.
		if errors.Is(err, snapshot.ErrCorrupt) {
			return &refusal{why: Corrupt, err: fmt.Errorf("%s plane: %w", s.h.plane.Name(), err)}
		}
		if err != nil {
			return fmt.Errorf("%s plane: reading what is staged: %w", s.h.plane.Name(), err)
		}
		if err := accept(s.h.accepts, entries, checkObject); err != nil {
			return err
		}
		s.h.memory.entries, s.h.memory.digest = entries, s.h.receipt.Digest
	}
	return nil
}

// unstage deletes the chunks of all snapshots except the one with the digest keep.
func (s staging) unstage(ctx context.Context, keep string) error {
	if keep == "" {
		s.h.memory.entries, s.h.memory.digest = nil, ""
	}
	return s.eachChunk(ctx, func(o *unstructured.Unstructured, digest string, _ int) error {
		if keep != "" && digest == keep {
			return nil
		}
		unchanged := func(*unstructured.Unstructured) error { return plane.ErrUnchanged }
		return s.h.plane.Remove(ctx, plane.SecretKind, plane.RefOf(o), metav1.UpdateOptions{}, unchanged)
	})
}
