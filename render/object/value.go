// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// Kind is the type of a [Value].
type Kind int

// The kinds of a value. The zero kind means that there is no value at all.
const (
	KindNone Kind = iota
	KindNull
	KindBool
	KindNumber
	KindString
	KindMap
	KindList
)

// String names the kind as error messages do.
func (k Kind) String() string {
	return [...]string{"nothing", "null", "bool", "number", "string", "map", "list"}[k]
}

// Value is a JSON-like value in which every part knows where it was written.
type Value struct {
	Kind Kind
	Pos  Pos
	// Text is the content of a string, the JSON text of a number, and true or
	// false.
	Text string
	// Raw is a number or a bool as it was written, where Text differs: 1.10, 0x1F, True.
	Raw string
	// Members of a map, in the order of the document; names are unique.
	Members []Member
	// Items of a list.
	Items []Value
}

// Member is one name of a map with its value.
type Member struct {
	Name string
	// Pos is the position of the name.
	Pos   Pos
	Value Value
}

// Written returns the text of a scalar as it was written.
func (v Value) Written() string { return cmp.Or(v.Raw, v.Text) }

// Size returns roughly how many bytes v takes. What aliases share is counted as often as it is
// used, because its encoding repeats it.
func (v Value) Size() int64 {
	size := int64(valueSize + len(v.Text) + len(v.Raw))
	for _, m := range v.Members {
		size += int64(memberSize+len(m.Name)) + m.Value.Size()
	}
	for _, item := range v.Items {
		size += item.Size()
	}
	return size
}

// What a [Value] and the rest of a [Member] take, in bytes.
const (
	valueSize  = 120
	memberSize = 48
)

// Get returns the member called name.
func (v Value) Get(name string) (Value, bool) {
	for _, m := range v.Members {
		if m.Name == name {
			return m.Value, true
		}
	}
	return Value{}, false
}

// TextOf returns the text of a member that is a string, or "".
func (v Value) TextOf(name string) string {
	f, _ := v.Get(name)
	if f.Kind != KindString {
		return ""
	}
	return f.Text
}

// MemberNames returns the names of the members, in their order.
func (v Value) MemberNames() []string {
	out := make([]string, len(v.Members))
	for i, m := range v.Members {
		out[i] = m.Name
	}
	return out
}

// Lookup follows p as far as it leads. It returns the part there, and the number of steps.
func (v Value) Lookup(p Path) (part Value, found int) {
	for i, s := range p {
		var next Value
		ok := false
		if s.IsIndex {
			if s.Index < len(v.Items) {
				next, ok = v.Items[s.Index], true
			}
		} else {
			next, ok = v.Get(s.Name)
		}
		if !ok {
			return v, i
		}
		v = next
	}
	return v, len(p)
}

// NearestPos returns the position of the part at p, or the position of its nearest ancestor that
// was written somewhere.
func (v Value) NearestPos(p Path) Pos {
	pos := v.Pos
	for i, s := range p {
		key := Pos{}
		for _, m := range v.Members {
			if !s.IsIndex && m.Name == s.Name {
				key = m.Pos
			}
		}
		next, found := v.Lookup(p[i : i+1])
		if found == 0 {
			break
		}
		v = next
		switch {
		case v.Pos.IsValid():
			pos = v.Pos
		case key.IsValid():
			pos = key
		}
	}
	return pos
}

// Merge merges over onto v: over wins leaf by leaf, maps are merged, lists
// and scalars replace what was there. Neither value is changed.
func (v Value) Merge(overlay Value) Value {
	if overlay.Kind == KindNone {
		return v
	}
	if v.Kind != KindMap || overlay.Kind != KindMap {
		return overlay
	}
	out := v
	out.Members = slices.Clone(v.Members)
	find := out.find(len(overlay.Members))
	for _, m := range overlay.Members {
		i := find(m.Name)
		if i < 0 {
			out.Members = append(out.Members, m)
			continue
		}
		merged := out.Members[i].Value.Merge(m.Value)
		out.Members[i] = Member{Name: m.Name, Pos: m.Pos, Value: merged}
	}
	return out
}

// find returns a function that finds the index of a member of v by its name, or -1 if there is no
// such member. It builds a map if that pays for the number of searches.
func (v Value) find(searches int) func(name string) int {
	const few = 64
	if searches <= few || len(v.Members) <= few {
		return func(name string) int {
			return slices.IndexFunc(v.Members, func(o Member) bool { return o.Name == name })
		}
	}
	byName := make(map[string]int, len(v.Members))
	for i, m := range v.Members {
		byName[m.Name] = i
	}
	return func(name string) int {
		if i, ok := byName[name]; ok {
			return i
		}
		return -1
	}
}

// Without returns v less the part at p; v is not changed. A path that leads nowhere changes
// nothing.
func (v Value) Without(p Path) Value {
	if len(p) == 0 {
		return Value{}
	}
	s := p[0]
	out := v
	if s.IsIndex {
		if s.Index >= len(v.Items) {
			return v
		}
		out.Items = slices.Clone(v.Items)
		if len(p) == 1 {
			out.Items = slices.Delete(out.Items, s.Index, s.Index+1)
		} else {
			out.Items[s.Index] = v.Items[s.Index].Without(p[1:])
		}
		return out
	}
	i := slices.IndexFunc(v.Members, func(m Member) bool { return m.Name == s.Name })
	if i < 0 {
		return v
	}
	out.Members = slices.Clone(v.Members)
	if len(p) == 1 {
		out.Members = slices.Delete(out.Members, i, i+1)
	} else {
		out.Members[i].Value = v.Members[i].Value.Without(p[1:])
	}
	return out
}

// JSON returns v as canonical JSON: names sorted, no spaces, no HTML escapes. The same value
// gives the same bytes, wherever its parts were written.
func (v Value) JSON() []byte {
	var b bytes.Buffer
	v.writeJSON(&b)
	return b.Bytes()
}

// writeJSON writes v to b as JSON returns it.
func (v Value) writeJSON(b *bytes.Buffer) {
	switch v.Kind {
	case KindNone, KindNull:
		b.WriteString("null")
	case KindBool, KindNumber:
		b.WriteString(v.Text)
	case KindString:
		quote(b, v.Text)
	case KindList:
		b.WriteByte('[')
		for i, e := range v.Items {
			if i > 0 {
				b.WriteByte(',')
			}
			e.writeJSON(b)
		}
		b.WriteByte(']')
	case KindMap:
		members := slices.Clone(v.Members)
		slices.SortFunc(members, func(a, c Member) int { return strings.Compare(a.Name, c.Name) })
		b.WriteByte('{')
		for i, m := range members {
			if i > 0 {
				b.WriteByte(',')
			}
			quote(b, m.Name)
			b.WriteByte(':')
			m.Value.writeJSON(b)
		}
		b.WriteByte('}')
	}
}

// quote writes s to b as a JSON string.
func quote(b *bytes.Buffer, s string) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	// A string always encodes; the encoder ends it with a newline.
	_ = e.Encode(s)
	b.Truncate(b.Len() - 1)
}
