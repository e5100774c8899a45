// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/mover"
)

// clearing removes the objects of a pivot, or of an earlier snapshot, from the target.
type clearing struct {
	h       *handling
	staging staging
}

// abort undoes the pivot on the target. It may be called again for a pivot that is aborted. Another
// request may write the receipt meanwhile, until it finds that the pivot is aborted.
func (c clearing) abort(ctx context.Context) error {
	return retryContested(func() error {
		err := c.undo(ctx)
		if errors.Is(err, ErrFenced) {
			r, failed := c.h.store.read(ctx)
			if failed != nil {
				return failed
			}
			c.h.receipt = r
		}
		return err
	})
}

// undo undoes the pivot, unless the target is in charge.
func (c clearing) undo(ctx context.Context) error {
	r := c.h.receipt
	q := c.h.request
	switch {
	case r == nil || r.ID != q.Pivot:
		// Its receipt was lost, or objects came too late for it: they are still marked.
		return c.discard(ctx)
	case r.Epoch > q.Epoch:
		return refuse(Fenced, "epoch %d of pivot %q is over: the target is at epoch %d", q.Epoch, r.ID, r.Epoch)
	case r.Step == Aborted:
		return c.discard(ctx)
	case r.Step.Forward():
		return refuse(TooLate, "pivot %q is at step %s on the target: it can only go forward", r.ID, r.Step)
	}
	r.Epoch = q.Epoch
	if err := c.h.save(ctx, Aborting, ""); err != nil {
		return err
	}
	if err := c.discard(ctx); err != nil {
		return err
	}
	if err := c.staging.unstage(ctx, ""); err != nil {
		return err
	}
	return c.h.save(ctx, Aborted, "")
}

// discard deletes the objects that were imported from the staged snapshot. If that snapshot is
// damaged or unknown, it deletes the objects that the source lists in the samples.
func (c clearing) discard(ctx context.Context) error {
	outline := c.h.request.Samples
	r := c.h.receipt
	isPivot := r != nil && r.ID == c.h.request.Pivot
	if isPivot && r.Digest != "" && r.Step != Aborted {
		var refused inventory.Findings // Of a snapshot that is not accepted, nothing was imported.
		switch err := c.staging.decode(ctx); {
		case err == nil:
			outline = slices.Concat(c.h.memory.entries, outline)
		case !isRefused(err, Corrupt) && !errors.As(err, &refused):
			return err
		}
	}
	if len(outline) == 0 {
		return nil
	}
	if err := c.h.readKinds(ctx); err != nil {
		return err
	}
	return mover.Discard(ctx, c.h.plane, c.h.memory.kinds, outline, c.h.request.Pivot)
}

// reportHeld puts the staged chunks into the response. A new snapshot begins with it: chunks of
// other snapshots are removed.
func (c clearing) reportHeld(ctx context.Context) error {
	if err := c.staging.checkStageable(); err != nil {
		return err
	}
	if err := c.h.checkPlane(ctx); err != nil {
		return err
	}

	// A new snapshot begins without the objects of the old one, as it may not have all of them.
	if c.h.receipt.Digest != c.h.request.Digest {
		if err := c.discard(ctx); err != nil {
			return err
		}
		c.h.receipt.Digest = c.h.request.Digest
		c.h.receipt.Round = c.h.request.Round
		c.h.receipt.Chunks = c.h.request.Chunks
		c.h.receipt.Objects = 0
		if err := c.h.save(ctx, Prepared, "a snapshot"); err != nil {
			return err
		}
	}
	if err := c.staging.unstage(ctx, c.h.request.Digest); err != nil {
		return err
	}

	// Chunks that are damaged are sent again.
	c.h.response.Held = map[int]string{}
	return c.staging.eachChunk(ctx, func(o *unstructured.Unstructured, _ string, index int) error {
		if chunk, err := chunkIn(o, index); err == nil {
			c.h.response.Held[index] = chunk.Sum
		}
		return nil
	})
}
