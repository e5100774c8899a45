// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// Labels of what a pivot itself writes: it belongs to no set.
const (
	ReceiptLabel = "pivot.ropewalk.dev/receipt"
	ChunkLabel   = "pivot.ropewalk.dev/chunk"
)

// Options are those of Read; the zero value is good.
type Options struct {
	// Copy are objects that others use as well, or that nothing else brings into the set:
	// they are copied, and stay on the source.
	Copy []plane.Ref
}

// Item is an object that belongs to the Cluster.
type Item struct {
	snapshot.Entry
	ResourceVersion string
	// Owners are those in the set, sorted.
	Owners []plane.Ref
	// Blocks: a controller asks by annotation that the object is not moved yet.
	Blocks bool
	// Busy says why the object is not at rest.
	Busy []string
}

// Set is all that belongs to a Cluster.
type Set struct {
	Cluster    plane.Ref
	ClusterUID string
	// PausedBy are the field managers that paused the Cluster, or "annotation"; "" where it
	// is not paused.
	PausedBy string
	// Items are in the order of Entry.Compare.
	Items []Item
	// Left are objects of the namespace, of kinds that may belong to a Cluster, that belong to
	// none: they stay on the source. Sorted; without Secrets and ConfigMaps.
	Left []plane.Ref

	// listed are the kinds that were looked at.
	listed map[schema.GroupKind]bool
}

// Entries returns the entries of all items.
func (s *Set) Entries() []snapshot.Entry {
	out := make([]snapshot.Entry, len(s.Items))
	for i := range s.Items {
		out[i] = s.Items[i].Entry
	}
	return out
}

// Finding is what stands in the way of a pivot.
type Finding struct {
	Ref     plane.Ref `json:"object"`
	Problem string    `json:"problem"`
	// Advice is what to do.
	Advice string `json:"advice"`
}

// String returns the finding as text, such as "Secret apps/blue-ca: is used by Cluster green as
// well: copy it".
func (f Finding) String() string { return f.Ref.String() + ": " + f.Problem + ": " + f.Advice }

// Findings are an error: all that stands in the way, sorted.
type Findings []Finding

// Error returns a line for each finding.
func (f Findings) Error() string {
	lines := make([]string, len(f))
	for i := range f {
		lines[i] = f[i].String()
	}
	return strings.Join(lines, "\n")
}

// Sorted returns f by object and problem, each finding once.
func (f Findings) Sorted() Findings {
	out := slices.Clone(f)
	slices.SortFunc(out, func(a, b Finding) int {
		return cmp.Or(a.Ref.Compare(b.Ref), cmp.Compare(a.Problem, b.Problem), cmp.Compare(a.Advice, b.Advice))
	})
	return slices.Compact(out)
}

// err returns f as an error, or nil if it is empty.
func (f Findings) err() error {
	if len(f) == 0 {
		return nil
	}
	return f.Sorted()
}
