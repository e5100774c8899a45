// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/preflight"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// GitOps keeps the engine of the source from writing the objects that move. Each method may be
// called again.
type GitOps interface {
	// Freeze stops the engine before the cluster is paused.
	Freeze(ctx context.Context, cluster plane.Ref) error
	// Thaw undoes Freeze after an abort.
	Thaw(ctx context.Context, cluster plane.Ref) error
	// Tombstone ends the delivery of the cluster for good, before the source is deleted.
	Tombstone(ctx context.Context, cluster plane.Ref) error
}

// Event is progress of a pivot.
type Event struct {
	// Step was finished; "" for a message, or a count, on the way.
	Step    Step
	Message string
	// Done of Of requests of a step are answered; Of is 0 for a step without a count.
	Done, Of int
}

// process drives or undoes a pivot: it has the receipt of the source, and the link to the target.
type process struct {
	plane   *plane.Plane
	link    Link
	cluster types.NamespacedName
	// gitOps is nil if no engine writes the objects.
	gitOps GitOps
	// clock and progress may be nil.
	clock    func() time.Time
	progress func(Event)

	store   *store
	receipt *Receipt
	// kinds are the kinds that both planes serve.
	kinds plane.Kinds
	// copies are the shared objects that are copied; Copy of the receipt once it is written.
	copies []plane.Ref
}

// save writes the receipt at a finished step, and reports the step.
func (p *process) save(ctx context.Context, step Step, note string) error {
	before := *p.receipt
	p.receipt.setStep(step, p.now(), note)
	if err := p.store.write(ctx, p.receipt); err != nil {
		*p.receipt = before
		return err
	}
	p.report(step, note)
	return nil
}

// now returns the time of the clock.
func (p *process) now() time.Time {
	if p.clock == nil {
		return time.Now()
	}
	return p.clock()
}

// report reports a finished step, or a message.
func (p *process) report(step Step, message string) {
	if p.progress != nil {
		p.progress(Event{Step: step, Message: message})
	}
}

// count reports the progress of a step.
func (p *process) count(message string, done, of int) {
	if p.progress != nil {
		p.progress(Event{Message: message, Done: done, Of: of})
	}
}

// checkFence returns an error before a write if another process drives the pivot.
func (p *process) checkFence(ctx context.Context) error {
	live, err := Read(ctx, p.plane, p.cluster)
	if err != nil {
		return err
	}
	sameEpoch := live != nil && live.ID == p.receipt.ID && live.Epoch == p.receipt.Epoch
	if !sameEpoch || live.Step != p.receipt.Step {
		return fmt.Errorf("%s plane: pivot %q of %s: %w", p.plane.Name(), p.receipt.ID, p.receipt.Cluster, ErrFenced)
	}
	return nil
}

// ref returns the Cluster as an object.
func (p *process) ref() plane.Ref {
	return plane.Ref{Group: inventory.ClusterGroup, Kind: "Cluster", Namespace: p.cluster.Namespace, Name: p.cluster.Name}
}

// call sends a request until it is answered. It returns a refusal as an error.
func (p *process) call(ctx context.Context, r Request) (Response, error) {
	const attempts = 60

	// Complete the request from the receipt.
	began := p.now()
	r.Cluster = p.ref()
	if p.receipt != nil {
		r.Pivot, r.Epoch = p.receipt.ID, p.receipt.Epoch
		if r.Digest == "" {
			r.Round = p.receipt.Round
			r.Digest = p.receipt.Digest
			r.Chunks = p.receipt.Chunks
		}
	}

	// Send it until there is an answer. Without an answer it is not known whether it was carried
	// out.
	var lost error
	for i := range attempts {
		out, err := p.link.Call(ctx, r)
		switch {
		case ctx.Err() != nil:
			return out, ctx.Err()
		case err == nil && out.Refused == "" && r.Op == Hello && out.Plane == nil:
			return out, errors.New("the target does not say which plane it is: both ends must have the same version")
		case err == nil && out.Refused == "":
			return out, nil
		case err == nil && out.Refused == Fenced:
			return out, fmt.Errorf("%s: %w", out.Message, ErrFenced)
		case err == nil:
			err := errors.New(out.Message)
			if len(out.Findings) > 0 {
				err = &stepError{out.Message, out.Findings}
			}
			return out, &refusal{why: out.Refused, findings: out.Findings, err: err}
		}
		lost = err
		if p.now().Sub(began) >= plane.Silence {
			p.plane.Wait("waiting for the target to answer: " + printable.FirstLine(lost.Error()))
		}
		if err := p.plane.Sleep(ctx, min(time.Duration(i+1)*50*time.Millisecond, 2*time.Second)); err != nil {
			return Response{}, err
		}
	}
	return Response{}, fmt.Errorf("%s: %w: %w", r.Op, errLink, lost)
}

// read returns the objects that move, as the source has them now. It returns an error if the source
// loses objects.
func (p *process) read(ctx context.Context) (inventory.Set, error) {
	set, err := inventory.Read(ctx, p.plane, p.kinds, p.cluster, inventory.Options{Copy: p.copies})

	// A source that is being deleted may have lost a part of the set.
	switch going, failed := Going(ctx, p.plane, p.kinds, p.receipt.Cluster); {
	case failed != nil:
		return set, cmp.Or(err, failed)
	case going != "":
		return set, cmp.Or(p.checkFence(ctx), p.deleted(going)) // Another process may have moved it.
	case err != nil:
		return set, err
	}

	// The Cluster must be the same, and no object may be deleted.
	if set.ClusterUID != p.receipt.ClusterUID {
		const format = "%s plane: %s was deleted and created again since the pivot began: undo that with `ropewalk pivot abort`"
		return set, stepErrorf(format, p.plane.Name(), p.receipt.Cluster)
	}
	for _, item := range set.Items {
		if slices.Contains(item.Busy, inventory.Deleting) {
			const format = "%s plane: %s %w: wait until it is gone, and go on with `ropewalk pivot run --resume`; " +
				"or undo the pivot with `ropewalk pivot abort`, which unpauses its controllers"
			return set, stepErrorf(format, p.plane.Name(), item.Ref, errDeleted)
		}
	}
	return set, nil
}

