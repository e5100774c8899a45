// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/preflight"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// GitOps keeps the engine of the source from writing what moves. Each method may be called
// again.
type GitOps interface {
	// Freeze stops it before the cluster is paused, Thaw undoes that after an abort, and
	// Tombstone ends its delivery, and forbids another one, before the source is deleted.
	Freeze(ctx context.Context, cluster plane.Ref) error
	Thaw(ctx context.Context, cluster plane.Ref) error
	Tombstone(ctx context.Context, cluster plane.Ref) error
}

// Event is progress of a pivot.
type Event struct {
	// Step is the one that was finished; "" for a message, or a count, on the way.
	Step    Step
	Message string
	// Done of Of requests of a step are answered; Of is 0 where that is not counted.
	Done, Of int
}

// Source is the end that the objects leave, and that drives the pivot.
type Source struct {
	Plane   *plane.Plane
	Link    Link
	Cluster types.NamespacedName
	// Copy are shared objects that are copied and stay on the source.
	Copy []plane.Ref
	// GitOps is nil where no engine writes the objects.
	GitOps GitOps
	// Resume allows to go on with a pivot that another process has begun.
	Resume bool
	// DiscardChanges deletes objects of the source that were changed after the commit.
	DiscardChanges bool
	// Hold is how long the target has to be active before the source is deleted.
	Hold time.Duration
	// Now is the clock; time.Now where nil.
	Now func() time.Time
	// Report takes progress; it may be nil.
	Report func(Event)

	store   *store
	receipt *Receipt
	kinds   plane.Kinds
	// entries are the snapshot of this process; nil after a restart.
	entries []snapshot.Entry
	// samples are those of the preflight, for a second one in the namespace of the target.
	samples []snapshot.Entry
	// verified: this process has compared both planes.
	verified bool
	// doing is what a process does with a pivot that it has not begun.
	doing string
	// again counts the snapshots that differed from the source when they were verified.
	again int
}

// Errors that callers tell apart.
var (
	// ErrUnfinished: a pivot is under way, and Resume is not set.
	ErrUnfinished = errors.New("a pivot is under way")
	// ErrStep: what is asked for does not fit the step of the pivot, or there is none.
	ErrStep = errors.New("not at this step")
	// ErrAborted: the pivot failed before its commit, and was undone.
	ErrAborted = errors.New("aborted: the source is in charge as before")
)

// Run moves the cluster to the target, and returns the receipt of the source. If a step fails for
// good before the commit, the pivot is undone, and the error is ErrAborted. After any other error,
// and after a kill, Run with Resume goes on.
func (s *Source) Run(ctx context.Context) (*Receipt, error) {
	if err := s.begin(ctx); err != nil {
		return s.receipt, err
	}
	for !s.receipt.Step.Ended() {
		if err := ctx.Err(); err != nil {
			return s.receipt, fmt.Errorf("pivot %q stopped after step %s: %w", s.receipt.ID, s.receipt.Step, err)
		}
		err := s.takeStep(ctx)
		if err == nil {
			continue
		}
		if !s.undoable(ctx, err) {
			return s.receipt, err
		}
		s.report("", fmt.Sprintf("aborting: %s", printable.FirstLine(err.Error())))
		switch failed := s.abort(ctx, "failed after step "+string(s.receipt.Step)); {
		case errors.Is(failed, ErrFenced):
			return s.receipt, fmt.Errorf("stopped after step %s: %w", s.receipt.Step, failed) // What failed is for the other one to find.
		case failed != nil:
			return s.receipt, fmt.Errorf("%w; and it could not be undone: %w", err, failed)
		}
		return s.receipt, fmt.Errorf("%w: %w", ErrAborted, err)
	}
	if s.receipt.Step == Aborted {
		return s.receipt, fmt.Errorf("pivot %q: %w", s.receipt.ID, ErrAborted)
	}
	return s.receipt, nil
}

// undoable reports whether a step failed for good before the commit, and this process has to undo
// it.
func (s *Source) undoable(ctx context.Context, err error) bool {
	var refused *refusal
	if errors.As(err, &refused) && refused.why == Unavailable {
		return false
	}
	return ctx.Err() == nil && !s.receipt.Step.Forward() && !errors.Is(err, ErrFenced) && !errors.Is(err, errDeleted) && !plane.IsTemporary(err) && !errors.Is(err, errLink)
}

