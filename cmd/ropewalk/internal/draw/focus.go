// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package draw

import (
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// Around returns an object with all that it waits for and all that waits for it, over any number of
// edges. If these are more than most objects, it returns the neighbours of the object alone. The
// result related counts all of them.
func Around(plan *order.Plan, id object.ID, most int) (near map[object.ID]bool, related int) {
	needs, neededBy := map[object.ID][]object.ID{}, map[object.ID][]object.ID{}
	add := func(dependent, dependency object.ID) {
		needs[dependent] = append(needs[dependent], dependency)
		neededBy[dependency] = append(neededBy[dependency], dependent)
	}

	// Leave out edges that nearly every object has.
	drawn, _ := split(lines(plan))
	joins := 0
	for _, l := range drawn {
		if !l.join {
			add(l.from, l.to)
			continue
		}
		// The side of a join that is far is drawn as one object, and each of the near one has it.
		j := plan.Graph.Joins[joins]
		joins++
		for _, dependent := range j.From {
			needs[dependent] = append(needs[dependent], l.to)
		}
		for _, dependency := range j.To {
			neededBy[dependency] = append(neededBy[dependency], l.from)
		}
	}

	// Follow the edges in both directions.
	near = map[object.ID]bool{id: true}
	for _, next := range []map[object.ID][]object.ID{needs, neededBy} {
		reach(next, id, near)
	}
	related = len(near)
	if related <= most {
		return near, related
	}

	// Otherwise take the neighbours alone.
	near = map[object.ID]bool{id: true}
	for _, next := range []map[object.ID][]object.ID{needs, neededBy} {
		for _, other := range next[id] {
			near[other] = true
		}
	}
	return near, related
}

// reach adds all objects to near that next leads to from id.
func reach(next map[object.ID][]object.ID, id object.ID, near map[object.ID]bool) {
	seen := map[object.ID]bool{id: true}
	for todo := []object.ID{id}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, other := range next[at] {
			if !seen[other] {
				seen[other] = true
				near[other] = true
				todo = append(todo, other)
			}
		}
	}
}
