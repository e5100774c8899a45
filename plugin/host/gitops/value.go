// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/ropewalk/ropewalk/render/object"
)

// valueOf returns a rendered object as a value: each part has the position of the same part of
// what was written, or of the nearest one around it.
func valueOf(v any, written object.Value) object.Value {
	at := written.Pos
	switch v := v.(type) {
	case nil:
		return object.Value{Kind: object.KindNull, Pos: at}
	case bool:
		return object.Value{Kind: object.KindBool, Pos: at, Text: strconv.FormatBool(v)}
	case string:
		return object.TextAt(v, at)
	case json.Number:
		return object.Value{Kind: object.KindNumber, Pos: at, Text: v.String()}
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return object.Value{Kind: object.KindNumber, Pos: at, Text: strconv.FormatInt(int64(v), 10)}
		}
		return object.Value{Kind: object.KindNumber, Pos: at, Text: strconv.FormatFloat(v, 'g', -1, 64)}
	case []any:
		out := object.Value{Kind: object.KindList, Pos: at}
		for i, item := range v {
			like := object.Value{Pos: at}
			if i < len(written.Items) {
				like = written.Items[i]
			}
			out.Items = append(out.Items, valueOf(item, like))
		}
		return out
	case map[string]any:
		out := object.Value{Kind: object.KindMap, Pos: at}
		for _, name := range object.SortedKeys(v) {
			member := object.Member{Name: name, Pos: at}
			like := object.Value{Pos: at}
			for _, m := range written.Members {
				if m.Name == name {
					member.Pos, like = m.Pos, m.Value
				}
			}
			member.Value = valueOf(v[name], like)
			out.Members = append(out.Members, member)
		}
		return out
	case object.Object:
		return valueOf(map[string]any(v), written)
	}
	return object.Value{Kind: object.KindNumber, Pos: at, Text: fmt.Sprint(v)} // integers of any size
}

// plain returns a value as encoding/json has it, with numbers as they were written.
func plain(v object.Value) any {
	switch v.Kind { //nolint:exhaustive // null and nothing are nil
	case object.KindBool:
		return v.Text == "true"
	case object.KindNumber:
		return json.Number(v.Text)
	case object.KindString:
		return v.Text
	case object.KindList:
		out := make([]any, len(v.Items))
		for i, item := range v.Items {
			out[i] = plain(item)
		}
		return out
	case object.KindMap:
		out := make(map[string]any, len(v.Members))
		for _, m := range v.Members {
			out[m.Name] = plain(m.Value)
		}
		return out
	}
	return nil
}

// mapOf returns a map of the members that have a value.
func mapOf(at object.Pos, members ...object.Member) object.Value {
	out := object.Value{Kind: object.KindMap, Pos: at}
	for _, m := range members {
		if m.Value.Kind != object.KindNone && m.Value.Kind != object.KindNull {
			out.Members = append(out.Members, m)
		}
	}
	return out
}

// member returns a member of a map at the position of its value.
func member(name string, v object.Value) object.Member {
	return object.Member{Name: name, Pos: v.Pos, Value: v}
}

// texts returns the texts of a list.
func texts(v object.Value) []string {
	var out []string
	for _, item := range v.Items {
		out = append(out, item.Text)
	}
	return out
}
