// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package lock

import (
	"cmp"
	"fmt"
)

// Change is the difference between two files in one entry.
type Change struct {
	// What names the reference, the module or the image.
	What string
	// From and To are its revisions, or its digests if the revisions are equal or missing. From is
	// "" for an entry that is new, To for one that is gone.
	From, To string
}

// String returns the change as a sentence without a full stop.
func (c Change) String() string {
	switch {
	case c.From == "":
		return fmt.Sprintf("%s is new, at %s", c.What, c.To)
	case c.To == "":
		return fmt.Sprintf("%s is gone, it was at %s", c.What, c.From)
	}
	return fmt.Sprintf("%s moved from %s to %s", c.What, c.From, c.To)
}

// Diff returns what changes from f to other: the sources, then the modules, then the images,
// each in the order of the file.
func (f File) Diff(other File) []Change {
	f, other = f.sorted(), other.sorted()
	out := diff(f.Sources, other.Sources, Source.compare, func(from, to Source) Change {
		c := Change{What: cmp.Or(from, to).name(), From: from.Revision, To: to.Revision}
		if c.From == c.To || c.From == "" || c.To == "" {
			c.From, c.To = cmp.Or(from.Revision, from.Digest), cmp.Or(to.Revision, to.Digest)
		}
		if c.From == c.To {
			c.From, c.To = from.Digest, to.Digest
		}
		return c
	})
	out = append(out, diff(f.Modules, other.Modules, Module.compare, func(from, to Module) Change {
		m := cmp.Or(from, to)
		return Change{What: fmt.Sprintf("module %q", m.Module+"@"+m.Version), From: from.Digest, To: to.Digest}
	})...)
	return append(out, diff(f.Images, other.Images, Image.compare, func(from, to Image) Change {
		return Change{What: fmt.Sprintf("image %q", cmp.Or(from, to).Image), From: from.Digest, To: to.Digest}
	})...)
}

// diff walks two sorted lists, and returns a change for each entry that is not in both. A
// missing entry is the zero value for change.
func diff[E comparable](older, newer []E, compare func(a, b E) int, change func(older, newer E) Change) []Change {
	var out []Change
	var none E

	// Both lists are sorted, so the smaller one of the next two entries is only in its list.
	for len(older) > 0 || len(newer) > 0 {
		order := 0
		switch {
		case len(older) == 0:
			order = 1
		case len(newer) == 0:
			order = -1
		default:
			order = compare(older[0], newer[0])
		}
		switch {
		case order < 0:
			out = append(out, change(older[0], none))
			older = older[1:]
		case order > 0:
			out = append(out, change(none, newer[0]))
			newer = newer[1:]
		default:
			if older[0] != newer[0] {
				out = append(out, change(older[0], newer[0]))
			}
			older, newer = older[1:], newer[1:]
		}
	}
	return out
}
