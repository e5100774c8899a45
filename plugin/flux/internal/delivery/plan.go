// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// planner decides from the state of all layers of a Transform and what is wanted.
type planner struct {
	desired []desired
	live    map[string]*state
	// byName are the desired layers by name, and owner is the layer in which an object is
	// wanted.
	byName map[string]*desired
	owner  map[key]string
	// newOwner are the layers that delete what is not desired any more and was marked.
	newOwner map[key]string
	rivals   rivals
}

// plan returns a goal for each layer: first those that are wanted in their order, then the others
// in the order in which they are deleted.
func plan(wanted []desired, states map[string]*state, claimed rivals) []goal {
	live := maps.Clone(states)
	maps.DeleteFunc(live, func(_ string, s *state) bool { return s.absent })
	p := planner{
		desired: wanted, live: live, rivals: claimed,
		byName: map[string]*desired{}, owner: map[key]string{}, newOwner: map[key]string{},
	}

	// The objects that are wanted have their layer as owner, the others get a new owner.
	for i := range wanted {
		w := &wanted[i]
		p.byName[w.name] = w
		for k := range w.content {
			p.owner[k] = w.name
		}
	}
	p.chooseOwners()

	// Layers that are not wanted any more come last.
	var goals []goal
	for i := range wanted {
		goals = append(goals, p.goal(live[wanted[i].name], &wanted[i]))
	}
	return append(goals, p.retire()...)
}

// chooseOwners chooses the new owner of each object that is marked and not wanted. A layer that
// has applied it comes before one that has not, and one that stays before one that goes.
func (p *planner) chooseOwners() {
	rank := func(s *state, k key) int {
		r := 0
		if !s.inventory[k] {
			r += 2
		}
		if p.byName[s.name] == nil {
			r++
		}
		return r
	}
	for _, name := range ordered(p.live) {
		s := p.live[name]
		if s.deleting {
			continue
		}
		for k := range s.content {
			if !s.dirty(k) || p.owner[k] != "" {
				continue
			}
			if old := p.newOwner[k]; old == "" || rank(s, k) < rank(p.live[old], k) {
				p.newOwner[k] = name
			}
		}
	}
}

// destination returns the layer that should have an object, or toOther, or toUnknown. It returns
// "" if the object is to be deleted.
func (p *planner) destination(k key) string {
	switch {
	case p.owner[k] != "":
		return p.owner[k]
	case p.rivals.objects[k].wants:
		return toOther
	case p.rivals.open:
		return toUnknown
	}
	return p.newOwner[k]
}

// holds reports whether Flux may treat an object as one of s.
func (p *planner) holds(s *state, k key) bool {
	_, has := s.content[k]
	return (has || s.inventory[k]) && !p.pinned(s, k)
}

// others reports whether a layer with another name holds an object.
func (p *planner) others(name string, k key) bool {
	for _, s := range p.live {
		if s.name != name && p.holds(s, k) {
			return true
		}
	}
	return false
}

// droppable reports whether a layer may lose an object that another one should have, because both
// have applied it marked.
func (p *planner) droppable(s *state, k key) bool {
	d := p.live[p.destination(k)]
	return s.applied && s.content[k].mark == marked &&
		d != nil && !d.deleting && d.applied && d.inventory[k] && d.content[k].mark == marked
}

// carries reports whether the artifact of a layer has all that is wanted of the layer, and beyond
// that only objects that a hand-over keeps in it.
func (p *planner) carries(s *state, w *desired) bool {
	if s == nil || s.deleting || s.health != w.health {
		return false
	}
	if s.digest == w.digest {
		return true
	}
	if !s.known {
		return false
	}

	// Another digest may still have the same manifests.
	for k, m := range w.content {
		if has, ok := s.content[k]; !ok || has.sum != m.sum {
			return false
		}
	}
	for k := range s.content {
		if _, wanted := w.content[k]; !wanted && p.destination(k) == "" {
			return false
		}
	}
	return true
}

