// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"encoding/base64"
	"strconv"

	"cuelang.org/go/cue"

	"github.com/ropewalk/ropewalk/render/object"
)

// exporter turns concrete values into data without a detour through JSON,
// which would write every object as text and read it again.
type exporter struct {
	// size is about how long the text would have been, in bytes.
	size int
}

// export is v as an object; nil where it is no struct. Where v has no value the
// error is the one that CUE gives for the whole.
func export(v cue.Value) (o object.Object, size int, err error) {
	e := exporter{}
	data, err := e.value(v)
	if err != nil {
		text, err := v.MarshalJSON()
		if err != nil {
			return nil, 0, err
		}
		o, err = object.Decode(text)
		return o, len(text), err
	}
	o, _ = data.(map[string]any)
	return o, e.size, nil
}

// value is v as the data of an object: see [object.Object].
func (e *exporter) value(v cue.Value) (any, error) {
	v, _ = v.Default()
	switch v.Kind() {
	case cue.StructKind:
		return e.fields(v)
	case cue.ListKind:
		return e.items(v)
	case cue.StringKind:
		s, err := v.String()
		e.size += len(s) + len(`"",`)
		return s, err
	case cue.IntKind:
		e.size += len("12345,")
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
		return float(v)
	case cue.FloatKind, cue.NumberKind:
		e.size += len("1.2345,")
		return float(v)
	case cue.BoolKind:
		e.size += len("false,")
		return v.Bool()
	case cue.NullKind:
		e.size += len("null,")
		return nil, nil
	case cue.BytesKind:
		b, err := v.Bytes()
		s := base64.StdEncoding.EncodeToString(b)
		e.size += len(s) + len(`"",`)
		return s, err
	default:
		// It is no value yet; CUE says why.
		_, err := v.MarshalJSON()
		return nil, err
	}
}

func (e *exporter) fields(v cue.Value) (any, error) {
	fields, err := v.Fields()
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for fields.Next() {
		name := fields.Selector().Unquoted()
		e.size += len(name) + len(`"":,`)
		if out[name], err = e.value(fields.Value()); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (e *exporter) items(v cue.Value) (any, error) {
	items, err := v.List()
	if err != nil {
		return nil, err
	}
	out := []any{}
	for items.Next() {
		item, err := e.value(items.Value())
		if err != nil {
			return nil, err
		}
		out = append(out, item)
	}
	return out, nil
}

// float is a number that is no int64. An integer beyond that is a float too,
// as it is for whoever reads JSON.
func float(v cue.Value) (any, error) {
	text, err := v.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return strconv.ParseFloat(string(text), 64)
}
