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

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/mover"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/preflight"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// Found is what a pivot would begin with.
type Found struct {
	Set    inventory.Set
	Source Peer
	Target Peer
	// Findings stand in its way.
	Findings inventory.Findings
	// Notes say what could not be looked at, and Later what only a run can look at.
	Notes, Later []string
}

// Preflight reads both planes, and changes nothing. Findings are returned in Found. The error is
// what keeps it from reading.
func (s *Source) Preflight(ctx context.Context) (Found, error) {
	uid, err := s.Plane.UID(ctx)
	if err != nil {
		return Found{}, err
	}

	// The target must be another cluster, without a pivot of this one.
	out := Found{Source: Peer{UID: uid, Server: s.Plane.Server()}}
	hello, err := s.call(ctx, Request{Op: Hello})
	if err != nil {
		return out, err
	}
	out.Target = *hello.Plane
	if hello.Plane.UID == uid {
		out.Findings = inventory.Findings{{Ref: s.ref(), Problem: "source and target are the same cluster: the namespace kube-system of both has UID " + uid, Advice: "give the kubeconfigs of two clusters"}}
		return out, nil
	}
	out.Findings, err = s.underWay(ctx, hello.Receipt)
	if err != nil || len(out.Findings) > 0 {
		return out, err
	}

	// Find what moves, in versions that both planes serve.
	all, err := s.Plane.Kinds(ctx)
	if err != nil {
		return out, err
	}
	s.kinds = preflight.Common(all, mapped(hello.Kinds))
	out.Set, err = inventory.Read(ctx, s.Plane, s.kinds, s.Cluster, inventory.Options{Copy: s.Copy})
	if err != nil {
		if errors.As(err, &out.Findings) {
			return out, nil
		}
		return out, err
	}
	_, out.Findings = preflight.Kinds(all, mapped(hello.Kinds), out.Set)
	if len(out.Findings) > 0 {
		return out, nil
	}

	// Check the source: providers, rights, objects at rest, and what depends on the set.
	out.Findings = preflight.Skew(out.Set, s.kinds, preflight.Providers(ctx, s.Plane, s.kinds), hello.Providers)
	out.Findings = append(out.Findings, preflight.Source(ctx, s.Plane, s.kinds, out.Set)...)
	dependents, notes := out.Set.Dependents(ctx, s.Plane, all)
	out.Findings = append(out.Findings, dependents...)
	out.Notes = notes

	// Let the target check the rest with samples.
	s.samples = preflight.Samples(out.Set)
	checked, err := s.check(ctx)
	out.Later = append(checked.Notes, fmt.Sprintf("whether the controllers of the target run cannot be seen before they have objects: a run waits for them before its commit, up to %s", settleWithin))
	var refused *refusal
	if errors.As(err, &refused) && len(refused.findings) > 0 {
		out.Findings = append(out.Findings, refused.findings...)
		err = nil
	}
	out.Findings = out.Findings.Sorted()
	return out, err
}

// underWay returns findings for a pivot of the cluster that has not ended, on either side. Without
// them, the copies that this pivot has made would be taken for what stands in the way.
func (s *Source) underWay(ctx context.Context, target *Receipt) (inventory.Findings, error) {
	source, err := Read(ctx, s.Plane, s.Cluster)
	if err != nil {
		return nil, err
	}
	var out inventory.Findings
	for side, r := range map[string]*Receipt{"source": source, "target": target} {
		if r == nil || r.Step.Ended() || r.empty() {
			continue
		}
		advice := "see `ropewalk pivot status`: " + r.next()
		if string(r.Role) != side {
			advice = "see `ropewalk pivot status`: finish or abort that one, with its own --from and --to"
		} else if side == "target" && (source == nil || source.ID != r.ID || source.Step == Aborted) {
			advice = "run `ropewalk pivot abort` with the same --from and --to: it removes what that one has left on the target"
		}
		out = append(out, inventory.Finding{Ref: s.ref(), Problem: fmt.Sprintf("pivot %q from %s to %s is under way, at step %s on its %s since %s",
			r.ID, r.Source.Server, r.Target.Server, r.Step, r.Role, r.When(r.Step).Format(time.RFC3339)), Advice: advice})
	}
	return out.Sorted(), nil
}

// check tries the samples on the target.
func (s *Source) check(ctx context.Context) (Response, error) {
	return s.call(ctx, Request{Op: Check, Samples: s.samples, Kinds: list(s.kinds)})
}

// checkReady asks the target whether what the pivot relies on is there.
func (s *Source) checkReady(ctx context.Context) error {
	used := plane.Kinds{}
	for _, e := range s.receipt.Outline {
		used[e.Ref.GroupKind()] = s.kinds[e.Ref.GroupKind()]
	}
	_, err := s.ask(ctx, Request{Op: Ready, Kinds: list(used)})
	return err
}

