// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"slices"
	"strconv"

	"github.com/ropewalk/ropewalk/render/workload/score"

	"github.com/ropewalk/ropewalk/render/object"
)

// MapOf returns a map of the members that have a value.
func MapOf(pos object.Pos, members ...object.Member) object.Value {
	out := object.Value{Kind: object.KindMap, Pos: pos, Members: make([]object.Member, 0, len(members))}
	for _, m := range members {
		if m.Value.Kind != object.KindNone {
			out.Members = append(out.Members, m)
		}
	}
	return out
}

// StringMember returns a member with a text.
func StringMember(name, value string, pos object.Pos) object.Member {
	return object.Member{Name: name, Pos: pos, Value: object.TextAt(value, pos)}
}

// BoolMember returns a member with true or false.
func BoolMember(name string, value bool, pos object.Pos) object.Member {
	return object.Member{Name: name, Pos: pos, Value: object.BoolAt(value, pos)}
}

// IntMember returns a member with an integer.
func IntMember(name string, value int, pos object.Pos) object.Member {
	return object.Member{Name: name, Pos: pos, Value: object.NumberAt(value, pos)}
}

// members collects the members of a map.
type members []object.Member

// objects are the ConfigMaps and ExternalSecrets of a workload, by the end of their
// name.
type objects struct{ configs, secrets, sealed members }

// join returns o and the other objects after it.
func (o objects) join(other objects) objects {
	return objects{append(o.configs, other.configs...), append(o.secrets, other.secrets...), append(o.sealed, other.sealed...)}
}

// put adds a name with a value. It adds nothing if v is absent.
func (m *members) put(name string, v object.Value) {
	if v.Kind != object.KindNone {
		*m = append(*m, object.Member{Name: name, Pos: v.Pos, Value: v})
	}
}

// value returns the map, or an absent value if it has no members.
func (m members) value(pos object.Pos) object.Value {
	if len(m) == 0 {
		return object.Value{}
	}
	return object.Value{Kind: object.KindMap, Pos: pos, Members: m}
}

// lowerGiven returns a text with its position, or an absent value for "".
func lowerGiven(s string, pos object.Pos) object.Value {
	if s == "" {
		return object.Value{}
	}
	return object.TextAt(s, pos)
}

// lowerList returns a list, or an absent value if it is empty.
func lowerList(items []object.Value, pos object.Pos) object.Value {
	return object.ListAt(pos, items...)
}

// with returns a member of a map, which MapOf leaves out if v is absent.
func member(name string, v object.Value) object.Member {
	return object.Member{Name: name, Pos: v.Pos, Value: v}
}

// lowerPairs returns a map of text, or an absent value if it is empty.
func lowerPairs(pairs []score.Pair) object.Value {
	m := make(members, 0, len(pairs))
	for _, p := range pairs {
		m = append(m, object.Member{Name: p.Name, Pos: p.NamePos, Value: object.TextAt(p.Value.Value, p.Value.Pos)})
	}
	if len(m) == 0 {
		return object.Value{}
	}
	return m.value(m[0].Pos)
}

// lowerTexts returns a list of text, or an absent value if it is empty.
func lowerTexts(texts []score.Text) object.Value {
	items := make([]object.Value, len(texts))
	for i, t := range texts {
		items[i] = object.TextAt(t.Value, t.Pos)
	}
	if len(items) == 0 {
		return object.Value{}
	}
	return lowerList(items, items[0].Pos)
}

// lowerWords returns a list of texts, or an absent value if it is empty.
func lowerWords(texts []string) object.Value {
	items := make([]object.Value, len(texts))
	for i, t := range texts {
		items[i] = object.TextAt(t, object.Pos{})
	}
	return lowerList(items, object.Pos{})
}

// alwaysList returns a list that is present even if it is empty.
func alwaysList(items []object.Value) object.Value {
	return object.Value{Kind: object.KindList, Items: items}
}

// bound returns a number of an autoscaler, or 0 if it is not given.
func bound(scaling object.Value, name string) int {
	v, _ := scaling.Get(name)
	n, _ := strconv.Atoi(v.Text)
	return n
}

// withPart returns v, a map, with another value of one member. It does not change v.
func withPart(v object.Value, name string, value object.Value) object.Value {
	return addMember(v.Without(object.Fields(name)), name, value)
}

// addMember returns v, a map, with one more member. It does not change v.
func addMember(v object.Value, name string, value object.Value) object.Value {
	v.Members = append(slices.Clip(v.Members), object.Member{Name: name, Value: value})
	return v
}
