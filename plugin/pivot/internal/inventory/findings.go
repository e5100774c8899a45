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

// Labels of the objects that a pivot itself writes: they belong to no set.
const (
	ReceiptLabel = "pivot.ropewalk.dev/receipt"
	ChunkLabel   = "pivot.ropewalk.dev/chunk"
)

// Options configure Read; the zero value is good.
type Options struct {
	// Copy are objects that others use as well, or that nothing else brings into the set:
	// they are copied, and stay on the source.
	Copy []plane.Ref
}

// Item is an object that belongs to the Cluster.
type Item struct {
	snapshot.Entry
	ResourceVersion string
	// Owners are its owners in the set, sorted.
	Owners []plane.Ref
	// Blocks means that a controller asks by annotation not to move the object yet.
	Blocks bool
	// Busy lists the reasons why the object is not at rest.
	Busy []string
}

// Set has the objects that belong to a Cluster.
type Set struct {
	Cluster    plane.Ref
	ClusterUID string
	// PausedBy names the field managers that paused the Cluster, or "annotation"; "" if it is not
	// paused.
	PausedBy string
	// Items are in the order of Entry.Compare.
	Items []Item
	// Left are objects of the namespace that could belong to a Cluster by their kind, and do not:
	// they stay on the source. Sorted; without Secrets and ConfigMaps.
	Left []plane.Ref

	// listed are the kinds whose objects were read.
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

// Finding is a problem that stands in the way of a pivot.
type Finding struct {
	Ref     plane.Ref `json:"object"`
	Problem string    `json:"problem"`
	// Advice tells the user how to remove the problem.
	Advice string `json:"advice"`
}

// String returns the finding as text, such as "Secret apps/blue-ca: is used by Cluster green as
// well: copy it".
func (f Finding) String() string { return f.Ref.String() + ": " + f.Problem + ": " + f.Advice }

// Findings are an error: all problems at once, sorted.
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