// freeze stops GitOps, and pauses the cluster.
func (s *Source) freeze(ctx context.Context) error {
	if _, err := s.call(ctx, Request{Op: Prepare, Source: &s.receipt.Source}); err != nil {
		return err
	}
	if s.samples != nil {
		// Only now is there a namespace in which all of them can be tried.
		if _, err := s.check(ctx); err != nil {
			return err
		}
		s.samples = nil
	}

	// GitOps would undo the pause.
	if s.GitOps != nil {
		if err := s.GitOps.Freeze(ctx, s.receipt.Cluster); err != nil {
			return fmt.Errorf("stopping GitOps: %w", err)
		}
	}

	// Pause the Cluster, and wait until its controllers have seen that.
	before, err := s.read(ctx)
	if err != nil {
		return err
	}
	if s.receipt.Paused.IsZero() {
		s.receipt.Paused = s.now().UTC().Truncate(time.Millisecond)
	}
	if err := mover.Pause(ctx, s.Plane, s.kinds, s.receipt.Cluster, s.checkFence); err != nil {
		return err
	}
	if err := mover.AwaitPaused(ctx, s.Plane, s.kinds, before.Items, settleWithin); err != nil {
		return err
	}
	return s.save(ctx, Frozen, "")
}

// errDeleted: the source loses objects. It is for the user to decide what happens to those that
// the target has got.
var errDeleted = errors.New("is being deleted")

func (s *Source) read(ctx context.Context) (inventory.Set, error) {
	set, err := inventory.Read(ctx, s.Plane, s.kinds, s.Cluster, inventory.Options{Copy: s.Copy})
	// What was read of a source that goes is not all of it.
	switch going, failed := Going(ctx, s.Plane, s.kinds, s.receipt.Cluster); {
	case failed != nil:
		return set, cmp.Or(err, failed)
	case going != "":
		return set, cmp.Or(s.checkFence(ctx), s.deleted(going)) // Another process may have moved it.
	case err != nil:
		return set, err
	}
	if set.ClusterUID != s.receipt.ClusterUID {
		return set, wrong("%s plane: %s was deleted and created again since the pivot began: undo that with `ropewalk pivot abort`", s.Plane.Name(), s.receipt.Cluster)
	}
	for _, item := range set.Items {
		if slices.Contains(item.Busy, inventory.Deleting) {
			return set, wrong("%s plane: %s %w: wait until it is gone, and go on with `ropewalk pivot run --resume`; or undo the pivot with `ropewalk pivot abort`, which unpauses its controllers", s.Plane.Name(), item.Ref, errDeleted)
		}
	}
	return set, nil
}

// Going returns what is being deleted, or is gone, of a Cluster and its namespace; "" if nothing
// is.
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

// deleted returns the error for a source that goes: the user has to decide what becomes of the
// Cluster.
func (s *Source) deleted(what string) error {
	advice := "to let it go, undo the pivot with `ropewalk pivot abort`, which deletes what is on the target"
	switch {
	case s.receipt.Step.Forward():
		advice = "what the target has lost cannot be taken from it again: the guide says what to do without it"
	case slices.Contains([]Step{Staged, Imported, Verified}, s.receipt.Step):
		advice = "the target has a complete copy: to keep the cluster, activate that with `ropewalk pivot takeover --from … --to … --parent-destroyed --reason …`, and then clear the source with `ropewalk pivot run --resume`, which deletes no machine; " +
			"to let the cluster go, with its machines, undo the pivot with `ropewalk pivot abort`, which deletes that copy"
	}
	return wrong("%s plane: %s %w, or is gone: %s", s.Plane.Name(), what, errDeleted, advice)
}

// takeSnapshot reads what moves, and writes its digest to the receipt.
func (s *Source) takeSnapshot(ctx context.Context) error {
	set, err := s.read(ctx)
	if err != nil {
		return err
	}
	s.entries = set.Entries()
	chunks := 0
	if err := snapshot.Encode(s.entries, func(snapshot.Chunk) error { chunks++; return nil }); err != nil {
		return err
	}
	r := s.receipt
	r.Round++
	r.Digest = snapshot.Digest(s.entries)
	r.Objects = len(s.entries)
	r.Chunks = chunks
	r.Outline = snapshot.Outline(s.entries)
	return s.save(ctx, Snapshotted, "")
}

// ensureSnapshot reads the source again if this process has no snapshot. If the source differs
// from the receipt, it begins the pivot again from the pause, and returns false.
func (s *Source) ensureSnapshot(ctx context.Context) (ok bool, err error) {
	if s.entries != nil {
		return true, nil
	}
	set, err := s.read(ctx)
	if err != nil {
		return false, err
	}
	entries := set.Entries()
	if snapshot.Digest(entries) == s.receipt.Digest {
		s.entries = entries
		return true, nil
	}
	return false, s.snapshotAgain(ctx, entries)
}

