// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/mover"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// Source is the end that loses the objects, and drives the pivot.
type Source struct {
	Plane   *plane.Plane
	Link    Link
	Cluster types.NamespacedName
	// Copy are shared objects that are copied and stay on the source.
	Copy []plane.Ref
	// GitOps is nil if no engine writes the objects.
	GitOps GitOps
	// Resume allows to go on with a pivot that another process has begun.
	Resume bool
	// DiscardChanges deletes objects of the source that were changed after the commit.
	DiscardChanges bool
	// Hold is the time that the target has to be active before the source is deleted.
	Hold time.Duration
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Report receives progress; it may be nil.
	Report func(Event)
}

// drive is a pivot that a process drives.
type drive struct {
	p          *process
	snapshots  *snapshots
	completion completion
	undoing    undoing
	// resume comes from Source.
	resume bool
	// doing describes the process in its report, such as "going on with".
	doing string
	// samples come from the preflight, for a second check in the namespace of the target.
	samples []snapshot.Entry
}

// drive returns a drive of the cluster's pivot, before its receipt is read.
func (s *Source) drive() *drive {
	p := &process{
		plane:    s.Plane,
		link:     s.Link,
		cluster:  s.Cluster,
		gitOps:   s.GitOps,
		clock:    s.Now,
		progress: s.Report,
		store:    &store{plane: s.Plane, cluster: s.Cluster},
		copies:   s.Copy,
	}
	snapshots := &snapshots{p: p}
	return &drive{
		p:          p,
		snapshots:  snapshots,
		undoing:    undoing{p},
		resume:     s.Resume,
		doing:      "going on with",
		completion: completion{p: p, snapshots: snapshots, hold: s.Hold, discardChanges: s.DiscardChanges},
	}
}

// Preflight reads both planes, and changes nothing. It returns findings in Found. Its error means
// that a plane could not be read.
func (s *Source) Preflight(ctx context.Context) (Found, error) {
	found, _, err := lookAtBoth(ctx, s.drive().p)
	return found, err
}

// Run moves the cluster to the target, and returns the receipt of the source. If a step fails for
// good before the commit, the pivot is undone, and the error is ErrAborted. After any other error,
// and after a kill, Run with Resume goes on.
func (s *Source) Run(ctx context.Context) (*Receipt, error) {
	d := s.drive()
	if err := d.begin(ctx); err != nil {
		return d.p.receipt, err
	}
	for !d.p.receipt.Step.Ended() {
		if err := ctx.Err(); err != nil {
			return d.p.receipt, fmt.Errorf("pivot %q stopped after step %s: %w", d.p.receipt.ID, d.p.receipt.Step, err)
		}
		err := d.takeStep(ctx)
		if err == nil {
			continue
		}
		if !d.undoable(ctx, err) {
			return d.p.receipt, err
		}

		// Undo the pivot, unless another process drives it now: that one will find the error.
		d.p.report("", fmt.Sprintf("aborting: %s", printable.FirstLine(err.Error())))
		failed := d.undoing.abort(ctx, "failed after step "+string(d.p.receipt.Step))
		if errors.Is(failed, ErrFenced) {
			return d.p.receipt, fmt.Errorf("stopped after step %s: %w", d.p.receipt.Step, failed)
		}
		if failed != nil {
			return d.p.receipt, fmt.Errorf("%w; and it could not be undone: %w", err, failed)
		}
		return d.p.receipt, fmt.Errorf("%w: %w", ErrAborted, err)
	}

	// Another process may have aborted it before.
	if d.p.receipt.Step == Aborted {
		return d.p.receipt, fmt.Errorf("pivot %q: %w", d.p.receipt.ID, ErrAborted)
	}
	return d.p.receipt, nil
}

