// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"fmt"
	"strings"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// differing is an object that differs between two snapshots, or is gone.
type differing struct {
	plane.Ref
	gone bool
}

// String returns the object, and whether it is gone.
func (d differing) String() string {
	if d.gone {
		return d.Ref.String() + " (gone)"
	}
	return d.Ref.String()
}

// differences returns the objects that differ between two snapshots: changed, new, and then gone.
func differences(before, after []snapshot.Entry) []differing {
	remaining := map[plane.Ref]string{}
	for _, e := range before {
		remaining[e.Ref] = e.Digest
	}
	var out []differing
	for _, e := range after {
		if remaining[e.Ref] != e.Digest {
			out = append(out, differing{Ref: e.Ref})
		}
		delete(remaining, e.Ref)
	}
	for _, e := range before {
		if _, gone := remaining[e.Ref]; gone {
			out = append(out, differing{e.Ref, true})
		}
	}
	return out
}

// mostNamed bounds the objects that a message names.
const mostNamed = 5

// difference names the objects that differ between two snapshots.
func difference(before, after []snapshot.Entry) string {
	objects := differences(before, after)
	var names []string
	for _, d := range objects[:min(len(objects), mostNamed)] {
		names = append(names, d.String())
	}
	if more := len(objects) - mostNamed; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
