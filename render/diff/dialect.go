// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// The dialects; see package emit.
const (
	plainDialect  = "plain"
	argoDialect   = "argocd"
	fluxDialect   = "flux"
	dialectsApart = "waves, layers, and what a dialect writes into objects are not compared"
)

// Unknown stands in [Report.Dialects] for a dialect that nobody knows.
const Unknown = "unknown"

// Annotations that engines read. A dialect writes all of its own, and no others.
const (
	argoOptions = "argocd.argoproj.io/sync-options"
	argoWave    = "argocd.argoproj.io/sync-wave"
	argoReady   = "ropewalk.dev/ready-when"
	fluxPrune   = "kustomize.toolkit.fluxcd.io/prune"
	fluxForce   = "kustomize.toolkit.fluxcd.io/force"
	fluxSSA     = "kustomize.toolkit.fluxcd.io/ssa"
)

// annotationsOf are the annotations that a dialect writes.
func annotationsOf(dialect string) []string {
	switch dialect {
	case argoDialect:
		return []string{argoOptions, argoWave, argoReady}
	case fluxDialect:
		return []string{fluxPrune, fluxForce, fluxSSA}
	}
	return nil
}

// compared makes two sides comparable: what one of them has because of its
// dialect, or because it is no render, is taken out of both.
func compared(before, after Side) comparison {
	before.Dialect, after.Dialect = before.dialect(), after.dialect()
	apart := differ(before, after)
	if apart || before.Rendered || after.Rendered {
		before.Items, after.Items = delivered(before.Items), delivered(after.Items)
	}
	c := comparison{
		old: index(before.Items), now: index(after.Items),
		policies: before.tells() && after.tells() && (!apart || before.Rendered && after.Rendered),
	}
	if !apart {
		return c
	}
	name := func(dialect string) string {
		if dialect == "" {
			return Unknown
		}
		return dialect
	}
	c.dialects = &Move{Before: name(before.Dialect), After: name(after.Dialect)}
	watched(c.old, c.now)
	watched(c.now, c.old)
	keys := slices.Concat(annotationsOf(before.Dialect), annotationsOf(after.Dialect))
	for _, items := range []map[object.Ref]Item{c.old, c.now} {
		for ref, i := range items {
			// What is pruned is read from the annotations that go.
			i.Stays, i.Forced = i.stays(), i.forced()
			i.Object, i.Wave, i.Layer = without(i.Object, keys), NoWave, ""
			items[ref] = i
		}
	}
	return c
}

// tells reports whether a side says what is pruned: plain manifests do not.
func (s Side) tells() bool {
	switch {
	case s.Rendered:
		return true
	case s.Dialect == "":
		return slices.ContainsFunc(s.Items, has(slices.Concat(annotationsOf(argoDialect), annotationsOf(fluxDialect))...))
	}
	return s.Dialect != plainDialect
}

// differ reports whether two sides are written in different dialects.
func differ(a, b Side) bool {
	if a.Dialect != "" && b.Dialect != "" {
		return a.Dialect != b.Dialect
	}
	// Whoever writes for Argo CD gives every object a wave.
	other := func(a, b Side) bool {
		return a.Dialect == argoDialect && b.Dialect == "" && len(b.Items) > 0 && !slices.ContainsFunc(b.Items, has(argoWave))
	}
	return other(a, b) || other(b, a)
}

// has are the items with one of some annotations.
func has(keys ...string) func(Item) bool {
	return func(i Item) bool {
		notes := i.Object.Annotations()
		return slices.ContainsFunc(keys, func(key string) bool {
			_, ok := notes[key]
			return ok
		})
	}
}

// dialect is what a side is written in, "" where nothing tells. Annotations of
// Flux tell nothing in files that are named after waves: a render in plain
// manifests with annotations of the author's looks the same.
func (s Side) dialect() string {
	items := delivered(s.Items)
	all := func(is func(Item) bool) bool {
		return len(items) > 0 && !slices.ContainsFunc(items, func(i Item) bool { return !is(i) })
	}
	switch {
	case s.Dialect != "":
		return s.Dialect
	case all(has(argoWave)):
		return argoDialect
	case len(items) < len(s.Items), all(layered):
		return fluxDialect
	case slices.ContainsFunc(items, has(argoWave, argoOptions)):
		return ""
	case slices.ContainsFunc(items, has(annotationsOf(fluxDialect)...)) && !slices.ContainsFunc(items, waved):
		return fluxDialect
	}
	return ""
}

// layerFolder is what the folders of layers begin with.
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

// delivered are the items that are not for the engine alone.
func delivered(items []Item) []Item {
	return slices.DeleteFunc(slices.Clone(items), func(i Item) bool { return i.Delivers })
}

// watched takes out what only Flux can say: an object that is not applied and
// only watched, which the other dialects leave out.
func watched(items, other map[object.Ref]Item) {
	maps.DeleteFunc(items, func(ref object.Ref, i Item) bool {
		_, both := other[ref]
		return !both && strings.EqualFold(i.Object.Annotations()[fluxSSA], "Ignore")
	})
}

// without is an object without some annotations; the maps on the way are copied.
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
