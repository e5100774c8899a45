// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"slices"
	"time"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// memory keeps the last decoded snapshot, and the kinds, between requests.
type memory struct {
	// entries belong to digest, the snapshot that was decoded last.
	entries []snapshot.Entry
	digest  string
	kinds   plane.Kinds
}

// handling is a request that the target carries out, with the receipt of its pivot.
type handling struct {
	plane *plane.Plane
	// accepts is Target.Accept.
	accepts  func(plane.Ref) error
	now      func() time.Time
	memory   *memory
	request  Request
	response Response
	store    *store
	receipt  *Receipt
	// used are the kinds of the moved objects; nil if they are not known yet.
	used plane.Kinds
}

// checkCurrent refuses requests of other pivots, epochs and snapshots. After Done a later epoch is
// accepted, because the receipt does not record it then.
func (h *handling) checkCurrent() error {
	r := h.receipt
	switch {
	case r == nil || r.ID != h.request.Pivot:
		return refuse(Fenced, "the target has no receipt of pivot %q of %s", h.request.Pivot, h.request.Cluster)
	case r.Epoch > h.request.Epoch || (r.Epoch < h.request.Epoch && r.Step != Done):
		return refuse(Fenced, "epoch %d of pivot %q is over: the target is at epoch %d", h.request.Epoch, r.ID, r.Epoch)
	case r.Round > h.request.Round:
		return refuse(Stale, "snapshot %d of pivot %q is not the last: the target has snapshot %d", h.request.Round, r.ID, r.Round)
	}
	return nil
}

// checkNotActive refuses requests that must not happen once a target is active or aborted.
func (h *handling) checkNotActive() error {
	if slices.Contains([]Step{Activating, Active, Done, Aborting, Aborted}, h.receipt.Step) {
		const format = "pivot %q is at step %s on the target: %s comes too late"
		return refuse(TooLate, format, h.receipt.ID, h.receipt.Step, h.request.Op)
	}
	return nil
}

// save writes the receipt at a step. Without a note, a receipt that is at the step already is left
// as it is.
func (h *handling) save(ctx context.Context, s Step, note string) error {
	if h.receipt.Step == s && note == "" {
		return nil
	}
	h.receipt.setStep(s, h.now(), note)
	return h.store.write(ctx, h.receipt)
}

// readKinds reads the kinds that the plane serves, once.
func (h *handling) readKinds(ctx context.Context) error {
	if h.memory.kinds != nil {
		return nil
	}
	kinds, err := h.plane.Kinds(ctx)
	if err == nil {
		h.memory.kinds = kinds
	}
	return err
}
