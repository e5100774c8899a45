// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"fmt"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/mover"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// snapshots carry the objects of the source to the target.
type snapshots struct {
	p *process
	// entries are the snapshot of this process; nil after a restart.
	entries []snapshot.Entry
	// verified means that this process has compared both planes.
	verified bool
	// retakes counts the snapshots that differed from the source when they were verified.
	retakes int
}

// checkReady asks the target whether it still has the namespace and the definitions.
func (s *snapshots) checkReady(ctx context.Context) error {
	used := plane.Kinds{}
	for _, e := range s.p.receipt.Outline {
		used[e.Ref.GroupKind()] = s.p.kinds[e.Ref.GroupKind()]
	}
	_, err := s.ask(ctx, Request{Op: Ready, Kinds: list(used)})
	return err
}

// take reads the objects that move, and writes their digest to the receipt.
func (s *snapshots) take(ctx context.Context) error {
	set, err := s.p.read(ctx)
	if err != nil {
		return err
	}
	s.entries = set.Entries()
	chunks := 0
	countChunk := func(snapshot.Chunk) error {
		chunks++
		return nil
	}
	if err := snapshot.Encode(s.entries, countChunk); err != nil {
		return err
	}
	r := s.p.receipt
	r.Round++
	r.Digest = snapshot.Digest(s.entries)
	r.Objects = len(s.entries)
	r.Chunks = chunks
	r.Outline = snapshot.Outline(s.entries)
	return s.p.save(ctx, Snapshotted, "")
}

// ensure reads the source again if this process has no snapshot. It reports whether the snapshot is
// the one of the receipt: if the source differs, the pivot begins again from the pause.
func (s *snapshots) ensure(ctx context.Context) (ok bool, err error) {
	if s.entries != nil {
		return true, nil
	}
	set, err := s.p.read(ctx)
	if err != nil {
		return false, err
	}
	entries := set.Entries()
	if snapshot.Digest(entries) == s.p.receipt.Digest {
		s.entries = entries
		return true, nil
	}
	return false, s.takeAgain(ctx, entries)
}

// takeAgain goes back to the pause, because the source differs from the snapshot. After the third
// time it returns findings about the objects that change.
func (s *snapshots) takeAgain(ctx context.Context, current []snapshot.Entry) error {
	s.retakes++
	if s.retakes > attempts {
		return s.restless(ctx, differences(s.p.receipt.Outline, current))
	}
	s.entries = nil
	return s.p.save(ctx, Freezing, "changed after the snapshot: "+difference(s.p.receipt.Outline, current))
}

// restless returns findings that name the objects that change again and again, and their last
// writers.
func (s *snapshots) restless(ctx context.Context, objects []differing) error {
	var out inventory.Findings
	for _, d := range objects[:min(len(objects), mostNamed)] {
		problem := fmt.Sprintf("changes on the %s plane although its Cluster is paused", s.p.plane.Name())
		if o, err := s.p.plane.Get(ctx, s.p.kinds[d.GroupKind()], d.Ref); err == nil {
			problem += ", and was last written" + mover.LastWriter(o)
		}
		advice := "stop the controller that writes it (see its metadata.managedFields), and run again"
		out = append(out, inventory.Finding{Ref: d.Ref, Problem: problem, Advice: advice})
	}
	return out.Sorted()
}

// stage sends the snapshot.
func (s *snapshots) stage(ctx context.Context) error {
	if ok, err := s.ensure(ctx); err != nil || !ok {
		return err
	}
	if err := s.send(ctx); err != nil {
		return err
	}
	s.entries = nil // The target has them; keeping them would double the memory of the reads to come.
	return s.p.save(ctx, Staged, "")
}

// attempts bounds how often a transfer is repeated whose content arrived damaged.
const attempts = 3

// send sends the chunks that the target does not have.
func (s *snapshots) send(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		// Send the missing chunks, and let the target check all of them.
		held, err := s.p.call(ctx, Request{Op: Held, Samples: s.p.receipt.Outline})
		if err != nil {
			return err
		}
		done := 0
		err = snapshot.Encode(s.entries, func(c snapshot.Chunk) error {
			done++
			s.p.count("staging chunks", done, s.p.receipt.Chunks)
			if held.Held[c.Index] == c.Sum {
				return nil
			}
			_, err := s.p.call(ctx, Request{Op: Stage, Chunk: &c})
			return err
		})
		if err == nil {
			_, err = s.p.call(ctx, Request{Op: Seal})
		}

		// Damaged chunks are sent again.
		if err == nil || attempt == attempts || !isRefused(err, Corrupt) {
			return err
		}
		s.p.report("", "staging again: "+printable.FirstLine(err.Error()))
	}
}

// ask sends a request that needs the staged snapshot. A damaged snapshot is staged again first.
func (s *snapshots) ask(ctx context.Context, r Request) (Response, error) {
	for attempt := 1; ; attempt++ {
		out, err := s.p.call(ctx, r)
		if err == nil || attempt == attempts || !isRefused(err, Corrupt) {
			return out, err
		}
		s.p.report("", "staging again: "+printable.FirstLine(err.Error()))
		if err := s.restage(ctx, err); err != nil {
			return out, err
		}
	}
}

// restage sends the snapshot again to a target that has lost it, if the source has not changed
// since.
func (s *snapshots) restage(ctx context.Context, lost error) error {
	set, err := s.p.read(ctx)
	if err != nil {
		return err
	}
	s.entries = set.Entries()
	if snapshot.Digest(s.entries) != s.p.receipt.Digest {
		const format = "%w; and it cannot be staged again, as the source has changed: undo the changes of %s"
		return stepErrorf(format, lost, difference(s.p.receipt.Outline, s.entries))
	}
	err = s.send(ctx)
	s.entries = nil
	return err
}

// importObjects lets the target create the staged objects.
func (s *snapshots) importObjects(ctx context.Context) error {
	if _, err := s.ask(ctx, Request{Op: Import}); err != nil {
		return err
	}
	return s.p.save(ctx, Imported, "")
}

// compare lets the target read the imported objects back, and import again if they differ.
func (s *snapshots) compare(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		out, err := s.ask(ctx, Request{Op: Verify})
		switch {
		case attempt < attempts && isRefused(err, Differs):
			s.p.report("", "importing again: "+printable.FirstLine(err.Error()))
			if _, err := s.ask(ctx, Request{Op: Import}); err != nil {
				return err
			}
		case err != nil:
			return err
		case out.Digest != s.p.receipt.Digest:
			return fmt.Errorf("the target has read back %q, expected %q", out.Digest, s.p.receipt.Digest)
		default:
			return nil
		}
	}
}

// verify compares the snapshot with the target, and with the source as it is now.
func (s *snapshots) verify(ctx context.Context) error {
	if err := s.compare(ctx); err != nil {
		return err
	}
	set, err := s.p.read(ctx)
	if err != nil {
		return err
	}
	if entries := set.Entries(); snapshot.Digest(entries) != s.p.receipt.Digest {
		return s.takeAgain(ctx, entries)
	}
	if set.PausedBy == "" {
		return s.takeAgain(ctx, nil)
	}
	s.verified = true
	return s.p.save(ctx, Verified, "")
}
