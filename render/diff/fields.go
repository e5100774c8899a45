// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/object"
)

func number(n int) string { return strconv.Itoa(n) }

// fields returns the parts in which two objects differ, sorted by path. With waves, the
// annotation of the wave is left out, because waves are compared as such.
func fields(ctx context.Context, before, after object.Object, waves bool) []Field {
	w := walk{done: ctx.Done(), kind: before.Ref().GroupKind(), waves: waves, hidden: isSecret(before)}
	w.compareValues(location{}, map[string]any(before), map[string]any(after))
	slices.SortStableFunc(w.out, func(a, b Field) int { return strings.Compare(a.Path, b.Path) })
	return w.out
}

// Null is a null in an object, in contrast to a missing field: an API server removes
// the field where some nulls are.
type Null struct{}

// MarshalJSON returns null.
func (Null) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// present returns a value that exists, even if it is null.
func present(v any) any {
	if v == nil {
		return Null{}
	}
	return v
}

// walk goes down two objects side by side.
type walk struct {
	out []Field
	// done ends it between two values: one object may hold megabytes.
	done <-chan struct{}
	kind string
	// waves says that the annotation of the wave is not compared.
	waves bool
	// hidden says that values below data must not be shown.
	hidden bool
}

// location is the same part of both objects.
type location struct {
	// text is the path as people read it, at the path of the later object.
	text string
	at   object.Path
}

func (s location) field(name string) location {
	text := name
	if strings.ContainsAny(name, "./[] ") {
		text = `"` + name + `"`
	}
	if s.text != "" {
		text = s.text + "." + text
	}
	return location{text: text, at: s.at.Append(object.Field(name))}
}

func (s location) entry(key string, i int) location {
	return location{text: s.text + "[" + key + "]", at: s.at.Append(object.Index(i))}
}

// compareValues compares a part of both objects, where nil is a null.
func (w *walk) compareValues(place location, before, after any) {
	select {
	case <-w.done:
		return
	default:
	}
	oldMap, wasMap := before.(map[string]any)
	newMap, isMap := after.(map[string]any)
	if wasMap && isMap {
		w.compareMaps(place, oldMap, newMap)
		return
	}
	oldList, wasList := before.([]any)
	newList, isList := after.([]any)
	if wasList && isList {
		w.compareLists(place, oldList, newList)
		return
	}
	if !w.same(place.at, before, after) {
		w.add(place, present(before), present(after))
	}
}

