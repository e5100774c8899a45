// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"maps"
	"strconv"

	"cuelang.org/go/cue/cuecontext"

	"github.com/ropewalk/ropewalk/render/object"
)

// fillPlain is fill without places, for a filling that only results are read
// from. It is nil where parts hold something that plain data of Go cannot say as
// CUE would read it: numbers that are no small integers, and parts that were
// taken out.
func fillPlain(parts ...part) *filling {
	root := map[string]any{}
	for _, p := range parts {
		v, ok := plainData(p.value)
		if !ok {
			return nil
		}
		if len(p.at) == 0 {
			fields, isMap := v.(map[string]any)
			if !isMap {
				return nil
			}
			maps.Copy(root, fields)
			continue
		}
		at := root
		for _, name := range p.at[:len(p.at)-1] {
			next, isMap := at[name].(map[string]any)
			if !isMap {
				next = map[string]any{}
				at[name] = next
			}
			at = next
		}
		at[p.at[len(p.at)-1]] = v
	}
	return &filling{value: cuecontext.New().Encode(root)}
}

// plainData is v as plain data of Go.
func plainData(v object.Value) (any, bool) {
	switch v.Kind {
	case object.KindMap:
		out := make(map[string]any, len(v.Members))
		for _, m := range v.Members {
			value, ok := plainData(m.Value)
			if !ok {
				return nil, false
			}
			out[m.Name] = value
		}
		return out, true
	case object.KindList:
		out := make([]any, len(v.Items))
		for i, e := range v.Items {
			value, ok := plainData(e)
			if !ok {
				return nil, false
			}
			out[i] = value
		}
		return out, true
	case object.KindString:
		return v.Text, true
	case object.KindBool:
		return v.Text == "true", true
	case object.KindNull:
		return nil, true
	case object.KindNumber:
		n, err := strconv.ParseInt(v.Text, 10, 64)
		return n, err == nil
	default:
		return nil, false
	}
}
