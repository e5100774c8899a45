// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ropewalk/ropewalk/render/object"
)

func number(n int) string { return strconv.Itoa(n) }

// fields are the parts in which two objects differ, sorted by path.
func fields(before, after object.Object) []Field {
	w := walk{hidden: before.Kind() == "Secret" && before.Group() == ""}
	w.value(spot{}, map[string]any(before), map[string]any(after))
	slices.SortStableFunc(w.out, func(a, b Field) int { return strings.Compare(a.Path, b.Path) })
	return w.out
}

// walk goes down two objects side by side.
type walk struct {
	out []Field
	// hidden says that values below data must not be shown.
	hidden bool
}

// spot is a place in both objects.
type spot struct {
	// text is the path as people read it, at the path of the later object.
	text string
	at   object.Path
}

func (s spot) field(name string) spot {
	text := name
	if strings.ContainsAny(name, "./[] ") {
		text = `"` + name + `"`
	}
	if s.text != "" {
		text = s.text + "." + text
	}
	return spot{text: text, at: s.at.Append(object.Field(name))}
}

func (s spot) entry(key string, i int) spot {
	return spot{text: s.text + "[" + key + "]", at: s.at.Append(object.Index(i))}
}

// value compares what is at a place on both sides, nil where nothing is.
func (w *walk) value(at spot, before, after any) {
	oldMap, wasMap := before.(map[string]any)
	newMap, isMap := after.(map[string]any)
	if wasMap && isMap {
		w.maps(at, oldMap, newMap)
		return
	}
	oldList, wasList := before.([]any)
	newList, isList := after.([]any)
	if wasList && isList {
		w.lists(at, oldList, newList)
		return
	}
	if !same(at.text, before, after) {
		w.add(at, before, after)
	}
}

func (w *walk) maps(at spot, before, after map[string]any) {
	names := object.SortedKeys(before)
	for _, name := range object.SortedKeys(after) {
		if _, both := before[name]; !both {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if at.text == "metadata.annotations" && name == argoWave {
			continue // It is the wave, which is compared as such.
		}
		old, was := before[name]
		now, is := after[name]
		switch {
		case was && is:
			w.value(at.field(name), old, now)
		case was:
			w.add(at.field(name), old, nil)
		default:
			w.add(at.field(name), nil, now)
		}
	}
}

// lists compares by the names of the entries where all have one of their own,
// and by position otherwise.
func (w *walk) lists(at spot, before, after []any) {
	key, ok := listKey(before, after)
	if !ok {
		w.positions(at, before, after)
		return
	}
	old := map[string]any{}
	for _, e := range before {
		old[keyOf(e, key)] = e
	}
	seen := map[string]bool{}
	for i, e := range after {
		k := keyOf(e, key)
		seen[k] = true
		if was, both := old[k]; both {
			w.value(at.entry(k, i), was, e)
		} else {
			w.add(at.entry(k, i), nil, e)
		}
	}
	for i, e := range before {
		if k := keyOf(e, key); !seen[k] {
			w.add(at.entry(k, i), e, nil)
		}
	}
	w.order(at, before, after, key)
}

// order reports entries that are the same and stand in another order, where an
// order means something: variables may use those before them, and init
// containers run one after another.
func (w *walk) order(at spot, before, after []any, key string) {
	if !strings.HasSuffix(at.text, ".env") && !strings.HasSuffix(at.text, ".initContainers") || len(before) != len(after) {
		return
	}
	names := func(list []any) (out []any) {
		for _, e := range list {
			out = append(out, keyOf(e, key))
		}
		return out
	}
	old, now := names(before), names(after)
	sorted := func(list []any) []string {
		var out []string
		for _, e := range list {
			out = append(out, fmt.Sprint(e))
		}
		return slices.Sorted(slices.Values(out))
	}
	if slices.Equal(sorted(old), sorted(now)) && !reflect.DeepEqual(old, now) {
		w.add(spot{text: at.text + " (order)", at: at.at}, old, now)
	}
}

func (w *walk) positions(at spot, before, after []any) {
	for i := range max(len(before), len(after)) {
		here := at.entry(number(i), i)
		switch {
		case i >= len(before):
			w.add(here, nil, after[i])
		case i >= len(after):
			w.add(here, before[i], nil)
		default:
			w.value(here, before[i], after[i])
		}
	}
}

// listKey is the field that names the entries of both lists.
func listKey(lists ...[]any) (string, bool) {
	for _, key := range []string{"name", "key", "mountPath", "containerPort", "port", "type", "ip", "host"} {
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
		m, _ := e.(map[string]any)
		switch m[key].(type) {
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

func keyOf(entry any, key string) string {
	m, _ := entry.(map[string]any)
	return fmt.Sprint(m[key])
}

// same reports whether two values mean the same at a place.
func same(path string, before, after any) bool {
	if reflect.DeepEqual(before, after) {
		return true
	}
	if !quantityPath(path) {
		return false
	}
	old, errOld := resource.ParseQuantity(fmt.Sprint(before))
	now, errNow := resource.ParseQuantity(fmt.Sprint(after))
	return errOld == nil && errNow == nil && old.Cmp(now) == 0
}

// quantityPath reports whether quantities stand at a place.
func quantityPath(path string) bool {
	for _, part := range []string{".requests.", ".limits.", ".capacity.", ".hard."} {
		if strings.Contains(path, part) {
			return true
		}
	}
	return strings.HasSuffix(path, ".sizeLimit")
}

func (w *walk) add(at spot, before, after any) {
	if w.hidden && (strings.HasPrefix(at.text, "data") || strings.HasPrefix(at.text, "stringData") || strings.HasPrefix(at.text, "metadata.annotations")) {
		before, after = hide(before), hide(after)
	}
	w.out = append(w.out, Field{Path: at.text, At: at.at, Before: before, After: after})
}

// hide replaces the values of a Secret.
func hide(v any) any {
	switch v := v.(type) {
	case nil:
		return nil
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

// Show is a value on one line, as JSON, cut at width bytes of text.
func Show(v any, width int) string {
	if v == nil {
		return ""
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	text := strings.TrimSpace(b.String())
	if len(text) <= width {
		return text
	}
	cut := width
	for cut > 0 && text[cut]&0xc0 == 0x80 {
		cut--
	}
	return text[:cut] + "…"
}
