// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// NoWave is the wave of an item whose wave nobody knows.
const NoWave = -1

// Side is one of the two renders.
type Side struct {
	// Name is what the report calls it, such as HEAD~1 or oci://….
	Name  string
	Items []Item
}

// Item is one object of a side, with what is known of it.
type Item struct {
	Object object.Object
	// Node is its id in the render, "" where nobody knows.
	Node object.ID
	// Wave is its wave from 0, or [NoWave].
	Wave int
	// Layer is its barrier layer, "" where there are none.
	Layer string
	// Stays says that the engine leaves the object in the cluster when it leaves
	// the render. Where it is false, the annotations of the object decide.
	Stays bool
	// Forced says that the engine makes the object again where a field cannot be
	// changed. Where it is false, the annotations decide.
	Forced bool
	// Pos is the line of the spec that is behind the object.
	Pos object.Pos
}

// Kind says what happens to an object.
type Kind string

// What can happen to an object.
const (
	Created Kind = "created"
	Changed Kind = "changed"
	// Recreated is a change of a field that cannot be changed: the object must be
	// deleted and made again, or the API server refuses it.
	Recreated Kind = "recreated"
	Deleted   Kind = "deleted"
	// Moved is an object that only changes its wave or its layer.
	Moved Kind = "moved"
)

// Change is what is different about one object.
type Change struct {
	Kind Kind       `json:"change"`
	Ref  object.Ref `json:"object"`
	Node object.ID  `json:"node,omitempty"`
	// Fields is sorted by path; a created or deleted object has none.
	Fields []Field `json:"fields,omitempty"`
	// Wave and Layer are there where both sides know them.
	Wave    *Move    `json:"wave,omitempty"`
	Layer   *Move    `json:"layer,omitempty"`
	Dangers []Danger `json:"dangers,omitempty"`
	// Pos is the line of the spec that is behind the object, on the later side
	// where it is there.
	Pos object.Pos `json:"-"`
	// At is Pos as text, "" where nobody knows.
	At string `json:"at,omitempty"`
}

// Field is a part of an object that is different.
type Field struct {
	// Path leads to it as people read it: spec.containers[web].image.
	Path string `json:"path"`
	// At leads to it in the object of the later side, or in that of the earlier
	// one where it is gone.
	At object.Path `json:"-"`
	// Before and After are the values, nil where there is none; values of Secrets
	// are replaced.
	Before any `json:"before,omitempty"`
	After  any `json:"after,omitempty"`
	// Immutable says that the field cannot be changed.
	Immutable bool `json:"immutable,omitempty"`
	// Pos is the line of the user's text that the value comes from, where
	// someone traced it.
	Pos  object.Pos `json:"-"`
	From string     `json:"from,omitempty"`
}

// Move is a wave or a layer on both sides.
type Move struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

// Report is all differences.
type Report struct {
	Before string `json:"before"`
	After  string `json:"after"`
	// Changes are in the order of the waves of the later side; deletions come
	// last, in the order of their objects.
	Changes []Change `json:"changes"`
	// Unchanged is how many objects are the same on both sides.
	Unchanged int `json:"unchanged"`
}

// Empty reports whether nothing is different.
func (r Report) Empty() bool { return len(r.Changes) == 0 }

// Count is how many objects have a kind of change.
func (r Report) Count(kind Kind) int {
	n := 0
	for _, c := range r.Changes {
		if c.Kind == kind {
			n++
		}
	}
	return n
}

// Dangers is how many dangers there are.
func (r Report) Dangers() int {
	n := 0
	for _, c := range r.Changes {
		n += len(c.Dangers)
	}
	return n
}

// Compare finds what is different between two sides. An object that a side has
// twice counts once, as the engine would apply it: the last wins.
func Compare(before, after Side) Report {
	report := Report{Before: before.Name, After: after.Name, Changes: []Change{}}
	old, now := index(before), index(after)
	refs := make([]object.Ref, 0, len(old)+len(now))
	for ref := range old {
		refs = append(refs, ref)
	}
	for ref := range now {
		if _, both := old[ref]; !both {
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, object.Ref.Compare)
	for _, ref := range refs {
		c, different := compare(ref, old, now)
		if !different {
			report.Unchanged++
			continue
		}
		c.At = c.Pos.String()
		if !c.Pos.IsValid() {
			c.At = ""
		}
		report.Changes = append(report.Changes, c)
	}
	rank := func(c Change) int {
		if c.Kind == Deleted {
			return 1 << 30
		}
		return now[c.Ref].Wave
	}
	slices.SortStableFunc(report.Changes, func(a, b Change) int { return rank(a) - rank(b) })
	return report
}

func index(s Side) map[object.Ref]Item {
	out := make(map[object.Ref]Item, len(s.Items))
	for _, i := range s.Items {
		out[i.Object.Ref()] = i
	}
	return out
}

// compare finds what is different about one object.
func compare(ref object.Ref, old, now map[object.Ref]Item) (Change, bool) {
	before, was := old[ref]
	after, is := now[ref]
	c := Change{Ref: ref, Node: after.Node, Pos: after.Pos}
	switch {
	case !was:
		c.Kind = Created
		c.Dangers = dangers(nil, after.Object, nil)
		return c, true
	case !is:
		c.Kind, c.Node, c.Pos = Deleted, before.Node, before.Pos
		c.Dangers = deletion(ref, before)
		return c, true
	}
	c.Fields = fields(before.Object, after.Object)
	c.Wave, c.Layer = moves(before, after)
	if len(c.Fields) == 0 && c.Wave == nil && c.Layer == nil {
		return c, false
	}
	c.Kind = Changed
	if len(c.Fields) == 0 {
		c.Kind = Moved
	}
	for i := range c.Fields {
		if immutable(before.Object, after.Object, c.Fields[i]) {
			c.Fields[i].Immutable = true
			c.Kind = Recreated
		}
	}
	c.Dangers = append(changeDangers(before, after, c), dangers(before.Object, after.Object, c.Fields)...)
	return c, true
}

// moves are the wave and the layer where both sides know them and they differ.
func moves(before, after Item) (wave, layer *Move) {
	if before.Wave != NoWave && after.Wave != NoWave && before.Wave != after.Wave {
		wave = &Move{Before: number(before.Wave), After: number(after.Wave)}
	}
	if before.Layer != "" && after.Layer != "" && before.Layer != after.Layer {
		layer = &Move{Before: before.Layer, After: after.Layer}
	}
	return wave, layer
}

// Annotations that engines read.
const (
	argoOptions = "argocd.argoproj.io/sync-options"
	argoWave    = "argocd.argoproj.io/sync-wave"
	fluxPrune   = "kustomize.toolkit.fluxcd.io/prune"
	fluxForce   = "kustomize.toolkit.fluxcd.io/force"
)

// stays reports whether the engine leaves the object of i when it is gone from
// the render.
func (i Item) stays() bool {
	notes := i.Object.Annotations()
	return i.Stays || notes[fluxPrune] == "disabled" || option(notes[argoOptions], "Prune=false")
}

// forced reports whether the engine makes the object of i again where it has to.
func (i Item) forced() bool {
	notes := i.Object.Annotations()
	return i.Forced || notes[fluxForce] == "enabled" || option(notes[argoOptions], "Force=true") ||
		option(notes[argoOptions], "Replace=true")
}

// option reports whether a list of options has one.
func option(list, want string) bool {
	for o := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(o) == want {
			return true
		}
	}
	return false
}