// blocked returns the reason for which a layer does not get yet what is wanted. It returns "" if
// nothing is in its way.
func (p *planner) blocked(w *desired) string {
	// Layers and objects that it needs come first.
	for _, name := range w.after {
		before := p.byName[name]
		if s := p.live[name]; before != nil && (!p.carries(s, before) || !s.healthy) {
			return name + " is not Ready at its digest"
		}
	}
	if w.lacks != "" {
		return w.lacks
	}

	// An object that moves here is marked in its old layer first. Else that layer would put its
	// old manifest over the new one when it marks the object after all. A layer that cannot
	// apply anything is not waited for.
	for _, name := range ordered(p.live) {
		s := p.live[name]
		if s.name == w.name || s.deleting || s.failed || s.suspended == theirs {
			continue
		}
		for k := range w.content {
			if p.holds(s, k) && (s.content[k].mark != marked || !s.applied) {
				return name + " has not handed its objects over yet"
			}
		}
	}
	return ""
}

// goal returns the goal of a layer. The argument w is nil for a layer that is not wanted any more
// and keeps what it has.
func (p *planner) goal(s *state, w *desired) goal {
	if s == nil {
		return p.first(w)
	}
	g := goal{layer: s.name, health: s.health}

	// A layer that cannot be written keeps what it has.
	switch {
	case s.deleting:
		g.waits = "its Kustomization is being deleted"
		g.keep = true
		return g
	case p.stuck(s):
		g.others = "its artifact is gone, and another Transform may want its objects"
		g.waits = g.others
		g.keep = true
		return g
	}

	// A layer is released if nothing is in its way.
	if w != nil {
		if !p.carries(s, w) {
			g.others = p.awaited(w)
			g.waits = cmp.Or(p.blocked(w), g.others)
		}
		g.released = g.waits == ""
	}

	// Its content is the new content, or its present content.
	switch {
	case g.released:
		g.content = maps.Clone(w.content)
		g.health = w.health
	case s.known:
		g.content = maps.Clone(s.content)
	case !p.moves(s):
		g.keep = true
		return g
	case w != nil:
		// Its artifact is gone, so the new manifests stand in before their due: an
		// order that is not kept is better than an object that is lost.
		g.content = maps.Clone(w.content)
		g.health = w.health
		g.released = true
		g.waits = ""
	}

	// Then it keeps or gives away what a hand-over needs.
	if g.content == nil {
		g.content = content{}
	}
	p.handOver(&g, s)
	if len(g.content) == 0 {
		g.content = maps.Clone(s.content) // Flux refuses an artifact without an object.
	}
	g.keep = s.known && maps.Equal(g.content, s.content) && g.health == s.health
	return g
}

// first returns the goal of a layer that is not in the cluster yet.
func (p *planner) first(w *desired) goal {
	g := goal{layer: w.name, others: p.awaited(w)}
	g.waits = cmp.Or(p.blocked(w), g.others)
	if g.waits != "" {
		return g
	}
	g.released = true
	g.content = maps.Clone(w.content)
	g.health = w.health
	for k, m := range g.content {
		if !m.once && (p.others(w.name, k) || p.rivals.objects[k].leaves) {
			m.mark = marked
			g.content[k] = m
		}
	}
	return g
}

// moves reports whether a layer has applied an object that another layer should have.
func (p *planner) moves(s *state) bool {
	for k := range s.inventory {
		if d := p.destination(k); d != "" && d != s.name {
			return true
		}
	}
	return false
}

// handOver adds to the goal of a layer what it keeps for others, takes out what others own, and
// marks both.
func (p *planner) handOver(g *goal, s *state) {
	// The layer may have more in the cluster than in its artifact.
	keys := map[key]bool{}
	for k := range g.content {
		keys[k] = true
	}
	for k := range s.content {
		keys[k] = true
	}
	for k := range s.inventory {
		keys[k] = true
	}

	// The destination of each object decides.
	for k := range keys {
		switch p.destination(k) {
		case "":
		case toOther:
			p.leave(g, s, k)
		case toUnknown:
			if m, has := s.content[k]; has {
				g.content[k] = m
				g.others = fmt.Sprintf("keeps %s until the Transforms that have changed are rendered: one of them may want it", shown(k))
			}
		case s.name:
			if p.owner[k] == s.name {
				p.markOwned(g, s, k)
			} else {
				p.unmark(g, s, k)
			}
		default:
			p.giveAway(g, s, k)
		}
	}
}

