// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/object"
)

// NoWave is the wave of an item whose wave is unknown.
const NoWave = math.MinInt

// Snapshot is one of the two renders.
type Snapshot struct {
	// Name names the snapshot in the report, such as HEAD~1 or oci://….
	Name string
	// Dialect is the one that the objects are written in. Where it is "", it is
	// detected from the objects, as far as they show it.
	Dialect dialect.Name
	// Rendered says that the items come from a render itself, and not from its files:
	// their policies are known, and what delivers them is not part of it.
	Rendered bool
	Items    []Item
}

// Item is one object of a snapshot, with what is known of it.
type Item struct {
	Object object.Object
	// Node is its id in the render, "" where that is unknown.
	Node object.ID
	// Wave is its wave, from 0 in a render, or [NoWave].
	Wave int
	// Layer is its barrier layer, "" in a snapshot without layers.
	Layer string
	// Kept says that the engine leaves the object in the cluster when it leaves the
	// render. Where it is false, the annotations of the object decide.
	Kept bool
	// Forced says that the engine recreates the object where a field is immutable.
	// Where it is false, the annotations decide.
	Forced bool
	// Pos is the line of the spec that the object comes from.
	Pos object.Pos
	// At is the position of the object itself in the files of the snapshot.
	At object.Pos
	// Delivers says that the object is for the engine alone: it applies the others,
	// such as a Kustomization of Flux that a render wrote.
	Delivers bool
}

// Kind says what happens to an object.
type Kind string

// What can happen to an object.
const (
	Created Kind = "created"
	Changed Kind = "changed"
	// Recreated is a change of an immutable field: the object must be deleted and
	// created again, or the API server rejects it.
	Recreated Kind = "recreated"
	Deleted   Kind = "deleted"
	// Moved is an object that only changes its wave or its layer.
	Moved Kind = "moved"
)

// Change is the difference of one object.
type Change struct {
	Kind Kind       `json:"change"`
	Ref  object.Ref `json:"object"`
	Node object.ID  `json:"node,omitempty"`
	// Fields is sorted by path; a created or deleted object has no fields.
	Fields []Field `json:"fields,omitempty"`
	// Wave and Layer are set where both snapshots have them.
	Wave    *Move    `json:"wave,omitempty"`
	Layer   *Move    `json:"layer,omitempty"`
	Dangers []Danger `json:"dangers,omitempty"`
	// Pos is the line of the spec that the object comes from, in the later snapshot
	// where it exists there.
	Pos object.Pos `json:"-"`
	// At is Pos as text, "" where that is unknown.
	At string `json:"at,omitempty"`
	// Object is the created or the deleted object, nil for every other change; values of Secrets
	// are replaced.
	Object object.Object `json:"-"`
}

// Field is a part of an object that is different.
type Field struct {
	// Path leads to it as people read it: spec.containers[web].image.
	Path string `json:"path"`
	// At leads to it in the object of the later snapshot, or of the earlier snapshot where it is
	// gone.
	At object.Path `json:"-"`
	// Before and After are the values, nil for a missing value, and [Null] for a null; values of
	// Secrets are replaced.
	Before any `json:"before,omitempty"`
	After  any `json:"after,omitempty"`
	// Order says that the entries of a list are in another order; Before and After are
	// their names then.
	Order bool `json:"order,omitempty"`
	// Immutable says that the API server rejects a change of the field.
	Immutable bool `json:"immutable,omitempty"`
	// Pos is the line of the user's text that the value comes from, where it was
	// traced.
	Pos  object.Pos `json:"-"`
	From string     `json:"from,omitempty"`
}

// Move is a wave, a layer or a dialect in both snapshots.
type Move struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

// Finding is an object that a snapshot holds more than once, so that it is undefined
// which of them an engine ends with.
type Finding struct {
	// Side is before or after, and Name names the snapshot in the report.
	Side string     `json:"side"`
	Name string     `json:"name"`
	Ref  object.Ref `json:"object"`
	// At are the positions, in the order of the snapshot; the last is compared.
	At []string `json:"at"`
}

// Message returns the finding as a sentence without the object.
func (f Finding) Message() string {
	return fmt.Sprintf("%s contains it %d times, at %s: the last one is compared, but the engine may apply another",
		f.Name, len(f.At), strings.Join(f.At, ", "))
}

// Report is all differences.
type Report struct {
	Before string `json:"before"`
	After  string `json:"after"`
	// Dialects are set if the snapshots have different dialects; [Unknown] is a dialect that could
	// not be detected. Waves, layers, and what a dialect writes into objects are not compared then.
	Dialects *Move `json:"dialects,omitempty"`
	// Findings are objects that a snapshot holds more than once, sorted.
	Findings []Finding `json:"findings,omitempty"`
	// Changes are in the order of the waves of the later snapshot; deletions come last,
	// in the order of their objects.
	Changes []Change `json:"changes"`
	// Unchanged counts the objects that are the same in both snapshots.
	Unchanged int `json:"unchanged"`
}

// Empty reports whether nothing is different and nothing was found.
func (r Report) Empty() bool {
	return len(r.Changes) == 0 && r.Dialects == nil && len(r.Findings) == 0
}

// Count returns how many objects have a kind of change.
func (r Report) Count(kind Kind) int {
	n := 0
	for _, c := range r.Changes {
		if c.Kind == kind {
			n++
		}
	}
	return n
}

// Dangers returns how many dangers there are.
func (r Report) Dangers() int {
	n := 0
	for _, c := range r.Changes {
		n += len(c.Dangers)
	}
	return n
}

