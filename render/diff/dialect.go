// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/object"
)

const differentDialects = "waves, layers, and the annotations of the dialects are not compared"

// Unknown is the name in [Report.Dialects] of a dialect that could not be detected.
const Unknown dialect.Name = "unknown"

// compared makes two snapshots comparable: what one of them has because of its
// dialect, or because it is not a render, is taken out of both.
func compared(before, after Snapshot) comparison {
	before.Dialect, after.Dialect = before.dialect(), after.dialect()
	different := differ(before, after)
	if different || before.Rendered || after.Rendered {
		before.Items, after.Items = delivered(before.Items), delivered(after.Items)
	}
	bothRendered := before.Rendered && after.Rendered
	bothHavePolicies := before.hasPolicies() && after.hasPolicies()
	c := comparison{
		old:      index(before.Items),
		now:      index(after.Items),
		policies: bothHavePolicies && (!different || bothRendered),
	}
	if !different {
		return c
	}
	c.dialects = &Move{Before: string(cmp.Or(before.Dialect, Unknown)), After: string(cmp.Or(after.Dialect, Unknown))}
	dropWatched(c.old, c.now)
	dropWatched(c.now, c.old)
	keys := slices.Concat(before.annotations(), after.annotations())
	for _, items := range []map[object.Ref]Item{c.old, c.now} {
		for ref, i := range items {
			i.Object, i.Wave, i.Layer = without(i.Object, keys), NoWave, ""
			items[ref] = i
		}
	}
	return c
}

// annotations returns the annotations that the dialect of a snapshot writes.
func (s Snapshot) annotations() []string {
	if s.Dialect == "" {
		return nil
	}
	d, _ := dialect.Find(s.Dialect) // An unknown dialect has no annotations.
	return d.Annotations
}

// hasPolicies reports whether a snapshot shows what is pruned: objects of a dialect
// without annotations do not.
func (s Snapshot) hasPolicies() bool {
	if s.Rendered {
		return true
	}
	if s.Dialect != "" {
		return len(s.annotations()) > 0
	}
	return slices.ContainsFunc(dialect.All(), func(d dialect.Dialect) bool { return slices.ContainsFunc(s.Items, has(d.Annotations...)) })
}

// differ reports whether two snapshots are written in different dialects.
func differ(a, b Snapshot) bool {
	if a.Dialect != "" && b.Dialect != "" {
		return a.Dialect != b.Dialect
	}
	// A dialect with an annotation for waves has it on every object.
	other := func(a, b Snapshot) bool {
		d, err := dialect.Find(a.Dialect)
		if err != nil || d.WaveAnnotation == "" || b.Dialect != "" {
			return false
		}
		return len(b.Items) > 0 && !slices.ContainsFunc(b.Items, has(d.WaveAnnotation))
	}
	return other(a, b) || other(b, a)
}

// has returns whether an item has one of some annotations.
func has(keys ...string) func(Item) bool {
	return func(i Item) bool {
		notes := i.Object.Annotations()
		return slices.ContainsFunc(keys, func(key string) bool {
			_, ok := notes[key]
			return ok
		})
	}
}

// dialect returns what a snapshot is written in, or "" if it cannot be detected. It takes the
// dialect whose wave is on every object, else a layered one if objects are in folders of layers,
// else the one whose annotations occur. Annotations prove nothing in files that are named after
// waves: plain manifests with annotations of the author's look the same.
func (s Snapshot) dialect() dialect.Name {
	if s.Dialect != "" {
		return s.Dialect
	}
	items := delivered(s.Items)
	every := func(is func(Item) bool) bool {
		return len(items) > 0 && !slices.ContainsFunc(items, func(i Item) bool { return !is(i) })
	}

	// Waves on every object, and then layers, are the surest signs.
	for _, d := range dialect.All() {
		if d.WaveAnnotation != "" && every(has(d.WaveAnnotation)) {
			return d.Name
		}
	}
	for _, d := range dialect.All() {
		if d.Layered && (len(items) < len(s.Items) || every(layered)) {
			return d.Name
		}
	}

	// Annotations of an engine on some objects may be the author's own.
	for _, d := range dialect.All() {
		if slices.ContainsFunc(items, has(d.Annotations...)) {
			if d.WaveAnnotation != "" || slices.ContainsFunc(items, waved) {
				return ""
			}
			return d.Name
		}
	}
	return ""
}

// layerFolder begins the names of the folders of layers.
const layerFolder = "layer-"

// layered reports whether the file of an item is in the folder of a layer.
func layered(i Item) bool {
	return strings.HasPrefix(path.Base(path.Dir(i.At.File)), layerFolder)
}

// waved reports whether the file of an item is named after a wave.
func waved(i Item) bool {
	number, _, ok := strings.Cut(path.Base(i.At.File), "-")
	return ok && len(number) > 1 && strings.Trim(number, "0123456789") == ""
}

// delivered returns the items without those that Delivers marks.
func delivered(items []Item) []Item {
	return slices.DeleteFunc(slices.Clone(items), func(i Item) bool { return i.Delivers })
}

// dropWatched removes objects that are marked as watched and not applied: dialects
// without such a mark leave them out.
func dropWatched(items, other map[object.Ref]Item) {
	maps.DeleteFunc(items, func(ref object.Ref, i Item) bool {
		_, both := other[ref]
		return !both && i.marked(func(d dialect.Dialect) []dialect.Mark { return d.Watch })
	})
}

// marked reports whether the object of i has one of the marks of any dialect.
func (i Item) marked(marks func(dialect.Dialect) []dialect.Mark) bool {
	notes := i.Object.Annotations()
	return len(notes) > 0 && slices.ContainsFunc(dialect.All(), func(d dialect.Dialect) bool { return dialect.AnyOn(marks(d), notes) })
}

// without returns an object without some annotations. The maps on the way are copied.
func without(o object.Object, keys []string) object.Object {
	notes, ok := o.Get("metadata", "annotations").(map[string]any)
	if !ok {
		return o
	}
	notes = maps.Clone(notes)
	for _, key := range keys {
		delete(notes, key)
	}
	out, meta := maps.Clone(o), maps.Clone(o.Map("metadata"))
	meta["annotations"], out["metadata"] = notes, meta
	if len(notes) == 0 {
		delete(meta, "annotations")
	}
	return out
}
