// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"crypto/sha256"
	"encoding/hex"

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

// members is a map in the making.
type members []object.Member

// put adds a name with a value. It adds nothing if v is absent: a field that is not set is
// absent.
func (m *members) put(name string, v object.Value) {
	if v.Kind != object.KindNone {
		*m = append(*m, object.Member{Name: name, Pos: v.Pos, Value: v})
	}
}

// value returns the map, or an absent value if it has no member.
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
func with(name string, v object.Value) object.Member {
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

// hash returns a hash of the configuration that pods read when they start: the data of the
// ConfigMaps, and what the ExternalSecrets refer to and make of it, never a value. How often
// secrets are read again is no part of it. It returns "" if there is no configuration.
func hash(input object.Value) string {
	configs, _ := input.Get("configs")
	secrets, _ := input.Get("secrets")
	if len(configs.Members) == 0 && len(secrets.Members) == 0 {
		return ""
	}
	references := make(members, 0, len(secrets.Members))
	for _, s := range secrets.Members {
		references.put(s.Name, s.Value.Without(object.Fields("refreshInterval")))
	}
	all := MapOf(object.Pos{}, with("configs", configs), with("secrets", references.value(object.Pos{})))
	sum := sha256.Sum256(all.JSON())
	return hex.EncodeToString(sum[:])
}
