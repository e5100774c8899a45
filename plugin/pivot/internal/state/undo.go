// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"slices"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/mover"
)

// abort undoes everything on the target. It may be called again for a pivot that is aborted. A
// request that is at work also writes the receipt, until it finds that the pivot is aborted.
func (h *handling) abort(ctx context.Context) error {
	return retryContested(func() error {
		err := h.undo(ctx)
		if errors.Is(err, ErrFenced) {
			r, failed := h.store.read(ctx)
			if failed != nil {
				return failed
			}
			h.receipt = r
		}
		return err
	})
}

func (h *handling) undo(ctx context.Context) error {
	r := h.receipt
	q := h.request
	switch {
	case r == nil || r.ID != q.Pivot:
		// What its receipt was lost of, or came too late for it, is still marked.
		return h.discard(ctx)
	case r.Epoch > q.Epoch:
		return refuse(Fenced, "epoch %d of pivot %q is over: the target is at epoch %d", q.Epoch, r.ID, r.Epoch)
	case r.Step == Aborted:
		return h.discard(ctx)
	case r.Step.Forward():
		return refuse(TooLate, "pivot %q is at step %s on the target: it can only go forward", r.ID, r.Step)
	}
	r.Epoch = q.Epoch
	if err := h.save(ctx, Aborting, ""); err != nil {
		return err
	}
	if err := h.discard(ctx); err != nil {
		return err
	}
	if err := h.unstage(ctx, ""); err != nil {
		return err
	}
	return h.save(ctx, Aborted, "")
}

// discard deletes what was imported from the snapshot that is staged. If that snapshot is damaged
// or unknown, it deletes what the source lists in the samples.
func (h *handling) discard(ctx context.Context) error {
	outline := h.request.Samples
	if r := h.receipt; r != nil && r.ID == h.request.Pivot && r.Digest != "" && r.Step != Aborted {
		var refused inventory.Findings // Nothing of what is not accepted was imported.
		switch err := h.decode(ctx); {
		case err == nil:
			outline = slices.Concat(h.staged, outline)
		case !isRefused(err, Corrupt) && !errors.As(err, &refused):
			return err
		}
	}
	if len(outline) == 0 {
		return nil
	}
	if err := h.readKinds(ctx); err != nil {
		return err
	}
	return mover.Discard(ctx, h.Plane, h.kinds, outline, h.request.Pivot)
}
