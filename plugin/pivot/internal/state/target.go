// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/mover"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/preflight"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// Target is the end that the objects move to. It is a Link to itself: the next hop, if there
// is one, only carries the messages.
type Target struct {
	Plane *plane.Plane
	// Accept returns an error for an object that the target does not take from a source; nil
	// takes all. Nothing of a snapshot is created where it has one that is not taken.
	Accept func(plane.Ref) error
	// Now is the clock; time.Now where nil.
	Now func() time.Time

	// One request after the other, as all of them end with the receipt.
	mu sync.Mutex
	// staged are the entries of the digest that was decoded last.
	staged []snapshot.Entry
	digest string
	kinds  plane.Kinds
}

var _ Link = (*Target)(nil)

// settleWithin is how long controllers have to see that a Cluster is paused, or is not.
const settleWithin = 5 * time.Minute

// refusal is the error of a request that is not carried out.
type refusal struct {
	why      Refusal
	findings inventory.Findings
	err      error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// Is reports whether target is ErrStep, and only a user can change the reason of the refusal.
func (r *refusal) Is(target error) bool {
	return target == ErrStep && (r.why == Blocked || r.why == TooLate)
}

func refuse(why Refusal, format string, args ...any) error {
	return &refusal{why: why, err: fmt.Errorf(format, args...)}
}

// Call implements [Link]. Its error is nil unless ctx has ended: what is wrong is in the response.
func (t *Target) Call(ctx context.Context, r Request) (Response, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := handling{
		Target: t, request: r,
		store: &store{plane: t.Plane, cluster: types.NamespacedName{Namespace: r.Cluster.Namespace, Name: r.Cluster.Name}},
	}

	// After ctx has ended it is not known what was carried out.
	err := h.handle(ctx)
	if ctx.Err() != nil {
		return Response{}, ctx.Err()
	}

	// Map the error to the reason of a refusal.
	out := h.response
	out.Receipt = h.receipt
	var refused *refusal
	var findings inventory.Findings
	switch {
	case err == nil:
	case errors.As(err, &refused):
		out.Refused = refused.why
		out.Message = err.Error()
		out.Findings = refused.findings
	case errors.As(err, &findings):
		out.Refused = Blocked
		out.Message = err.Error()
		out.Findings = findings
	case plane.IsTemporary(err):
		out.Refused = Unavailable
		out.Message = err.Error()
	default:
		out.Refused = Failed
		out.Message = err.Error()
	}
	return out, nil
}

// handling is one request.
type handling struct {
	*Target
	request  Request
	response Response
	store    *store
	receipt  *Receipt
	// used are the kinds of what moves; nil where they are not known yet.
	used plane.Kinds
}

func (h *handling) handle(ctx context.Context) (err error) {
	if err := h.checkAcceptable(); err != nil {
		return err
	}
	h.receipt, err = h.store.read(ctx)
	if err != nil {
		return err
	}
	type handler = func(context.Context) error
	if f, ok := map[Op]handler{Hello: h.answerHello, Check: h.check, Prepare: h.prepare, Abort: h.abort}[h.request.Op]; ok {
		return f(ctx)
	}
	if err := h.checkCurrent(); err != nil {
		return err
	}
	f, ok := map[Op]handler{
		Held: h.reportHeld, Stage: h.stage, Seal: h.seal, Import: h.importObjects, Verify: h.verify,
		Ready: h.checkReady, Activate: h.activate, Confirm: h.confirm, Finish: h.finish,
	}[h.request.Op]
	if !ok {
		return refuse(Failed, "unknown operation %q: both ends must have the same version", h.request.Op)
	}
	return f(ctx)
}

// checkCurrent refuses requests of other pivots, epochs and snapshots. After Done a later epoch is
// accepted, because none is written to the receipt then.
func (h *handling) checkCurrent() error {
	r := h.receipt
	switch {
	case r == nil || r.ID != h.request.Pivot:
		return refuse(Fenced, "the target has no receipt of pivot %q of %s", h.request.Pivot, h.request.Cluster)
	case r.Epoch > h.request.Epoch || r.Epoch < h.request.Epoch && r.Step != Done:
		return refuse(Fenced, "epoch %d of pivot %q is over: the target is at epoch %d", h.request.Epoch, r.ID, r.Epoch)
	case r.Round > h.request.Round:
		return refuse(Stale, "snapshot %d of pivot %q is not the last: the target has snapshot %d", h.request.Round, r.ID, r.Round)
	}
	return nil
}

// checkNotActive refuses what must not happen once a target is active or aborted.
func (h *handling) checkNotActive() error {
	if slices.Contains([]Step{Activating, Active, Done, Aborting, Aborted}, h.receipt.Step) {
		return refuse(TooLate, "pivot %q is at step %s on the target: %s comes too late", h.receipt.ID, h.receipt.Step, h.request.Op)
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

func (t *Target) now() time.Time {
	if t.Now == nil {
		return time.Now()
	}
	return t.Now()
}

func (h *handling) answerHello(ctx context.Context) error {
	uid, err := h.Plane.UID(ctx)
	if err != nil {
		return err
	}
	h.kinds = nil // They may have changed.
	if err := h.readKinds(ctx); err != nil {
		return err
	}
	h.response.Plane = &Peer{UID: uid, Server: h.Plane.Server()}
	h.response.Kinds = list(h.kinds)
	h.response.Providers = preflight.Providers(ctx, h.Plane, h.kinds)
	return nil
}

// readKinds reads the kinds that the plane serves, once.
func (h *handling) readKinds(ctx context.Context) error {
	if h.kinds != nil {
		return nil
	}
	kinds, err := h.Plane.Kinds(ctx)
	if err == nil {
		h.kinds = kinds
	}
	return err
}

// check runs the preflight of the target.
func (h *handling) check(ctx context.Context) error {
	there, err := h.namespace(ctx)
	if err != nil {
		return err
	}
	findings := preflight.Target(ctx, h.Plane, mapped(h.request.Kinds), h.request.Samples, there != nil)
	if len(findings) > 0 {
		return findings
	}
	if there == nil {
		h.response.Notes = []string{fmt.Sprintf("webhooks and policies of the target were not tried, as namespace %q is not there: a run tries them once it has made the namespace", h.request.Cluster.Namespace)}
	}
	return nil
}

func (h *handling) prepare(ctx context.Context) error {
	// A pivot that is known needs no more than its epoch. Others must have ended.
	r := h.receipt
	q := h.request
	switch {
	case r != nil && r.ID == q.Pivot && r.Epoch > q.Epoch:
		return refuse(Fenced, "epoch %d of pivot %q is over: the target is at epoch %d", q.Epoch, r.ID, r.Epoch)
	case r != nil && r.ID == q.Pivot && (r.Epoch == q.Epoch || r.Step == Done):
		return nil // What is done needs no fence: an agent has given up the right to write by then.
	case r != nil && r.ID == q.Pivot:
		r.Epoch = q.Epoch
		return h.store.write(ctx, r)
	case r != nil && slices.Contains(r.Past, q.Pivot):
		return refuse(TooLate, "%s plane: pivot %q of %s has ended", h.Plane.Name(), q.Pivot, q.Cluster)
	case r != nil && !r.Step.Ended() && !r.empty():
		return refuse(Blocked, "%s plane: %s has a pivot %q as %s at step %s: finish or abort that one first", h.Plane.Name(), q.Cluster, r.ID, r.Role, r.Step)
	case q.Source == nil:
		return refuse(Failed, "no source")
	}

	// Make the namespace if it is not there.
	uid, err := h.Plane.UID(ctx)
	if err != nil {
		return err
	}
	if there, err := h.namespace(ctx); err != nil {
		return err
	} else if there == nil {
		ns := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": q.Cluster.Namespace}}}
		if _, err := h.Plane.Create(ctx, plane.NamespaceKind, ns, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("%s plane: creating namespace %q: %w", h.Plane.Name(), q.Cluster.Namespace, err)
		}
	}

	// Begin with a receipt, at Active if the target was in charge before.
	h.receipt = &Receipt{
		ID: q.Pivot, Role: RoleTarget, Epoch: q.Epoch, Cluster: q.Cluster,
		Source: *q.Source, Target: Peer{UID: uid, Server: h.Plane.Server()}, Past: r.past(),
	}
	if q.Active {
		h.receipt.Round = q.Round
		h.receipt.Digest = q.Digest
		h.receipt.Chunks = q.Chunks
		return h.save(ctx, Active, "the receipt was lost")
	}
	return h.save(ctx, Prepared, "")
}

// importObjects creates the objects, or brings them to what is staged.
func (h *handling) importObjects(ctx context.Context) error {
	if err := h.checkSealed(); err != nil || h.receipt.Step == Verified {
		return err // What is verified is not imported again, by a request that comes late.
	}
	entries, kinds, err := h.entries(ctx)
	if err != nil {
		return err
	}
	if err := mover.Import(ctx, h.Plane, kinds, entries, h.receipt.ID, h.checkFence); err != nil {
		return err
	}
	return h.save(ctx, Imported, "")
}

// checkSealed refuses requests that need a snapshot that is staged as a whole, and is not active
// yet.
func (h *handling) checkSealed() error {
	if err := h.checkNotActive(); err != nil {
		return err
	}
	if h.receipt.Step == Prepared || h.receipt.Digest != h.request.Digest {
		return refuse(Stale, "snapshot %q is not staged: the target is at step %s of %q", h.request.Digest, h.receipt.Step, h.receipt.Digest)
	}
	return nil
}

// checkFence refuses to write after another process has taken over, or to a plane that loses the
// objects.
func (h *handling) checkFence(ctx context.Context) error {
	live, err := Read(ctx, h.Plane, h.store.cluster)
	if err != nil {
		return err
	}
	if live == nil || live.ID != h.receipt.ID || live.Epoch != h.receipt.Epoch || live.Step == Aborting || live.Step == Aborted {
		return refuse(Fenced, "%s plane: its receipt is not of epoch %d of pivot %q any more", h.Plane.Name(), h.receipt.Epoch, h.receipt.ID)
	}
	return h.checkPlane(ctx)
}

// verify reads back what was imported, and waits until the controllers of the target have seen it.
func (h *handling) verify(ctx context.Context) error {
	if err := h.checkSealed(); err != nil {
		return err
	}
	if err := h.checkPlane(ctx); err != nil {
		return err
	}

	// Read all back, and collect what is wrong.
	entries, kinds, err := h.entries(ctx)
	if err != nil {
		return err
	}
	checks, err := mover.ReadBack(ctx, h.Plane, kinds, entries, h.receipt.ID)
	if err != nil {
		return err
	}
	read := snapshot.Outline(entries)
	var wrong inventory.Findings
	for i, c := range checks {
		read[i].Digest = c.Digest
		if c.Problem != "" {
			wrong = append(wrong, inventory.Finding{Ref: c.Ref, Problem: "on the target: " + c.Problem, Advice: c.Advice})
		}
	}

	// What differs is imported again by the source.
	h.response.Digest = snapshot.Digest(read)
	if len(wrong) > 0 || h.response.Digest != h.receipt.Digest {
		if h.receipt.Step == Verified { // It was so, and an import may mend it.
			if err := h.save(ctx, Imported, "not as it was verified"); err != nil {
				return err
			}
		}
		return &refusal{why: Differs, findings: wrong, err: fmt.Errorf("what was imported is not what was sent: %w", wrong)}
	}

	// The controllers of the target must run, and the plane must last.
	if err := mover.AwaitImported(ctx, h.Plane, kinds, entries, settleWithin); err != nil {
		return err
	}
	if err := h.checkPlane(ctx); err != nil {
		return err
	}
	return h.save(ctx, Verified, "")
}

func (h *handling) activate(ctx context.Context) error {
	r := h.receipt
	switch {
	case r.Digest != h.request.Digest:
		return refuse(Stale, "snapshot %q is not the one that was verified, %q", h.request.Digest, r.Digest)
	case r.Step == Active || r.Step == Done:
		return nil
	case r.Step != Verified && r.Step != Activating:
		return refuse(TooLate, "pivot %q is at step %s on the target: only what is verified can be activated", r.ID, r.Step)
	}
	return h.unpause(ctx, "")
}

// unpause activates what is staged, if the plane is not about to lose it.
func (h *handling) unpause(ctx context.Context, note string) error {
	entries, kinds, err := h.entries(ctx)
	if err != nil {
		return err
	}
	if err := h.checkPlane(ctx); err != nil {
		return err
	}
	if err := h.save(ctx, Activating, note); err != nil {
		return err
	}
	if err := mover.Activate(ctx, h.Plane, kinds, entries, h.receipt.ID, h.checkFence); err != nil {
		return err
	}
	return h.save(ctx, Active, "")
}

func (h *handling) confirm(ctx context.Context) error {
	if h.receipt.Step == Done {
		return nil
	}
	if h.receipt.Step != Active {
		return refuse(TooLate, "pivot %q is at step %s on the target: it is not active", h.receipt.ID, h.receipt.Step)
	}
	entries, kinds, err := h.entries(ctx)
	if err != nil {
		return err
	}
	if err := h.checkPlane(ctx); err != nil {
		return err
	}
	return mover.AwaitActive(ctx, h.Plane, kinds, entries, settleWithin)
}

func (h *handling) finish(ctx context.Context) error {
	switch h.receipt.Step {
	case Done:
		return nil
	case Active:
	default:
		return refuse(TooLate, "pivot %q is at step %s on the target: it is not active", h.receipt.ID, h.receipt.Step)
	}
	if err := h.unstage(ctx, ""); err != nil {
		return err
	}
	return h.save(ctx, Done, "")
}
