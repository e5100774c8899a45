// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package generate

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"github.com/ropewalk/ropewalk/render/object"
)

// MapOf is a map of members that all have their value; those without one are
// left out.
func MapOf(pos object.Pos, members ...object.Member) object.Value {
	out := object.Value{Kind: object.KindMap, Pos: pos, Members: make([]object.Member, 0, len(members))}
	for _, m := range members {
		if m.Value.Kind != object.KindNone {
			out.Members = append(out.Members, m)
		}
	}
	return out
}

// StringMember is a member with a text.
func StringMember(name, value string, pos object.Pos) object.Member {
	return object.Member{Name: name, Pos: pos, Value: object.Value{Kind: object.KindString, Pos: pos, Text: value}}
}

// BoolMember is a member with true or false.
func BoolMember(name string, value bool, pos object.Pos) object.Member {
	return object.Member{Name: name, Pos: pos, Value: object.Value{Kind: object.KindBool, Pos: pos, Text: strconv.FormatBool(value)}}
}

// IntMember is a member with an integer.
func IntMember(name string, value int, pos object.Pos) object.Member {
	return object.Member{Name: name, Pos: pos, Value: object.Value{Kind: object.KindNumber, Pos: pos, Text: strconv.Itoa(value)}}
}

// ReadJSON is data as a value, every part of which has the position pos: that of
// what the user wrote to get it.
func ReadJSON(data []byte, pos object.Pos) (object.Value, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := readNext(d, pos, maxDepth)
	if err != nil {
		return object.Value{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return object.Value{}, errors.New("there is more than one value")
	}
	return v, nil
}

// maxDepth bounds how deep a value of a provisioner nests: far more than any
// object of Kubernetes does.
const maxDepth = 200

func readNext(d *json.Decoder, pos object.Pos, depth int) (object.Value, error) {
	token, err := d.Token()
	if err != nil {
		return object.Value{}, err
	}
	if depth == 0 {
		return object.Value{}, errors.New("it nests too deep")
	}
	v := object.Value{Pos: pos}
	switch t := token.(type) {
	case nil:
		v.Kind = object.KindNull
	case bool:
		v.Kind, v.Text = object.KindBool, strconv.FormatBool(t)
	case json.Number:
		v.Kind, v.Text = object.KindNumber, t.String()
	case string:
		v.Kind, v.Text = object.KindString, t
	case json.Delim:
		v.Kind = object.KindList
		if t == '{' {
			v.Kind = object.KindMap
		}
		for d.More() {
			var m object.Member
			if t == '{' {
				name, err := d.Token()
				if err != nil {
					return v, err
				}
				m.Name, _ = name.(string)
			}
			m.Pos = pos
			if m.Value, err = readNext(d, pos, depth-1); err != nil {
				return v, err
			}
			if t == '{' {
				v.Members = append(v.Members, m)
			} else {
				v.Items = append(v.Items, m.Value)
			}
		}
		_, err = d.Token()
	}
	return v, err
}
