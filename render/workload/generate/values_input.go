// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"strconv"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// members is a map in the making.
type members []object.Member

// put adds a name, and nothing where v is nothing: a field that is not set is
// absent.
func (m *members) put(name string, v object.Value) {
	if v.Kind != object.KindNone {
		*m = append(*m, object.Member{Name: name, Pos: v.Pos, Value: v})
	}
}

// Value is the map, nothing where it has no member.
func (m members) value(pos object.Pos) object.Value {
	if len(m) == 0 {
		return object.Value{}
	}
	return object.Value{Kind: object.KindMap, Pos: pos, Members: m}
}

// lowerText is text with its position; lowerGiven is nothing where the text is "".
func lowerText(s string, pos object.Pos) object.Value {
	return object.Value{Kind: object.KindString, Pos: pos, Text: s}
}

func lowerGiven(s string, pos object.Pos) object.Value {
	if s == "" {
		return object.Value{}
	}
	return lowerText(s, pos)
}

// lowerInt is a number with its position.
func lowerInt(n int, pos object.Pos) object.Value {
	return object.Value{Kind: object.KindNumber, Pos: pos, Text: strconv.Itoa(n)}
}

// lowerList is a list, nothing where it is empty.
func lowerList(items []object.Value, pos object.Pos) object.Value {
	if len(items) == 0 {
		return object.Value{}
	}
	return object.Value{Kind: object.KindList, Pos: pos, Items: items}
}

// with is a member of a map; mapOf leaves it out where v is nothing.
func with(name string, v object.Value) object.Member {
	return object.Member{Name: name, Pos: v.Pos, Value: v}
}

// lowerPairs is a map of text.
func lowerPairs(pairs []score.Pair) object.Value {
	m := make(members, 0, len(pairs))
	for _, p := range pairs {
		m = append(m, object.Member{Name: p.Name, Pos: p.NamePos, Value: lowerText(p.Value.Value, p.Value.Pos)})
	}
	if len(m) == 0 {
		return object.Value{}
	}
	return m.value(m[0].Pos)
}

// lowerTexts is a list of text, nothing where it is empty.
func lowerTexts(texts []score.Text) object.Value {
	items := make([]object.Value, len(texts))
	for i, t := range texts {
		items[i] = lowerText(t.Value, t.Pos)
	}
	if len(items) == 0 {
		return object.Value{}
	}
	return lowerList(items, items[0].Pos)
}