// Going returns the object that is being deleted or gone: the namespace of a Cluster, or the Cluster
// itself. It returns "" if both are there.
func Going(ctx context.Context, p *plane.Plane, kinds plane.Kinds, cluster plane.Ref) (string, error) {
	namespace := plane.Ref{Kind: "Namespace", Name: cluster.Namespace}
	for _, r := range []plane.Ref{namespace, cluster} {
		o, err := p.Get(ctx, kinds[r.GroupKind()], r)
		if plane.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("%s plane: %s: %w", p.Name(), r, err)
		}
		if err != nil || o.GetDeletionTimestamp() != nil {
			return r.String(), nil //nolint:nilerr // it is lost, which is the answer
		}
	}
	return "", nil
}

// deleted returns the error for a source that is being deleted: the user has to decide what becomes
// of the Cluster.
func (p *process) deleted(what string) error {
	advice := "to let it go, undo the pivot with `ropewalk pivot abort`, which deletes what is on the target"
	switch {
	case p.receipt.Step.Forward():
		advice = "what the target has lost cannot be taken from it again: the guide says what to do without it"
	case slices.Contains([]Step{Staged, Imported, Verified}, p.receipt.Step):
		advice = "the target has a complete copy: to keep the cluster, activate that with " +
			"`ropewalk pivot takeover --from … --to … --parent-destroyed --reason …`, " +
			"and then clear the source with `ropewalk pivot run --resume`, which deletes no machine; " +
			"to let the cluster go, with its machines, undo the pivot with `ropewalk pivot abort`, which deletes that copy"
	}
	return stepErrorf("%s plane: %s %w, or is gone: %s", p.plane.Name(), what, errDeleted, advice)
}

// live returns the Cluster on the source as it is now; nil if it is gone.
func (p *process) live(ctx context.Context) (*unstructured.Unstructured, error) {
	cluster := p.receipt.Cluster
	o, err := p.plane.Get(ctx, p.kinds[cluster.GroupKind()], cluster)
	switch {
	case err == nil:
		return o, nil
	case plane.IgnoreNotFound(err) == nil:
		return nil, nil //nolint:nilnil // no Cluster is no error
	}
	return nil, fmt.Errorf("%s plane: %s: %w", p.plane.Name(), cluster, err)
}

// meet checks that the target belongs to the pivot, and begins a new epoch on the source.
func (p *process) meet(ctx context.Context) error {
	t, err := p.greet(ctx)
	if err != nil {
		return err
	}
	r := p.receipt
	if t != nil {
		r.Epoch = max(r.Epoch, t.Epoch) // A takeover raises it as well.
	}
	r.Epoch++
	return p.store.write(ctx, r)
}

// greet checks that the target belongs to the pivot, and returns its receipt of the pivot; nil if it
// has no such receipt.
func (p *process) greet(ctx context.Context) (*Receipt, error) {
	r := p.receipt
	p.copies = r.Copy
	hello, err := p.call(ctx, Request{Op: Hello})
	if err != nil {
		return nil, err
	}
	if hello.Plane.UID != r.Target.UID {
		const format = "pivot %q of %s goes to the cluster with UID %s (%s), and this target is %s (%s): give the kubeconfig of the former"
		return nil, stepErrorf(format, r.ID, r.Cluster, r.Target.UID, r.Target.Server, hello.Plane.UID, hello.Plane.Server)
	}

	// Both planes may serve other kinds than before.
	kinds, err := p.plane.Kinds(ctx)
	if err != nil {
		return nil, err
	}
	p.kinds = preflight.Common(kinds, mapped(hello.Kinds))
	if hello.Receipt == nil || hello.Receipt.ID != r.ID {
		return nil, nil //nolint:nilnil // no receipt is no error
	}
	return hello.Receipt, nil
}

// catchUp goes forward if the target was activated without this source.
func (p *process) catchUp(ctx context.Context, target *Receipt) error {
	isAhead := target != nil && target.ID == p.receipt.ID && target.Step.Forward() && !p.receipt.Step.Forward()
	if !isAhead {
		return nil
	}

	// The target may have been activated with a later snapshot, which must match the source.
	if r := p.receipt; target.Digest != r.Digest {
		set, err := p.read(ctx)
		if err != nil {
			return err
		}
		entries := set.Entries()
		if snapshot.Digest(entries) != target.Digest {
			const format = "pivot %q: the target was activated with snapshot %d, and is in charge, but the source has changed since, " +
				"as the notes of `ropewalk pivot status` say: make the changes on the target, undo them on the source, which stays paused, " +
				"and go on with `ropewalk pivot run --resume`"
			return stepErrorf(format, r.ID, target.Round)
		}
		r.Round = target.Round
		r.Digest = target.Digest
		r.Objects = len(entries)
		r.Chunks = target.Chunks
		r.Outline = snapshot.Outline(entries)
	}
	return p.save(ctx, Committed, "the target was activated without this source")
}