// Abort undoes a pivot that is not committed: it deletes the imported and staged objects from the
// target, and then unpauses the source. With targetLost it unpauses the source although the target
// cannot be reached. The copies on the target stay paused then, and must never be taken over. Once
// the target can be reached again, another abort deletes them.
func (s *Source) Abort(ctx context.Context, targetLost bool) (*Receipt, error) {
	d := s.drive()
	d.resume = true
	d.doing = "undoing"
	r, err := d.p.store.read(ctx)
	if err != nil {
		return nil, err
	}
	if r == nil && !targetLost {
		r, err = d.undoing.restore(ctx)
		if err != nil {
			return nil, err
		}
	}

	// A pivot that is aborted already may have left something on the target.
	d.p.receipt = r
	isAborted := r != nil && r.Role == RoleSource && r.Step == Aborted
	if isAborted && !targetLost {
		return r, d.undoing.abortAgain(ctx)
	}
	if err := d.undoing.checkAbortable(); err != nil {
		return r, err
	}

	// Without a target only the source is unpaused.
	if targetLost {
		d.p.kinds, err = d.p.plane.Kinds(ctx)
		if err == nil {
			err = d.undoing.claim(ctx, 0, "the target is lost")
		}
		if err != nil {
			return d.p.receipt, err
		}
		return d.p.receipt, d.undoing.thaw(ctx, "the target is lost")
	}

	// A target that is in charge already cannot be undone.
	t, err := d.p.greet(ctx)
	if err != nil {
		return r, err
	}
	epoch := int64(0)
	if t != nil {
		epoch = t.Epoch // A takeover raises it as well.
		if t.Step.Forward() {
			if err := d.begin(ctx); err != nil {
				return d.p.receipt, err
			}
			return d.p.receipt, d.undoing.active()
		}
	}

	// Write that the pivot is aborted, and undo it.
	if err := d.undoing.claim(ctx, epoch, "on request"); err != nil {
		return d.p.receipt, err
	}
	if d.p.receipt.Step == Aborted { // A run has failed meanwhile.
		return d.p.receipt, d.undoing.abortAgain(ctx)
	}
	return d.p.receipt, d.undoing.abort(ctx, "")
}

// undoable reports whether a step failed for good before the commit, and this process has to undo
// it.
func (d *drive) undoable(ctx context.Context, err error) bool {
	if ctx.Err() != nil || d.p.receipt.Step.Forward() {
		return false
	}
	noAnswer := errors.Is(err, errLink) || isRefused(err, Unavailable)
	forOthers := errors.Is(err, ErrFenced) || errors.Is(err, errDeleted) // Another process, or the user, decides.
	return !noAnswer && !forOthers && !plane.IsTemporary(err)
}

// takeStep takes the step that follows the step of the receipt.
func (d *drive) takeStep(ctx context.Context) error {
	switch d.p.receipt.Step {
	case Freezing:
		return d.freeze(ctx)
	case Frozen:
		return d.snapshots.take(ctx)
	case Snapshotted:
		return d.snapshots.stage(ctx)
	case Staged:
		return d.snapshots.importObjects(ctx)
	case Imported:
		return d.snapshots.verify(ctx)
	case Verified:
		if !d.snapshots.verified {
			return d.snapshots.verify(ctx) // Another process verified it, and much may have changed since.
		}
		if err := d.snapshots.checkReady(ctx); err != nil {
			return err
		}
		return d.p.save(ctx, Committed, "")
	case Committed:
		return d.completion.activate(ctx)
	case Activated:
		return d.completion.confirm(ctx)
	case Confirmed:
		return d.completion.finish(ctx)
	case Aborting:
		return d.undoing.abort(ctx, "")
	case Prepared, Activating, Active, Done, Aborted: // A source has no such step, or has ended.
	}
	const format = "receipt of %s: unknown step %q: use the version of ropewalk that wrote it"
	return fmt.Errorf(format, d.p.receipt.Cluster, d.p.receipt.Step)
}

// begin reads the receipt and begins a pivot, or a new epoch of it.
func (d *drive) begin(ctx context.Context) (err error) {
	d.p.receipt, err = d.p.store.read(ctx)
	if err != nil {
		return err
	}

	// A resume of a pivot that is done has nothing to do.
	r := d.p.receipt
	ended := r == nil || r.Step.Ended()
	done := r != nil && r.Role == RoleSource && r.Step == Done
	switch {
	case done && d.resume:
		return nil
	case ended && d.resume:
		return d.ended()
	case ended:
		return d.beginFirst(ctx)
	case r.Role != RoleSource:
		return fmt.Errorf("%s plane: %s: %w: pivot %q brings it here and is at step %s: finish or abort that one first",
			d.p.plane.Name(), r.Cluster, ErrUnfinished, r.ID, r.Step)
	case !d.resume:
		return fmt.Errorf("%s plane: %s: %w: pivot %q to %s is at step %s since %s: %s",
			d.p.plane.Name(), r.Cluster, ErrUnfinished, r.ID, r.Target.Server, r.Step, r.When(r.Step).Format(time.RFC3339), r.next())
	}
	return d.goOn(ctx)
}

