// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// NoWave is the wave of an item whose wave nobody knows.
const NoWave = -1

// Side is one of the two renders.
type Side struct {
	// Name is what the report calls it, such as HEAD~1 or oci://….
	Name string
	// Dialect is the one that the objects are written in: plain, argocd or flux.
	// Where it is "", the objects are asked, and nobody may know.
	Dialect string
	// Rendered says that the items come from a render itself, and not from its
	// files: their policies are known, and what delivers them is no part of it.
	Rendered bool
	Items    []Item
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
	// At is where the object itself is in the files of the side.
	At object.Pos
	// Delivers says that the object is for the engine alone: it applies the
	// others, such as a Kustomization of Flux that a render wrote.
	Delivers bool
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
	// Before and After are the values, nil where there is none, and [Null] where
	// there is a null; values of Secrets are replaced.
	Before any `json:"before,omitempty"`
	After  any `json:"after,omitempty"`
	// Order says that the entries of a list stand in another order; Before and
	// After are their names then.
	Order bool `json:"order,omitempty"`
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

// Finding is an object that a side holds more than once, so that nobody can
// say which of them an engine ends with.
type Finding struct {
	// Side is before or after, and Name is what the report calls it.
	Side string     `json:"side"`
	Name string     `json:"name"`
	Ref  object.Ref `json:"object"`
	// At are the places, in the order of the side; the last is compared.
	At []string `json:"at"`
}

// Message is the finding as a sentence without the object.
func (f Finding) Message() string {
	return fmt.Sprintf("%s holds it %d times, at %s: the last is compared, and engines may take another",
		f.Name, len(f.At), strings.Join(f.At, ", "))
}

// Report is all differences.
type Report struct {
	Before string `json:"before"`
	After  string `json:"after"`
	// Dialects are those of the sides where they differ, [Unknown] where nobody
	// knows one. Waves, layers, and what a dialect writes into objects are not
	// compared then.
	Dialects *Move `json:"dialects,omitempty"`
	// Findings are objects that a side holds more than once, sorted.
	Findings []Finding `json:"findings,omitempty"`
	// Changes are in the order of the waves of the later side; deletions come
	// last, in the order of their objects.
	Changes []Change `json:"changes"`
	// Unchanged is how many objects are the same on both sides.
	Unchanged int `json:"unchanged"`
}

// Empty reports whether nothing is different and nothing was found.
func (r Report) Empty() bool {
	return len(r.Changes) == 0 && r.Dialects == nil && len(r.Findings) == 0
}

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

// Compare finds what is different between two sides. Of an object that a side
// has twice the last counts, and a finding names it.
func Compare(before, after Side) Report {
	report := Report{Before: before.Name, After: after.Name, Changes: []Change{}}
	report.Findings = append(doubles("before", before), doubles("after", after)...)
	c := compared(before, after)
	report.Dialects = c.dialects
	for _, ref := range c.refs() {
		change, different := c.object(ref)
		if !different {
			report.Unchanged++
			continue
		}
		if change.Pos.IsValid() {
			change.At = change.Pos.String()
		}
		report.Changes = append(report.Changes, change)
	}
	rank := func(change Change) int {
		if change.Kind == Deleted {
			return 1 << 30
		}
		return c.now[change.Ref].Wave
	}
	slices.SortStableFunc(report.Changes, func(a, b Change) int { return rank(a) - rank(b) })
	return report
}

// comparison is two sides that are made comparable, by object.
type comparison struct {
	old, now map[object.Ref]Item
	dialects *Move
	// policies says that both sides tell what is pruned.
	policies bool
}

// refs are all objects of both sides, sorted.
func (c comparison) refs() []object.Ref {
	refs := slices.Collect(maps.Keys(c.old))
	for ref := range c.now {
		if _, both := c.old[ref]; !both {
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, object.Ref.Compare)
	return refs
}

func index(items []Item) map[object.Ref]Item {
	out := make(map[object.Ref]Item, len(items))
	for _, i := range items {
		out[i.Object.Ref()] = i
	}
	return out
}

// doubles are the objects that a side holds more than once.
func doubles(which string, s Side) (out []Finding) {
	places := make(map[object.Ref][]string, len(s.Items))
	for _, i := range s.Items {
		at := "an unknown place"
		if i.At.IsValid() {
			at = i.At.String()
		}
		places[i.Object.Ref()] = append(places[i.Object.Ref()], at)
	}
	for _, ref := range slices.SortedFunc(maps.Keys(places), object.Ref.Compare) {
		if len(places[ref]) > 1 {
			out = append(out, Finding{Side: which, Name: s.Name, Ref: ref, At: places[ref]})
		}
	}
	return out
}

// object finds what is different about one object.
func (c comparison) object(ref object.Ref) (Change, bool) {
	before, was := c.old[ref]
	after, is := c.now[ref]
	out := Change{Ref: ref, Node: after.Node, Pos: after.Pos}
	switch {
	case !was:
		out.Kind = Created
		out.Dangers = dangers(nil, after.Object, nil)
		return out, true
	case !is:
		out.Kind, out.Node, out.Pos = Deleted, before.Node, before.Pos
		out.Dangers = deletion(ref, before)
		return out, true
	}
	out.Fields = fields(before.Object, after.Object)
	out.Wave, out.Layer = moves(before, after)
	if len(out.Fields) == 0 && out.Wave == nil && out.Layer == nil {
		return out, false
	}
	out.Kind = Changed
	if len(out.Fields) == 0 {
		out.Kind = Moved
	}
	for i := range out.Fields {
		if immutable(before.Object, after.Object, out.Fields[i]) {
			out.Fields[i].Immutable = true
			out.Kind = Recreated
		}
	}
	out.Dangers = changeDangers(after, out)
	if c.policies {
		out.Dangers = append(out.Dangers, pruning(before, after)...)
	}
	out.Dangers = append(out.Dangers, dangers(before.Object, after.Object, out.Fields)...)
	return out, true
}

// moves are the wave and the layer where both sides know them and they differ.
func moves(before, after Item) (wave, layer *Move) {
	if before.Wave != NoWave && after.Wave != NoWave && before.Wave != after.Wave {
		wave = &Move{Before: number(before.Wave), After: number(after.Wave)}
	}
	if before.Layer != "" && after.Layer != "" && !sameLayer(before.Layer, after.Layer) {
		layer = &Move{Before: before.Layer, After: after.Layer}
	}
	return wave, layer
}

// sameLayer reports whether two names are those of one layer. Whoever packs
// a directory calls layers after their folders, layer-03, and a render after the
// project, shop-03.
func sameLayer(a, b string) bool {
	number := func(name string) string { return name[strings.LastIndexByte(name, '-')+1:] }
	folder := strings.HasPrefix(a, layerFolder) || strings.HasPrefix(b, layerFolder)
	return a == b || folder && number(a) == number(b)
}

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
