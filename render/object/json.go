// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
)

// ReadJSON reads one JSON value. Every part of it gets the position pos, where the user asked for
// the value.
func ReadJSON(data []byte, pos Pos) (Value, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := readJSON(d, pos, maxJSONDepth)
	if err != nil {
		return Value{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Value{}, errors.New("there is more than one value")
	}
	return v, nil
}

// maxJSONDepth bounds how deep a value of a provisioner nests: far more than any
// object of Kubernetes does.
const maxJSONDepth = 200

// readJSON reads the next value of d, which may nest at most depth levels deep.
func readJSON(d *json.Decoder, pos Pos, depth int) (Value, error) {
	token, err := d.Token()
	if err != nil {
		return Value{}, err
	}
	if depth == 0 {
		return Value{}, errors.New("it nests too deep")
	}
	v := Value{Pos: pos}

	// Scalars are copied; a bracket is followed by items up to its end.
	switch t := token.(type) {
	case nil:
		v.Kind = KindNull
	case bool:
		v.Kind, v.Text = KindBool, strconv.FormatBool(t)
	case json.Number:
		v.Kind, v.Text = KindNumber, t.String()
	case string:
		v.Kind, v.Text = KindString, t
	case json.Delim:
		// Items and members follow until the bracket is closed.
		v.Kind = KindList
		if t == '{' {
			v.Kind = KindMap
		}
		for d.More() {
			var m Member
			if t == '{' {
				name, err := d.Token()
				if err != nil {
					return v, err
				}
				m.Name, _ = name.(string)
			}
			m.Pos = pos
			m.Value, err = readJSON(d, pos, depth-1)
			if err != nil {
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
