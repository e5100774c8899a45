// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
)

// cursor is a part of an object that knows its path. The path is a chain of links, so that looking
// at a missing field costs nothing. The zero cursor is a part that is not there.
type cursor struct {
	value any
	at    *link
}

type link struct {
	up   *link
	step object.Step
}

func root(o object.Object) cursor { return cursor{value: map[string]any(o)} }

// get follows field names. It returns the zero cursor if one of them leads nowhere.
func (c cursor) get(names ...string) cursor {
	v := c.value
	for _, n := range names {
		m, ok := v.(map[string]any)
		if !ok {
			return cursor{}
		}
		v = m[n]
	}
	if v == nil {
		return cursor{}
	}
	at := c.at
	for _, n := range names {
		at = &link{at, object.Field(n)}
	}
	return cursor{v, at}
}

// items returns the items of a list.
func (c cursor) items() []cursor {
	l, ok := c.value.([]any)
	if !ok {
		return nil
	}
	out := make([]cursor, len(l))
	for i, v := range l {
		out[i] = cursor{v, &link{c.at, object.Index(i)}}
	}
	return out
}

// fields returns the names of a map, in order.
func (c cursor) fields() []string {
	m, _ := c.value.(map[string]any)
	return object.SortedKeys(m)
}

func (c cursor) text() string {
	s, _ := c.value.(string)
	return s
}

func (c cursor) labels() map[string]any {
	m, _ := c.value.(map[string]any)
	return m
}

func (c cursor) path() object.Path {
	var p object.Path
	for l := c.at; l != nil; l = l.up {
		p = append(p, l.step)
	}
	slices.Reverse(p)
	return p
}