// ended returns the error for a resume while no pivot is under way.
func (d *drive) ended() error {
	if d.p.receipt == nil {
		return stepErrorf("%s plane: no pivot of Cluster %s is under way: run it without --resume", d.p.plane.Name(), d.p.cluster)
	}
	r := d.p.receipt
	return stepErrorf("%s plane: no pivot of %s is under way: the last one, %q from %s to %s, ended at step %s at %s: run it without --resume",
		d.p.plane.Name(), r.Cluster, r.ID, r.Source.Server, r.Target.Server, r.Step, r.When(r.Step).Format(time.RFC3339))
}

// goOn begins a new epoch of a pivot, on both ends.
func (d *drive) goOn(ctx context.Context) error {
	r := d.p.receipt
	if err := d.p.meet(ctx); err != nil {
		return err
	}
	d.p.report("", fmt.Sprintf("%s pivot %q after step %s", d.doing, r.ID, r.Step))
	if r.Step == Aborting {
		return nil
	}

	// A target that has lost its receipt gets the snapshot again.
	isActive := r.Step == Activated || r.Step == Confirmed
	prepared, err := d.p.call(ctx, Request{Op: Prepare, Source: &r.Source, Active: isActive})
	if err != nil {
		return err
	}
	t := prepared.Receipt
	needsSnapshot := slices.Contains([]Step{Staged, Imported, Verified}, r.Step) && !t.Step.Forward()
	if needsSnapshot && t.Digest != r.Digest {
		return d.p.save(ctx, Snapshotted, "the target has lost its receipt")
	}
	return d.p.catchUp(ctx, prepared.Receipt)
}

// beginFirst begins a pivot, if nothing stands in the way.
func (d *drive) beginFirst(ctx context.Context) error {
	// Look at both planes once the target has nothing of an aborted pivot.
	if err := d.undoing.clear(ctx); err != nil {
		return err
	}
	found, samples, err := lookAtBoth(ctx, d.p)
	if err != nil {
		return err
	}
	for _, note := range found.Notes {
		d.p.report("", note)
	}
	if len(found.Findings) > 0 {
		return found.Findings
	}

	// Write the receipt: from here on another process can go on with the pivot.
	d.samples = samples
	id := make([]byte, 8)
	_, _ = rand.Read(id) // It never fails.
	d.p.receipt = &Receipt{
		ID:         hex.EncodeToString(id),
		Role:       RoleSource,
		Epoch:      1,
		Cluster:    found.Set.Cluster,
		ClusterUID: found.Set.ClusterUID,
		Source:     found.Source,
		Target:     found.Target,
		Past:       d.p.receipt.past(),
		Copy:       d.p.copies,
	}
	return d.p.save(ctx, Freezing, "")
}

// freeze stops GitOps, and pauses the cluster.
func (d *drive) freeze(ctx context.Context) error {
	if _, err := d.p.call(ctx, Request{Op: Prepare, Source: &d.p.receipt.Source}); err != nil {
		return err
	}

	// Only now the target has the namespace in which all samples can be tried.
	if d.samples != nil {
		if _, err := trySamples(ctx, d.p, d.samples); err != nil {
			return err
		}
		d.samples = nil
	}

	// GitOps would undo the pause.
	if d.p.gitOps != nil {
		if err := d.p.gitOps.Freeze(ctx, d.p.receipt.Cluster); err != nil {
			return fmt.Errorf("stopping GitOps: %w", err)
		}
	}

	// Pause the Cluster, and wait until its controllers have seen that.
	before, err := d.p.read(ctx)
	if err != nil {
		return err
	}
	if d.p.receipt.Paused.IsZero() {
		d.p.receipt.Paused = d.p.now().UTC().Truncate(time.Millisecond)
	}
	if err := mover.Pause(ctx, d.p.plane, d.p.kinds, d.p.receipt.Cluster, d.p.checkFence); err != nil {
		return err
	}
	if err := mover.AwaitPaused(ctx, d.p.plane, d.p.kinds, before.Items, settleWithin); err != nil {
		return err
	}
	return d.p.save(ctx, Frozen, "")
}
