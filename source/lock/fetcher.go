// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ropewalk/ropewalk/internal/reftype"
	"github.com/ropewalk/ropewalk/source"
)

// Mode says how a Fetcher uses a lock.
type Mode int

const (
	// Prefer takes the pinned revision of a reference that has an entry, and
	// fetches others as usual.
	Prefer Mode = iota
	// Enforce wants an entry for each reference, which must still lead to the
	// revision of the entry, or to another one with the same files: render --locked.
	Enforce
	// Frozen takes pinned revisions only and asks no server where a reference
	// leads.
	Frozen
	// FrozenUnlessPinned is Frozen, except that a reference to a digest or a commit needs
	// no entry.
	FrozenUnlessPinned
	// Confined is Frozen for what servers have; embedded modules are as for Prefer.
	Confined
	// Update ignores the entries: ropewalk lock.
	Update
)

// Fetcher is a fetcher that holds references to a lock. It is safe for concurrent
// use where Next is.
type Fetcher struct {
	// Next gets the trees. [Fixed] makes one of a fetcher that cannot resolve.
	Next source.Resolver
	// File is the lock.
	File File
	// Mode says what it means.
	Mode Mode
	// Plan is the name of the build plan that File is of, for errors; "" for the lock.
	Plan string
	// Record gets each reference that was fetched, with what it led to; nil
	// records nothing.
	Record *Recorder
}

var _ source.Resolver = Fetcher{}

// Fetch gets a tree. If the lock has an entry for the reference, the tree matches the entry, and
// has its revision and pinned reference. Errors are source.ErrLocked and the errors of Next.
func (f Fetcher) Fetch(ctx context.Context, ref source.Ref) (source.Tree, error) {
	if !Locks(ref.Type) {
		return f.Next.Fetch(ctx, ref)
	}
	entry, ok, err := f.findEntry(ctx, ref)
	if err != nil {
		return source.Tree{}, err
	}
	tree, err := f.Next.Fetch(ctx, pinned(ref, entry))
	if err != nil {
		return source.Tree{}, f.explainGone(entry, err)
	}

	// The tree of an entry must have the locked digest, and gets the revision of the lock.
	if ok {
		differs := tree.Digest != entry.Digest
		switch {
		case differs && signedTag(ref) && tree.Pinned != entry.Pinned:
			return source.Tree{}, errMoved(entry, source.Resolved{Revision: tree.Revision, Ref: source.Ref{Ref: tree.Pinned}})
		case differs:
			return source.Tree{}, f.errOther(entry, tree.Digest)
		}
		tree.Revision = cmp.Or(entry.Revision, tree.Revision)
		tree.Pinned = cmp.Or(entry.Pinned, tree.Pinned)
	}
	if f.Record != nil {
		f.Record.Source(ref, tree)
	}
	return tree, nil
}

// Resolve returns where a reference leads: to its entry, or to where Next leads.
func (f Fetcher) Resolve(ctx context.Context, ref source.Ref) (source.Resolved, error) {
	if !Locks(ref.Type) {
		return f.Next.Resolve(ctx, ref)
	}
	entry, ok, err := f.findEntry(ctx, ref)
	if err != nil {
		return source.Resolved{}, err
	}
	if !ok || entry.Pinned == "" {
		return f.Next.Resolve(ctx, ref)
	}
	return source.Resolved{Ref: pinned(ref, entry), Revision: entry.Revision, Immutable: true}, nil
}

