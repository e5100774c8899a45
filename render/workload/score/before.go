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

// before decodes which containers wait for this one.
func (p part) before() []Before {
	var out []Before
	for _, e := range p.entries() {
		out = append(out, Before{Container: e.name, Pos: e.namePos, Ready: e.get("ready").Text})
	}
	slices.SortFunc(out, func(a, b Before) int { return strings.Compare(a.Container, b.Container) })
	return out
}

// wait is a container that comes before another.
type wait struct {
	container string
	before    Before
	at        *location
}

// checkOrder checks that containers can start: the named containers exist, and none waits for
// itself. Without a cycle some container waits for others and none waits for it, so that
// something starts last.
func (d *decoder) checkOrder(names map[string]bool, waits []wait) {
	next := map[string][]wait{}
	slices.SortFunc(waits, func(a, b wait) int {
		return cmp.Or(strings.Compare(a.container, b.container), strings.Compare(a.before.Container, b.before.Container))
	})
	var known []string
	if len(waits) > 0 {
		known = object.SortedKeys(names)
	}
	for _, w := range waits {
		switch {
		case w.before.Container == w.container:
			d.fail(w.before.Pos, w.at, "name the container that waits", "container %s comes before itself", shown(w.container))
		case !names[w.before.Container]:
			d.fail(w.before.Pos, w.at, suggest(w.before.Container, known), "there is no container %s", shown(w.before.Container))
		default:
			next[w.container] = append(next[w.container], w)
		}
	}
	c := cycles{decoder: d, next: next, state: map[string]visit{}}
	for _, w := range waits {
		c.walk(w.container)
	}
}

// visit is how far a container was followed.
type visit int

const (
	unseen visit = iota
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
		switch to := w.before.Container; c.state[to] {
		case unseen:
			c.walk(to)
		case open:
			circle := append(slices.Clone(c.trail[slices.Index(c.trail, to):]), to)
			c.fail(w.before.Pos, w.at, "remove one of them", "cycle: %s", arrows(circle))
		default:
			// What is done has no circle that goes through here.
		}
	}
	c.state[name] = closed
	c.trail = c.trail[:len(c.trail)-1]
}

// arrows returns a cycle with arrows between the names. It leaves out some names if there are
// many.
func arrows(names []string) string {
	const most = 10
	if len(names) > most {
		more := fmt.Sprintf("(%d more)", len(names)-most)
		names = append(append(slices.Clone(names[:most-1]), more), names[len(names)-1])
	}
	return strings.Join(names, " -> ")
}