// Compare finds what is different between two snapshots. Of an object that a snapshot holds twice
// the last counts, and a finding names it. Compare ends with its context, and returns the error
// of the context.
func Compare(ctx context.Context, before, after Snapshot) (Report, error) {
	// The dialects and the served hosts decide how objects are compared.
	report := Report{Before: before.Name, After: after.Name, Changes: []Change{}}
	report.Findings = append(duplicates("before", before), duplicates("after", after)...)
	c := compared(before, after)
	report.Dialects = c.dialects
	c.served = map[string]bool{}
	for _, i := range c.now {
		for _, h := range Hosts(i.Object) {
			c.served[h] = true
		}
	}

	// Compare object by object, and stop when the context ends.
	for _, ref := range c.refs() {
		change, different := c.compareObject(ctx, ref)
		if err := ctx.Err(); err != nil {
			return Report{}, err
		}
		if !different {
			report.Unchanged++
			continue
		}
		if change.Pos.IsValid() {
			change.At = change.Pos.String()
		}
		report.Changes = append(report.Changes, change)
	}

	// Order the changes as they are applied; what is deleted comes last.
	rank := func(change Change) int {
		if change.Kind == Deleted {
			return math.MaxInt
		}
		return c.now[change.Ref].Wave
	}
	slices.SortStableFunc(report.Changes, func(a, b Change) int { return cmp.Compare(rank(a), rank(b)) })
	return report, nil
}

// comparison is two snapshots that are made comparable, by object.
type comparison struct {
	old, now map[object.Ref]Item
	dialects *Move
	// policies says that both snapshots show what is pruned.
	policies bool
	// served are the hosts of the later snapshot.
	served map[string]bool
}

// refs returns all objects of both snapshots, sorted.
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

// index returns the items by reference. What their annotations ask of the engine is read here,
// before annotations are left out of the comparison.
func index(items []Item) map[object.Ref]Item {
	out := make(map[object.Ref]Item, len(items))
	for _, i := range items {
		i.Kept = i.Kept || i.marked(func(d dialect.Dialect) []dialect.Mark { return d.Keep })
		i.Forced = i.Forced || i.marked(func(d dialect.Dialect) []dialect.Mark { return d.Recreate })
		out[i.Object.Ref()] = i
	}
	return out
}

// duplicates returns the objects that a snapshot holds more than once.
func duplicates(which string, s Snapshot) (out []Finding) {
	positions := make(map[object.Ref][]string, len(s.Items))
	for _, i := range s.Items {
		at := "an unknown position"
		if i.At.IsValid() {
			at = i.At.String()
		}
		positions[i.Object.Ref()] = append(positions[i.Object.Ref()], at)
	}
	for _, ref := range slices.SortedFunc(maps.Keys(positions), object.Ref.Compare) {
		if len(positions[ref]) > 1 {
			out = append(out, Finding{Side: which, Name: s.Name, Ref: ref, At: positions[ref]})
		}
	}
	return out
}

// compareObject finds what is different about one object. If ctx ends, that is not all of it.
func (c comparison) compareObject(ctx context.Context, ref object.Ref) (Change, bool) {
	// An object of one snapshot only is created or deleted.
	before, was := c.old[ref]
	after, is := c.now[ref]
	out := Change{Ref: ref, Node: after.Node, Pos: after.Pos}
	switch {
	case !was:
		out.Kind, out.Object = Created, withoutSecrets(after.Object)
		out.Dangers = dangers(nil, after.Object, nil, c.served)
		return out, true
	case !is:
		out.Kind, out.Object = Deleted, withoutSecrets(before.Object)
		out.Node, out.Pos = before.Node, before.Pos
		out.Dangers = deletion(ref, before, c.served)
		return out, true
	}

	// An object without a difference in content may still move.
	out.Fields = fields(ctx, before.Object, after.Object, hasWaves(before, after))
	out.Wave, out.Layer = moves(before, after)
	if len(out.Fields) == 0 && out.Wave == nil && out.Layer == nil {
		return out, false
	}
	out.Kind = Changed
	if len(out.Fields) == 0 {
		out.Kind = Moved
	}

	// A field that cannot be changed decides about the kind of change.
	for i := range out.Fields {
		if immutable(before.Object, after.Object, out.Fields[i]) {
			out.Fields[i].Immutable = true
			out.Kind = Recreated
		}
	}

	// The dangers depend on everything above.
	out.Dangers = changeDangers(after, out)
	if c.policies {
		out.Dangers = append(out.Dangers, pruning(before, after)...)
	}
	out.Dangers = append(out.Dangers, dangers(before.Object, after.Object, out.Fields, c.served)...)
	return out, true
}

// hasWaves reports whether both waves are known. An unknown wave, such as an annotation that is no
// number, is compared as any other annotation.
func hasWaves(before, after Item) bool { return before.Wave != NoWave && after.Wave != NoWave }

// moves returns the wave and the layer if both snapshots have them and they differ.
func moves(before, after Item) (wave, layer *Move) {
	if hasWaves(before, after) && before.Wave != after.Wave {
		wave = &Move{Before: number(before.Wave), After: number(after.Wave)}
	}
	if before.Layer != "" && after.Layer != "" && !sameLayer(before.Layer, after.Layer) {
		layer = &Move{Before: before.Layer, After: after.Layer}
	}
	return wave, layer
}

// sameLayer reports whether two names belong to one layer. The layers of a directory are named
// after their folders, such as layer-03, and the layers of a render after the project, such as
// shop-03.
func sameLayer(a, b string) bool {
	number := func(name string) string { return name[strings.LastIndexByte(name, '-')+1:] }
	folder := strings.HasPrefix(a, layerFolder) || strings.HasPrefix(b, layerFolder)
	return a == b || (folder && number(a) == number(b))
}