func (w *walk) compareMaps(place location, before, after map[string]any) {
	names := object.SortedKeys(before)
	for _, name := range object.SortedKeys(after) {
		if _, both := before[name]; !both {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if old, now := before[name], after[name]; old != nil && reflect.DeepEqual(old, now) {
			continue // Most are, and need no path.
		}
		if w.waves && place.text == "metadata.annotations" && name == dialect.ArgoSyncWave {
			continue
		}
		old, was := before[name]
		now, is := after[name]
		switch {
		case was && is:
			w.compareValues(place.field(name), old, now)
		case was:
			w.add(place.field(name), present(old), nil)
		default:
			w.add(place.field(name), nil, present(now))
		}
	}
}

// compareLists compares by the names of the entries where all have one of their own,
// and by position otherwise.
func (w *walk) compareLists(place location, before, after []any) {
	key, ok := listKey(before, after)
	if !ok {
		w.comparePositions(place, before, after)
		return
	}
	old := map[string]any{}
	for _, e := range before {
		old[keyOf(e, key)] = e
	}

	// Entries are matched by their key, wherever they stand.
	seen := map[string]bool{}
	for i, e := range after {
		k := keyOf(e, key)
		seen[k] = true
		if was, both := old[k]; both {
			w.compareValues(place.entry(k, i), was, e)
		} else {
			w.add(place.entry(k, i), nil, present(e))
		}
	}
	for i, e := range before {
		if k := keyOf(e, key); !seen[k] {
			w.add(place.entry(k, i), present(e), nil)
		}
	}
	w.reportOrder(place, before, after, key)
}

// reportOrder reports that the entries of both lists stand in another order. That changes the
// bytes everywhere, and the meaning in some places: variables may use those before them, and init
// containers run one after another.
func (w *walk) reportOrder(place location, before, after []any, key string) {
	names := func(list []any) (out []any) {
		for _, e := range list {
			out = append(out, valueOf(e, key))
		}
		return out
	}
	position := make(map[string]int, len(after))
	for i, e := range after {
		position[keyOf(e, key)] = i
	}
	last := -1
	for _, e := range before {
		i, both := position[keyOf(e, key)]
		switch {
		case !both:
		case i < last:
			w.add(place, names(before), names(after))
			w.out[len(w.out)-1].Order = true
			return
		default:
			last = i
		}
	}
}

// comparePositions compares entry by entry. Where both lists have the same entries, it
// is their order that is different.
func (w *walk) comparePositions(place location, before, after []any) {
	if len(before) == len(after) && !reflect.DeepEqual(before, after) && slices.Equal(sorted(before), sorted(after)) {
		w.add(place, before, after)
		w.out[len(w.out)-1].Order = true
		return
	}
	for i := range max(len(before), len(after)) {
		here := place.entry(number(i), i)
		switch {
		case i >= len(before):
			w.add(here, nil, present(after[i]))
		case i >= len(after):
			w.add(here, present(before[i]), nil)
		default:
			w.compareValues(here, before[i], after[i])
		}
	}
}

// sorted returns the entries of a list as text, in an order of their own.
func sorted(list []any) []string {
	out := make([]string, 0, len(list))
	for _, e := range list {
		out = append(out, oneLine(present(e)))
	}
	slices.Sort(out)
	return out
}

// listKey returns the field that names the entries of both lists, and false if none does.
func listKey(lists ...[]any) (string, bool) {
	for _, key := range []string{
		"name", "key", "secretKey", "metadata.name", "mountPath", "containerPort", "port", "type", "ip", "host", "id",
	} {
		if slices.ContainsFunc(lists, func(l []any) bool { return !names(l, key) }) {
			continue
		}
		return key, true
	}
	return "", false
}

// names reports whether every entry of a list has a scalar of its own in key.
func names(list []any, key string) bool {
	seen := map[string]bool{}
	for _, e := range list {
		switch valueOf(e, key).(type) {
		case string, int64, float64:
		default:
			return false
		}
		k := keyOf(e, key)
		if seen[k] {
			return false
		}
		seen[k] = true
	}
	return true
}

func keyOf(entry any, key string) string { return fmt.Sprint(valueOf(entry, key)) }

// valueOf returns what an entry has in a key, or nil if it has nothing.
func valueOf(entry any, key string) any {
	m, _ := entry.(map[string]any)
	if outer, inner, nested := strings.Cut(key, "."); nested {
		return valueOf(m[outer], inner)
	}
	return m[key]
}

// same reports whether two values mean the same at a place.
func (w *walk) same(path object.Path, before, after any) bool {
	if reflect.DeepEqual(before, after) {
		return true
	}
	if !isQuantity(w.kind, path) {
		return false
	}
	old, errOld := resource.ParseQuantity(fmt.Sprint(before))
	now, errNow := resource.ParseQuantity(fmt.Sprint(after))
	return errOld == nil && errNow == nil && old.Cmp(now) == 0
}

func (w *walk) add(place location, before, after any) {
	holdsValues := slices.ContainsFunc([]string{"data", "stringData", "metadata.annotations"}, func(prefix string) bool {
		return strings.HasPrefix(place.text, prefix)
	})
	if w.hidden && holdsValues {
		before, after = hide(before), hide(after)
	}
	w.out = append(w.out, Field{Path: place.text, At: place.at, Before: before, After: after})
}

func isSecret(o object.Object) bool { return o.Kind() == "Secret" && o.Group() == "" }

// withoutSecrets returns an object without the values of a Secret.
func withoutSecrets(o object.Object) object.Object {
	if !isSecret(o) {
		return o
	}
	out := maps.Clone(o)
	for _, name := range []string{"data", "stringData"} {
		if v, ok := out[name]; ok {
			out[name] = hide(v)
		}
	}
	if meta := maps.Clone(out.Map("metadata")); meta["annotations"] != nil {
		meta["annotations"] = hide(meta["annotations"])
		out["metadata"] = meta
	}
	return out
}

// hide replaces the values of a Secret.
func hide(v any) any {
	switch v := v.(type) {
	case nil, Null:
		return v
	case map[string]any:
		out := map[string]any{}
		for name, value := range v {
			out[name] = hide(value)
		}
		return out
	default:
		return "(hidden)"
	}
}
