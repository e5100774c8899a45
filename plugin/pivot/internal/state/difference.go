// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"fmt"
	"strings"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// differing is an object that is not the same in two snapshots, or gone.
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

func differences(before, after []snapshot.Entry) []differing {
	left := map[plane.Ref]string{}
	for _, e := range before {
		left[e.Ref] = e.Digest
	}
	var out []differing
	for _, e := range after {
		if left[e.Ref] != e.Digest {
			out = append(out, differing{Ref: e.Ref})
		}
		delete(left, e.Ref)
	}
	for _, e := range before {
		if _, gone := left[e.Ref]; gone {
			out = append(out, differing{e.Ref, true})
		}
	}
	return out
}

// mostNamed bounds how many objects a message names.
const mostNamed = 5

// difference names the objects that are not the same in two snapshots.
func difference(before, after []snapshot.Entry) string {
	all := differences(before, after)
	var names []string
	for _, d := range all[:min(len(all), mostNamed)] {
		names = append(names, d.String())
	}
	if more := len(all) - mostNamed; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