// snapshotAgain goes back to the pause, because the source differs from the snapshot. After the
// third time it returns findings about what changes.
func (s *Source) snapshotAgain(ctx context.Context, now []snapshot.Entry) error {
	s.again++
	if s.again > attempts {
		return s.restless(ctx, differences(s.receipt.Outline, now))
	}
	s.entries = nil
	return s.save(ctx, Freezing, "changed after the snapshot: "+difference(s.receipt.Outline, now))
}

// restless returns findings that name the objects that change again and again, and what writes
// them.
func (s *Source) restless(ctx context.Context, objects []differing) error {
	var out inventory.Findings
	for _, d := range objects[:min(len(objects), mostNamed)] {
		problem := fmt.Sprintf("changes on the %s plane although its Cluster is paused", s.Plane.Name())
		if o, err := s.Plane.Get(ctx, s.kinds[d.GroupKind()], d.Ref); err == nil {
			problem += ", and was last written" + mover.LastWriter(o)
		}
		out = append(out, inventory.Finding{Ref: d.Ref, Problem: problem, Advice: "stop the controller that writes it (see its metadata.managedFields), and run again"})
	}
	return out.Sorted()
}

// stage sends the snapshot.
func (s *Source) stage(ctx context.Context) error {
	if ok, err := s.ensureSnapshot(ctx); err != nil || !ok {
		return err
	}
	if err := s.send(ctx); err != nil {
		return err
	}
	s.entries = nil // The target has them; keeping them would double the memory of the reads to come.
	return s.save(ctx, Staged, "")
}

// attempts bounds what is tried again because the target has got something else than was
// sent.
const attempts = 3

// send sends the chunks that the target does not have.
func (s *Source) send(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		held, err := s.call(ctx, Request{Op: Held, Samples: s.receipt.Outline})
		if err != nil {
			return err
		}
		done := 0
		err = snapshot.Encode(s.entries, func(c snapshot.Chunk) error {
			done++
			s.count("staging chunks", done, s.receipt.Chunks)
			if held.Held[c.Index] == c.Sum {
				return nil
			}
			_, err := s.call(ctx, Request{Op: Stage, Chunk: &c})
			return err
		})
		if err == nil {
			_, err = s.call(ctx, Request{Op: Seal})
		}
		if err == nil || attempt == attempts || !isRefused(err, Corrupt) {
			return err
		}
		s.report("", "staging again: "+printable.FirstLine(err.Error()))
	}
}

// ask sends a request that needs what is staged. If that is damaged, it is staged again first.
func (s *Source) ask(ctx context.Context, r Request) (Response, error) {
	for attempt := 1; ; attempt++ {
		out, err := s.call(ctx, r)
		if err == nil || attempt == attempts || !isRefused(err, Corrupt) {
			return out, err
		}
		s.report("", "staging again: "+printable.FirstLine(err.Error()))
		if err := s.restage(ctx, err); err != nil {
			return out, err
		}
	}
}

// restage sends the snapshot again to a target that has lost it, if the source has not changed
// since.
func (s *Source) restage(ctx context.Context, lost error) error {
	set, err := s.read(ctx)
	if err != nil {
		return err
	}
	s.entries = set.Entries()
	if snapshot.Digest(s.entries) != s.receipt.Digest {
		return wrong("%w; and it cannot be staged again, as the source has changed: undo the changes of %s", lost, difference(s.receipt.Outline, s.entries))
	}
	err = s.send(ctx)
	s.entries = nil
	return err
}

func isRefused(err error, why Refusal) bool {
	var refused *refusal
	return errors.As(err, &refused) && refused.why == why
}

func (s *Source) importObjects(ctx context.Context) error {
	if _, err := s.ask(ctx, Request{Op: Import}); err != nil {
		return err
	}
	return s.save(ctx, Imported, "")
}

// compare lets the target read back what it has imported, and import again what differs.
func (s *Source) compare(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		out, err := s.ask(ctx, Request{Op: Verify})
		switch {
		case attempt < attempts && isRefused(err, Differs):
			s.report("", "importing again: "+printable.FirstLine(err.Error()))
			if _, err := s.ask(ctx, Request{Op: Import}); err != nil {
				return err
			}
		case err != nil:
			return err
		case out.Digest != s.receipt.Digest:
			return fmt.Errorf("the target has read back %q, expected %q", out.Digest, s.receipt.Digest)
		default:
			return nil
		}
	}
}

// verify compares the snapshot with what the target has read back, and with what the source has
// now.
func (s *Source) verify(ctx context.Context) error {
	if err := s.compare(ctx); err != nil {
		return err
	}
	set, err := s.read(ctx)
	if err != nil {
		return err
	}
	if entries := set.Entries(); snapshot.Digest(entries) != s.receipt.Digest {
		return s.snapshotAgain(ctx, entries)
	}
	if set.PausedBy == "" {
		return s.snapshotAgain(ctx, nil)
	}
	s.verified = true
	return s.save(ctx, Verified, "")
}
