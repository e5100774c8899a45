// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// before decodes the containers that wait for this container.
func (p part) before() []Before {
	var out []Before
	for _, e := range p.entries() {
		out = append(out, Before{Container: e.name, Pos: e.namePos, Ready: e.field("ready").Text})
	}
	slices.SortFunc(out, func(a, b Before) int { return strings.Compare(a.Container, b.Container) })
	return out
}

// wait is a container that comes before another.
type wait struct {
	container string
	before    Before
	loc       *location
}

// checkOrder checks that containers can start: the containers in before exist, and no container
// waits for itself. If containers wait and there is no cycle, one of them waits for no other, so
// that the start has a beginning.
func (d *decoder) checkOrder(names map[string]bool, waits []wait) {
	waiting := map[string][]wait{}
	slices.SortFunc(waits, func(a, b wait) int {
		return cmp.Or(strings.Compare(a.container, b.container), strings.Compare(a.before.Container, b.before.Container))
	})
	var existing []string
	if len(waits) > 0 {
		existing = object.SortedKeys(names)
	}
	for _, w := range waits {
		switch {
		case w.before.Container == w.container:
			d.failAt(w.before.Pos, w.loc, "name the container that waits", "container %s comes before itself", shown(w.container))
		case !names[w.before.Container]:
			d.failAt(w.before.Pos, w.loc, suggest(w.before.Container, existing), "there is no container %s", shown(w.before.Container))
		default:
			waiting[w.container] = append(waiting[w.container], w)
		}
	}
	c := cycles{decoder: d, next: waiting, state: map[string]visit{}}
	for _, w := range waits {
		c.walk(w.container)
	}
}

// visit records whether the walk has entered and left a container.
type visit int

const (
	unseen visit = iota // not entered
	open
	closed
)

// cycles looks for circles among containers that wait.
type cycles struct {
	*decoder
	next  map[string][]wait
	state map[string]visit
	trail []string
}

func (c *cycles) walk(name string) {
	if c.state[name] != unseen {
		return
	}
	c.state[name] = open
	c.trail = append(c.trail, name)
	for _, w := range c.next[name] {
		switch next := w.before.Container; c.state[next] {
		case unseen:
			c.walk(next)
		case open:
			cycle := append(slices.Clone(c.trail[slices.Index(c.trail, next):]), next)
			c.failAt(w.before.Pos, w.loc, "remove one of them", "cycle: %s", arrows(cycle))
		default:
			// A closed container is in no other cycle through here.
		}
	}
	c.state[name] = closed
	c.trail = c.trail[:len(c.trail)-1]
}

// arrows returns a cycle with arrows between the names. It leaves out some names of a long cycle.
func arrows(names []string) string {
	const most = 10
	if len(names) > most {
		omitted := fmt.Sprintf("(%d more)", len(names)-most)
		names = append(append(slices.Clone(names[:most-1]), omitted), names[len(names)-1])
	}
	return strings.Join(names, " -> ")
}
