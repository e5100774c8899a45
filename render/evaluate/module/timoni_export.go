// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"math"
	"unicode/utf8"

	"cuelang.org/go/cue"

	"github.com/ropewalk/ropewalk/render/object"
)

// exactFloat bounds the integers that a float holds exactly.
const exactFloat = 1 << 53

// notText is the error of bytes that are no text, with their value.
type notText struct{ value cue.Value }

func (e *notText) Error() string {
	return "bytes that are not UTF-8 have no place in an object: write base64.Encode(null, …)"
}

// asTimoni changes an object into what Timoni makes of it: bytes are the text that they hold, not
// base64 of it, and a float without a fraction is an integer. Timoni writes such objects as YAML
// and reads them again; see resourceset.go there. The error is a *notText.
func asTimoni(v cue.Value, o object.Object) error {
	_, err := timoniValue(v, map[string]any(o))
	return err
}

// timoniValue returns the decoded data of v as Timoni has it. Containers are changed in place.
func timoniValue(v cue.Value, data any) (any, error) {
	switch d := data.(type) {
	case map[string]any:
		// CUE finds a field much faster than it sorts all of them for a walk.
		v, _ = v.Default()
		for _, name := range object.SortedKeys(d) {
			next, err := timoniValue(v.LookupPath(cue.MakePath(cue.Str(name))), d[name])
			if err != nil {
				return nil, err
			}
			d[name] = next
		}
	case []any:
		items, _ := v.List()
		for i := 0; i < len(d) && items.Next(); i++ {
			next, err := timoniValue(items.Value(), d[i])
			if err != nil {
				return nil, err
			}
			d[i] = next
		}
	case float64:
		if d == math.Trunc(d) && math.Abs(d) < exactFloat {
			return int64(d), nil
		}
	case string:
		if v.IncompleteKind()&cue.BytesKind == 0 {
			return d, nil
		}
		v, _ = v.Default()
		if v.Kind() != cue.BytesKind {
			return d, nil
		}
		text, err := v.Bytes()
		if err != nil || !utf8.Valid(text) {
			return nil, &notText{v}
		}
		return string(text), nil
	}
	return data, nil
}