// markOwned marks an object that a layer should have as long as another layer has it too.
func (p *planner) markOwned(g *goal, s *state, k key) {
	if m, ok := g.content[k]; ok && !m.once && (p.others(s.name, k) || p.rivals.objects[k].leaves) {
		m.mark = marked
		g.content[k] = m
	}
}

// unmark removes the mark from what is not desired, so that it can be pruned when it is dropped.
func (p *planner) unmark(g *goal, s *state, k key) {
	if s.failed && (!s.inventory[k] || s.refused[k]) {
		// It cannot be applied again, so another layer inherits, or at worst it stays.
		delete(g.content, k)
		g.quiesce = true
		return
	}
	m := s.content[k]
	m.mark = plain
	if p.others(s.name, k) {
		m.mark = marked
	}
	g.content[k] = m
}

// giveAway decides on an object that another layer should have.
func (p *planner) giveAway(g *goal, s *state, k key) {
	// The manifest of the other layer may stand in for a manifest that cannot be read.
	owner := p.destination(k)
	m, has := s.content[k]
	switch stands := p.standIn(owner, k); {
	case p.pinned(s, k):
		stands.mark = plain
		g.content[k] = stands
		return
	case p.droppable(s, k):
		delete(g.content, k)
		return
	case s.known && !has:
		return // It is on its way out.
	case !s.known:
		m = stands
	case s.failed && !s.inventory[k]:
		// It was never applied, and perhaps it is why nothing is. An attempt that is
		// under way might apply it, so there must be none.
		delete(g.content, k)
		g.quiesce = true
		return
	case s.failed && s.refused[k]:
		m = stands
	case stands.once:
		// A mark that it is created with would never be taken away.
		stands.mark = plain
		g.content[k] = stands
		return
	}

	// In all other cases the object stays marked until the other layer has it.
	m.mark = marked
	g.content[k] = m
}

// standIn returns the manifest of an object as the layer has it that should have it.
func (p *planner) standIn(layer string, k key) manifest {
	if w := p.byName[layer]; w != nil {
		if m, ok := w.content[k]; ok {
			return m
		}
	}
	return p.live[layer].content[k]
}

// retire returns the goals of layers that are not wanted, the last first.
func (p *planner) retire() []goal {
	// They are due when everything that is wanted is applied.
	var goals []goal
	due := true
	for i := range p.desired {
		w := &p.desired[i]
		s := p.live[w.name]
		due = due && p.carries(s, w) && s.applied
	}

	// Each of them waits for the layers that come after it.
	names := ordered(p.live)
	slices.Reverse(names)
	for _, name := range names {
		if p.byName[name] != nil {
			continue
		}
		s := p.live[name]
		g := p.goal(s, nil)
		switch {
		case s.deleting, p.stuck(s):
		case len(s.inventory) == 0:
			// There is nothing to delete, so it need not wait for its due. It is deleted
			// while it is suspended, so that nothing is applied at the last moment.
			g = goal{layer: name, health: s.health, remove: true, quiesce: true}
		case due:
			g = p.last(s, g)
		}
		goals = append(goals, g)
		due = due && p.pinnedOnly(s, g)
	}
	return goals
}

// last returns the goal of a layer that may be deleted. The argument kept is its goal if it may
// not.
func (p *planner) last(s *state, kept goal) goal {
	g := goal{layer: s.name, health: s.health, content: content{}, released: true}
	p.handOver(&g, s)
	if len(g.content) == 0 {
		return goal{layer: s.name, health: s.health, remove: true}
	}

	// Objects that cannot be handed over are left behind when the Transform ends.
	pinnedOnly := p.pinnedOnly(s, g)
	hasContent := s.known && maps.Equal(g.content, s.content)
	if p.rivals.ends && s.applied && pinnedOnly && hasContent {
		return goal{layer: s.name, health: s.health, remove: true, orphan: true}
	}
	if s.failed || !s.known || pinnedOnly {
		g.keep = hasContent
		return g
	}
	return kept
}

// pinnedOnly reports whether a layer stays only for objects that cannot be handed over.
func (p *planner) pinnedOnly(s *state, g goal) bool {
	for k := range g.content {
		if !p.pinned(s, k) {
			return false
		}
	}
	return len(g.content) > 0
}