// takeStep does what comes after the step of the receipt.
func (s *Source) takeStep(ctx context.Context) error {
	switch s.receipt.Step {
	case Freezing:
		return s.freeze(ctx)
	case Frozen:
		return s.takeSnapshot(ctx)
	case Snapshotted:
		return s.stage(ctx)
	case Staged:
		return s.importObjects(ctx)
	case Imported:
		return s.verify(ctx)
	case Verified:
		if !s.verified {
			return s.verify(ctx) // By another process, since when anything may have happened.
		}
		if err := s.checkReady(ctx); err != nil {
			return err
		}
		return s.save(ctx, Committed, "")
	case Committed:
		return s.activate(ctx)
	case Activated:
		return s.confirm(ctx)
	case Confirmed:
		return s.finish(ctx)
	case Aborting:
		return s.abort(ctx, "")
	case Prepared, Activating, Active, Done, Aborted: // They are none of a source, or ended.
	}
	return fmt.Errorf("receipt of %s: unknown step %q: use the version of ropewalk that wrote it", s.receipt.Cluster, s.receipt.Step)
}

// begin reads the receipt and begins a pivot, or a new epoch of one.
func (s *Source) begin(ctx context.Context) (err error) {
	s.doing = cmp.Or(s.doing, "going on with")
	s.store = &store{plane: s.Plane, cluster: s.Cluster}
	s.receipt, err = s.store.read(ctx)
	if err != nil {
		return err
	}
	switch r := s.receipt; {
	case r != nil && r.Role == RoleSource && r.Step == Done && s.Resume:
		return nil
	case (r == nil || r.Step.Ended()) && s.Resume:
		return s.ended()
	case r == nil || r.Step.Ended():
		return s.beginFirst(ctx)
	case r.Role != RoleSource:
		return fmt.Errorf("%s plane: %s: %w: pivot %q brings it here and is at step %s: finish or abort that one first",
			s.Plane.Name(), r.Cluster, ErrUnfinished, r.ID, r.Step)
	case !s.Resume:
		return fmt.Errorf("%s plane: %s: %w: pivot %q to %s is at step %s since %s: %s",
			s.Plane.Name(), r.Cluster, ErrUnfinished, r.ID, r.Target.Server, r.Step, r.When(r.Step).Format(time.RFC3339), r.next())
	}
	return s.resume(ctx)
}

// ended returns the error for a resume while no pivot is under way.
func (s *Source) ended() error {
	if s.receipt == nil {
		return wrong("%s plane: no pivot of Cluster %s is under way: run it without --resume", s.Plane.Name(), s.Cluster)
	}
	r := s.receipt
	return wrong("%s plane: no pivot of %s is under way: the last one, %q from %s to %s, ended at step %s at %s: run it without --resume",
		s.Plane.Name(), r.Cluster, r.ID, r.Source.Server, r.Target.Server, r.Step, r.When(r.Step).Format(time.RFC3339))
}

// stepError is an ErrStep with a text of its own.
type stepError struct {
	text string
	err  error
}

func (e *stepError) Error() string { return e.text }
func (e *stepError) Unwrap() error { return e.err }

// Is reports whether target is ErrStep.
func (e *stepError) Is(target error) bool { return target == ErrStep }

func wrong(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &stepError{err.Error(), errors.Unwrap(err)}
}

// meet checks whether the target is the one of the pivot, and begins a new epoch on the source.
func (s *Source) meet(ctx context.Context) error {
	t, err := s.greet(ctx)
	if err != nil {
		return err
	}
	r := s.receipt
	if t != nil {
		r.Epoch = max(r.Epoch, t.Epoch) // A takeover raises it as well.
	}
	r.Epoch++
	return s.store.write(ctx, r)
}

// greet checks whether the target is the one of the pivot, and returns the receipt of the target;
// nil if the target has none of this pivot.
func (s *Source) greet(ctx context.Context) (*Receipt, error) {
	r := s.receipt
	s.Copy = r.Copy
	hello, err := s.call(ctx, Request{Op: Hello})
	if err != nil {
		return nil, err
	}
	if hello.Plane.UID != r.Target.UID {
		return nil, wrong("pivot %q of %s goes to the cluster with UID %s (%s), and this target is %s (%s): give the kubeconfig of the former",
			r.ID, r.Cluster, r.Target.UID, r.Target.Server, hello.Plane.UID, hello.Plane.Server)
	}
	all, err := s.Plane.Kinds(ctx)
	if err != nil {
		return nil, err
	}
	s.kinds = preflight.Common(all, mapped(hello.Kinds))
	if hello.Receipt == nil || hello.Receipt.ID != r.ID {
		return nil, nil //nolint:nilnil // none is no error
	}
	return hello.Receipt, nil
}

// resume begins a new epoch of a pivot, on both ends.
func (s *Source) resume(ctx context.Context) error {
	r := s.receipt
	if err := s.meet(ctx); err != nil {
		return err
	}
	s.report("", fmt.Sprintf("%s pivot %q after step %s", s.doing, r.ID, r.Step))
	if r.Step == Aborting {
		return nil
	}
	prepared, err := s.call(ctx, Request{Op: Prepare, Source: &r.Source, Active: r.Step == Activated || r.Step == Confirmed})
	if err != nil {
		return err
	}
	if t := prepared.Receipt; t.Digest != r.Digest && !t.Step.Forward() && slices.Contains([]Step{Staged, Imported, Verified}, r.Step) {
		return s.save(ctx, Snapshotted, "the target has lost its receipt")
	}
	return s.catchUp(ctx, prepared.Receipt)
}