// findEntry returns the entry that a reference is held to; ok is false where the lock does
// not hold it.
func (f Fetcher) findEntry(ctx context.Context, ref source.Ref) (entry Source, ok bool, err error) {
	// In these modes, embedded modules always come from the program.
	fromProgram := ref.Type == source.TypeEmbedded && (f.Mode == Prefer || f.Mode == Confined)
	if f.Mode == Update || fromProgram {
		return Source{}, false, nil
	}

	// A reference without an entry is free in some modes, and refused in the others.
	entry, ok = f.File.Find(ref)
	isFree := f.Mode == Prefer || (f.Mode == FrozenUnlessPinned && reftype.Pinned(ref.Type, ref.Ref))
	switch {
	case !ok && isFree:
		return Source{}, false, nil
	case !ok:
		name := Source{Type: ref.Type, Ref: ref.Ref, Path: ref.Path}.name()
		lockName, command := f.written()
		if f.Mode == Confined {
			return Source{}, false, source.Refuse(source.ErrLocked, fmt.Sprintf("%s: not in %s, and nothing else is fetched", name, lockName))
		}
		return Source{}, false, source.Refuse(source.ErrLocked, fmt.Sprintf("%s: not in %s: run %q", name, lockName, command))
	case f.Mode != Enforce || entry.Pinned == "":
		return entry, true, nil
	}

	// Only Enforce compares an entry with where its reference leads now.
	now, err := f.Next.Resolve(ctx, ref)
	if err != nil {
		return Source{}, false, err
	}
	// Revisions hold the digest or the commit. References are compared only where
	// there are no revisions: backends may write one place in two ways.
	if now.Revision == entry.Revision && (now.Revision != "" || now.Ref.Ref == entry.Pinned) {
		return entry, true, nil
	}
	// A branch moves with every commit of its repository. What counts is whether
	// the module did.
	tree, err := f.Next.Fetch(ctx, now.Ref)
	switch {
	case err != nil:
		return Source{}, false, err
	case tree.Digest != entry.Digest:
		return Source{}, false, errMoved(entry, now)
	}
	return entry, true, nil
}

// pinned returns ref with the immutable reference of an entry. A tag of Git that must be
// signed stays as it is: the commit that it leads to need not be signed.
func pinned(ref source.Ref, entry Source) source.Ref {
	if signedTag(ref) {
		return ref
	}
	ref.Ref = cmp.Or(entry.Pinned, ref.Ref)
	return ref
}

// signedTag reports whether a reference requires a signature that a tag may have.
func signedTag(ref source.Ref) bool {
	namesTag := strings.Contains(ref.Ref, "tag=") || strings.Contains(ref.Ref, "semver=")
	return ref.Type == source.TypeGit && ref.Verify.Provider != "" && namesTag
}

func errMoved(entry Source, now source.Resolved) error {
	from, to := entry.Revision, now.Revision
	if from == to {
		from, to = entry.Pinned, now.Ref.Ref
	}
	return source.Refuse(source.ErrLocked, fmt.Sprintf("%s: moved from %s to %s since it was locked: if that is meant, run %q",
		entry.name(), from, to, "ropewalk lock"))
}

// errOther returns the error for content that differs from its entry.
func (f Fetcher) errOther(entry Source, got string) error {
	lockName, command := f.written()
	why := "the same revision must not have other content, so find out who changed it; if it is meant"
	if entry.Type == source.TypeEmbedded {
		why = "another version of ropewalk wrote the lock; if this one is meant"
	}
	return source.Refuse(source.ErrLocked, fmt.Sprintf("%s: its digest is %s, and %s says %s: %s, run %q",
		entry.name(), got, lockName, entry.Digest, why, command))
}

// written returns what holds the entries, and the command that writes it.
func (f Fetcher) written() (name, command string) {
	if f.Plan != "" {
		return f.Plan, "ropewalk build --plan"
	}
	return Name, "ropewalk lock"
}

// explainGone says of what a plan pins that it is not there any more; other errors stay as
// they are.
func (f Fetcher) explainGone(entry Source, err error) error {
	if f.Plan == "" || !errors.Is(err, source.ErrNotFound) || entry.Pinned == "" {
		return err
	}
	return fmt.Errorf("%s pins %s %q: %w", f.Plan, entry.Type, entry.Pinned, err)
}

// Fixed returns a resolver of references that always lead to the same place, as far as the
// fetcher knows: those to embedded modules.
func Fixed(next source.Fetcher) source.Resolver { return fixed{next} }

type fixed struct{ source.Fetcher }

// Resolve returns the reference itself.
func (fixed) Resolve(_ context.Context, ref source.Ref) (source.Resolved, error) {
	return source.Resolved{Ref: ref, Immutable: true}, nil
}
