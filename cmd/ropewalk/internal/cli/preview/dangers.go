// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"
	"slices"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/preview"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/host/gitops"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/object"
)

// addUnitDangers adds the dangers that come from the units that apply objects, and not from the
// objects themselves. The results are those of the cells, in their order.
func (p *previewing) addUnitDangers(results []preview.Result) {
	reported := map[owned]bool{}
	for i, c := range p.cells {
		if c.unit == (gitops.ID{}) {
			continue
		}
		suspended, isSuspended := p.suspended(c.unit)
		changes := results[i].Changes.Changes
		for j := range changes {
			change := &changes[j]
			if d, ok := p.deletionOfUnit(c.unit.Cluster, *change, results); ok {
				change.Dangers = []diff.Danger{d}
			}
			if other, ok := p.otherOwner(c.unit, *change); ok {
				reported[owned{c.unit.Cluster, change.Ref}] = true
				change.Dangers = append(change.Dangers, diff.Danger{Code: diff.DangerHandover, Message: fmt.Sprintf("%s applies it too, and each would undo what the other does", other)})
			}
			if isSuspended {
				change.Dangers = append(change.Dangers, diff.Danger{Code: diff.DangerStopped, Message: fmt.Sprintf("the change does not arrive: %s is suspended", suspended)})
			}
		}
	}
	p.noteOwners(reported)
}

// noteOwners tells which objects several units apply on both sides, as far as these are rendered. The
// argument reported has those that are so by the change.
func (p *previewing) noteOwners(reported map[owned]bool) {
	shared := map[string][]string{}
	for key, units := range p.owners {
		if len(units) < 2 || reported[key] { //nolint:mnd // two are one too many
			continue
		}
		var names []string
		for _, id := range units {
			names = append(names, id.String())
		}
		text := printable.List(names, most)
		shared[text] = append(shared[text], key.ref.String())
	}
	for _, text := range object.SortedKeys(shared) {
		slices.Sort(shared[text])
		p.head.Notes = append(p.head.Notes, fmt.Sprintf("%s: each applies %s, and undoes what the others do.", text, printable.List(shared[text], most)))
	}
}

// suspended returns the unit that keeps a change of a unit from the cluster: itself, or one that
// applies it.
func (p *previewing) suspended(id gitops.ID) (gitops.ID, bool) {
	u, ok := p.head.units[id]
	if !ok {
		u = p.base.units[id]
	}
	for _, above := range append(slices.Clone(u.Parents), id) {
		if p.head.units[above].Suspended {
			return above, true
		}
	}
	return gitops.ID{}, false
}

// deletionOfUnit returns what the deletion of the object of a unit does to the objects that it
// applied.
func (p *previewing) deletionOfUnit(cluster string, c diff.Change, results []preview.Result) (diff.Danger, bool) {
	id := gitops.ID{Cluster: cluster, Kind: c.Ref.Kind, Namespace: c.Ref.Namespace, Name: c.Ref.Name}
	u, was := p.base.units[id]
	_, stays := p.head.units[id]
	if c.Kind != diff.Deleted || !was || stays {
		return diff.Danger{}, false
	}

	// The units below it go with it.
	objects, below, unknown := 0, 0, 0
	for i, other := range p.cells {
		unit, known := p.base.units[other.unit]
		if !known || other.unit != id && !slices.Contains(unit.Parents, id) {
			continue
		}
		if other.unit != id {
			below++
		}
		if before := results[i].Before; before != nil && before.Outline != nil {
			objects += before.Outline.Totals.Objects
		} else {
			unknown++
		}
	}

	// What is not rendered here may hold any number of objects.
	what := printable.Count(objects, "object") + " of it"
	verb, uncounted := "are", ""
	if objects == 1 && below == 0 {
		verb = "is"
	}
	if below > 0 {
		what += fmt.Sprintf(" and %s below it", printable.Count(below, "unit"))
	}
	if unknown > 0 {
		uncounted = fmt.Sprintf("; the objects of %s are not counted, which cannot be rendered here", printable.Count(unknown, "unit"))
	}
	if objects == 0 && below == 0 && unknown > 0 {
		what, verb = "all that it applied", "is"
	}
	if !u.Deletes {
		return diff.Danger{Code: diff.DangerOrphan, Message: fmt.Sprintf("%s %s left in the cluster unmanaged, since it deletes nothing%s", what, verb, uncounted)}, true
	}
	return diff.Danger{Code: diff.DangerData, Message: fmt.Sprintf("%s %s deleted with it, since it deletes what it applied%s", what, verb, uncounted)}, true
}

// otherOwner returns another unit of the cluster that applies an object on the head, if the change
// makes two owners of it. Units that the change does not touch are not known.
func (p *previewing) otherOwner(id gitops.ID, c diff.Change) (gitops.ID, bool) {
	if c.Kind != diff.Created {
		return gitops.ID{}, false
	}
	for _, other := range p.owners[owned{id.Cluster, c.Ref}] {
		if other != id {
			return other, true
		}
	}
	return gitops.ID{}, false
}

// owned is an object of a cluster.
type owned struct {
	cluster string
	ref     object.Ref
}

// own keeps what a unit applies on the head.
func (p *previewing) own(id gitops.ID, after *rendered) {
	if id == (gitops.ID{}) || after == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, item := range after.snapshot.Items {
		key := owned{id.Cluster, item.Object.Ref()}
		p.owners[key] = append(p.owners[key], id)
		slices.SortFunc(p.owners[key], gitops.ID.Compare)
	}
}
