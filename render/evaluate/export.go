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
// error is the one that CUE gives for the whole. v has passed a validation as
// final.
func (c *compiled) export(v cue.Value) (o object.Object, size int, err error) {
	e := exporter{}
	data, err := e.value(v, c.outlines.object(v))
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

// value is v, which stands at a place that may be nil, as the data of an object:
// see [object.Object].
func (e *exporter) value(v cue.Value, at *outline) (any, error) {
	v, _ = v.Default()
	switch v.Kind() {
	case cue.StructKind:
		return e.fields(v, at)
	case cue.ListKind:
		return e.items(v, at)
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

func (e *exporter) fields(v cue.Value, at *outline) (any, error) {
	if s := at.shape(v); s != nil {
		size := e.size
		if out, err := e.shaped(v, s.fields); err == nil {
			return out, nil
		}
		// A struct that is the default of others is not found by its path.
		e.size = size
	}
	out := map[string]any{}
	err := at.list(v, func(name string, field cue.Value, below *outline) (err error) {
		e.size += len(name) + len(`"":,`)
		out[name], err = e.value(field, below)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// shaped is the struct v of which fields are all that there are.
func (e *exporter) shaped(v cue.Value, fields []outlineField) (out map[string]any, err error) {
	out = make(map[string]any, len(fields))
	for _, f := range fields {
		e.size += len(f.name) + len(`"":,`)
		if f.inner != nil {
			out[f.name], err = e.shaped(v, f.inner)
		} else {
			out[f.name], err = e.value(v.LookupPath(f.path), f.below)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (e *exporter) items(v cue.Value, at *outline) (any, error) {
	items, err := v.List()
	if err != nil {
		return nil, err
	}
	at = at.item()
	out := []any{}
	for items.Next() {
		item, err := e.value(items.Value(), at)
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