// catchUp goes forward if the target was activated without this source.
func (s *Source) catchUp(ctx context.Context, target *Receipt) error {
	if target == nil || target.ID != s.receipt.ID || !target.Step.Forward() || s.receipt.Step.Forward() {
		return nil
	}
	if r := s.receipt; target.Digest != r.Digest {
		set, err := s.read(ctx)
		if err != nil {
			return err
		}
		entries := set.Entries()
		if snapshot.Digest(entries) != target.Digest {
			return wrong("pivot %q: the target was activated with snapshot %d, and is in charge, but the source has changed since, as the notes of `ropewalk pivot status` say: make the changes on the target, undo them on the source, which stays paused, and go on with `ropewalk pivot run --resume`",
				r.ID, target.Round)
		}
		r.Round = target.Round
		r.Digest = target.Digest
		r.Objects = len(entries)
		r.Chunks = target.Chunks
		r.Outline = snapshot.Outline(entries)
	}
	return s.save(ctx, Committed, "the target was activated without this source")
}

// beginFirst begins a pivot, if nothing stands in the way.
func (s *Source) beginFirst(ctx context.Context) error {
	if err := s.clear(ctx); err != nil {
		return err
	}
	found, err := s.Preflight(ctx)
	if err != nil {
		return err
	}
	for _, note := range found.Notes {
		s.report("", note)
	}
	if len(found.Findings) > 0 {
		return found.Findings
	}
	id := make([]byte, 8)
	_, _ = rand.Read(id) // It never fails.
	s.receipt = &Receipt{
		ID: hex.EncodeToString(id), Role: RoleSource, Epoch: 1, Cluster: found.Set.Cluster, ClusterUID: found.Set.ClusterUID,
		Source: found.Source, Target: found.Target, Past: s.receipt.past(), Copy: s.Copy,
	}
	return s.save(ctx, Freezing, "")
}

// save writes the receipt at the step that is finished, and reports it.
func (s *Source) save(ctx context.Context, step Step, note string) error {
	before := *s.receipt
	s.receipt.setStep(step, s.now(), note)
	if err := s.store.write(ctx, s.receipt); err != nil {
		*s.receipt = before
		return err
	}
	s.report(step, note)
	return nil
}

func (s *Source) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

func (s *Source) report(step Step, message string) {
	if s.Report != nil {
		s.Report(Event{Step: step, Message: message})
	}
}

func (s *Source) count(message string, done, of int) {
	if s.Report != nil {
		s.Report(Event{Message: message, Done: done, Of: of})
	}
}

// checkFence returns an error before a write if another process drives the pivot.
func (s *Source) checkFence(ctx context.Context) error {
	live, err := Read(ctx, s.Plane, s.Cluster)
	if err != nil {
		return err
	}
	if live == nil || live.ID != s.receipt.ID || live.Epoch != s.receipt.Epoch || live.Step != s.receipt.Step {
		return fmt.Errorf("%s plane: pivot %q of %s: %w", s.Plane.Name(), s.receipt.ID, s.receipt.Cluster, ErrFenced)
	}
	return nil
}

// ref returns the Cluster as an object.
func (s *Source) ref() plane.Ref {
	return plane.Ref{Group: inventory.ClusterGroup, Kind: "Cluster", Namespace: s.Cluster.Namespace, Name: s.Cluster.Name}
}

// errLink marks that a request got no answer.
var errLink = errors.New("the target does not answer")

// call sends a request until it is answered. It returns a refusal as an error.
func (s *Source) call(ctx context.Context, r Request) (Response, error) {
	const attempts = 60

	// Complete the request from the receipt.
	began := s.now()
	r.Cluster = s.ref()
	if s.receipt != nil {
		r.Pivot, r.Epoch = s.receipt.ID, s.receipt.Epoch
		if r.Digest == "" {
			r.Round = s.receipt.Round
			r.Digest = s.receipt.Digest
			r.Chunks = s.receipt.Chunks
		}
	}

	// Send it until there is an answer. No answer says nothing about whether it was carried out.
	var lost error
	for i := range attempts {
		out, err := s.Link.Call(ctx, r)
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
		if s.now().Sub(began) >= plane.Silence {
			s.Plane.Wait("waiting for the target to answer: " + printable.FirstLine(lost.Error()))
		}
		if err := s.Plane.Sleep(ctx, min(time.Duration(i+1)*50*time.Millisecond, 2*time.Second)); err != nil {
			return Response{}, err
		}
	}
	return Response{}, fmt.Errorf("%s: %w: %w", r.Op, errLink, lost)
}
