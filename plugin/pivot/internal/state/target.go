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
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/preflight"
)

// Target is the end that receives the objects. It is a Link itself: other Links only carry the
// messages to it.
type Target struct {
	Plane *plane.Plane
	// Accept returns an error for an object that the target does not take from a source. A snapshot
	// with such an object is refused as a whole. If Accept is nil, all objects are taken.
	Accept func(plane.Ref) error
	// Now is the clock; time.Now if nil.
	Now func() time.Time

	// mu lets requests run one after the other, as all of them end with the receipt.
	mu sync.Mutex
	// memory is kept from one request to the next.
	memory memory
}

var _ Link = (*Target)(nil)

// Call implements [Link]. Its error is nil unless ctx has ended: other errors are in the response.
func (t *Target) Call(ctx context.Context, r Request) (Response, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.handling(types.NamespacedName{Namespace: r.Cluster.Namespace, Name: r.Cluster.Name}, r)

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

// handling returns the handling of a request about a Cluster.
func (t *Target) handling(cluster types.NamespacedName, r Request) *handling {
	now := t.Now
	if now == nil {
		now = time.Now
	}
	return &handling{
		plane:   t.Plane,
		accepts: t.Accept,
		now:     now,
		memory:  &t.memory,
		request: r,
		store:   &store{plane: t.Plane, cluster: cluster},
	}
}

// handle carries out a request.
func (h *handling) handle(ctx context.Context) (err error) {
	if err := h.checkAcceptable(); err != nil {
		return err
	}
	h.receipt, err = h.store.read(ctx)
	if err != nil {
		return err
	}

	// Some requests need no pivot that is under way.
	type handler = func(context.Context) error
	staging := staging{h}
	clearing := clearing{h, staging}
	independent := map[Op]handler{
		Hello:   h.answerHello,
		Check:   h.check,
		Prepare: h.prepare,
		Abort:   clearing.abort,
	}
	if f, ok := independent[h.request.Op]; ok {
		return f(ctx)
	}

	// The others must belong to the pivot of the receipt.
	if err := h.checkCurrent(); err != nil {
		return err
	}
	moving := moving{h, staging}
	f, ok := map[Op]handler{
		Held:     clearing.reportHeld,
		Stage:    staging.stage,
		Seal:     staging.seal,
		Import:   moving.importObjects,
		Verify:   moving.verify,
		Ready:    moving.checkReady,
		Activate: moving.activate,
		Confirm:  moving.confirm,
		Finish:   moving.finish,
	}[h.request.Op]
	if !ok {
		return refuse(Failed, "unknown operation %q: both ends must have the same version", h.request.Op)
	}
	return f(ctx)
}

// answerHello returns the identity of the plane, its kinds and its providers.
func (h *handling) answerHello(ctx context.Context) error {
	uid, err := h.plane.UID(ctx)
	if err != nil {
		return err
	}
	h.memory.kinds = nil // They may have changed.
	if err := h.readKinds(ctx); err != nil {
		return err
	}
	h.response.Plane = &Peer{UID: uid, Server: h.plane.Server()}
	h.response.Kinds = list(h.memory.kinds)
	h.response.Providers = preflight.Providers(ctx, h.plane, h.memory.kinds)
	return nil
}

// check runs the preflight of the target.
func (h *handling) check(ctx context.Context) error {
	there, err := h.namespace(ctx)
	if err != nil {
		return err
	}
	findings := preflight.Target(ctx, h.plane, mapped(h.request.Kinds), h.request.Samples, there != nil)
	if len(findings) > 0 {
		return findings
	}
	if there == nil {
		const format = "webhooks and policies of the target were not tried, as namespace %q is not there: a run tries them once it has made the namespace"
		h.response.Notes = []string{fmt.Sprintf(format, h.request.Cluster.Namespace)}
	}
	return nil
}

// prepare begins a pivot, or a new epoch of it.
func (h *handling) prepare(ctx context.Context) error {
	// A known pivot needs only its epoch. Other pivots must have ended.
	r := h.receipt
	q := h.request
	switch {
	case r != nil && r.ID == q.Pivot && r.Epoch > q.Epoch:
		return refuse(Fenced, "epoch %d of pivot %q is over: the target is at epoch %d", q.Epoch, r.ID, r.Epoch)
	case r != nil && r.ID == q.Pivot && (r.Epoch == q.Epoch || r.Step == Done):
		return nil // A pivot that is done needs no fence: an agent has given up the right to write by then.
	case r != nil && r.ID == q.Pivot:
		r.Epoch = q.Epoch
		return h.store.write(ctx, r)
	case r != nil && slices.Contains(r.Past, q.Pivot):
		return refuse(TooLate, "%s plane: pivot %q of %s has ended", h.plane.Name(), q.Pivot, q.Cluster)
	case r != nil && !r.Step.Ended() && !r.empty():
		const format = "%s plane: %s has a pivot %q as %s at step %s: finish or abort that one first"
		return refuse(Blocked, format, h.plane.Name(), q.Cluster, r.ID, r.Role, r.Step)
	case q.Source == nil:
		return refuse(Failed, "no source")
	}

	// Make the namespace if it is not there.
	uid, err := h.plane.UID(ctx)
	if err != nil {
		return err
	}
	there, err := h.namespace(ctx)
	if err != nil {
		return err
	}
	if there == nil {
		ns := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1",
			"kind":       "Namespace",
			"metadata":   map[string]any{"name": q.Cluster.Namespace},
		}}
		_, err := h.plane.Create(ctx, plane.NamespaceKind, ns, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("%s plane: creating namespace %q: %w", h.plane.Name(), q.Cluster.Namespace, err)
		}
	}

	// Begin with a receipt, at Active if the target was in charge before.
	h.receipt = &Receipt{
		ID:      q.Pivot,
		Role:    RoleTarget,
		Epoch:   q.Epoch,
		Cluster: q.Cluster,
		Source:  *q.Source,
		Target:  Peer{UID: uid, Server: h.plane.Server()},
		Past:    r.past(),
	}
	if q.Active {
		h.receipt.Round = q.Round
		h.receipt.Digest = q.Digest
		h.receipt.Chunks = q.Chunks
		return h.save(ctx, Active, "the receipt was lost")
	}
	return h.save(ctx, Prepared, "")
}
