// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"strconv"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/object"
)

// valueWidth is how much of a value a message shows, in bytes.
const valueWidth = 120

// comparePart requires a part of an object to be as want says. Every difference has the place of
// the part of want that is not met.
func (j *judge) comparePart(n *object.Node, want object.Value, got any, at object.Path) {
	switch want.Kind {
	case object.KindMap:
		have, ok := got.(map[string]any)
		if !ok {
			j.addOtherValue(n, want, got, at)
			return
		}
		for _, m := range want.Members {
			value, there := have[m.Name]
			path := at.Append(object.Field(m.Name))
			switch {
			case there:
				j.comparePart(n, m.Value, value, path)
			case m.Value.Kind != object.KindNull:
				j.addDifference(n, m.Pos, path, object.DidYouMean(m.Name, object.SortedKeys(have)), "expected %s, and there is no such field", show(m.Value))
			}
		}
	case object.KindList:
		have, ok := got.([]any)
		switch {
		case !ok:
			j.addOtherValue(n, want, got, at)
		case len(have) != len(want.Items):
			j.addDifference(n, want.Pos, at, "", "expected %s, got %d: %s", printable.Count(len(want.Items), "item"), len(have), diff.Show(got, valueWidth))
		default:
			for i, item := range want.Items {
				j.comparePart(n, item, have[i], at.Append(object.Index(i)))
			}
		}
	default:
		if !same(want, got) {
			j.addOtherValue(n, want, got, at)
		}
	}
}

// addOtherValue adds the difference of a value that is another one.
func (j *judge) addOtherValue(n *object.Node, want object.Value, got any, at object.Path) {
	j.addDifference(n, want.Pos, at, "", "expected %s, got %s", show(want), diff.Show(got, valueWidth))
}

// addDifference adds a difference, with the line of the module that made the object.
func (j *judge) addDifference(n *object.Node, pos object.Pos, at object.Path, hint, format string, args ...any) {
	e := difference(pos, at.String(), format, args...)
	e.Node = n.ID
	e.Hint = hint
	if n.Pos.IsValid() {
		e.Notes = append(e.Notes, object.Note{Pos: n.Pos, Text: "the module makes the object here"})
	}
	j.errs = append(j.errs, e)
}

// show returns the expected value on one line.
func show(want object.Value) string {
	if want.Kind == object.KindNull {
		return "no such field"
	}
	return diff.Show(plain(want), valueWidth)
}

// plain returns a value without positions, as an object has it.
func plain(v object.Value) any {
	o, err := object.Decode([]byte(`{"v":` + string(v.JSON()) + `}`))
	if err != nil {
		return v.Text // a number that no object can hold
	}
	return o["v"]
}

// same reports whether a scalar is the expected one. Numbers are the same however they are written:
// 1.0 is 1.
func same(want object.Value, got any) bool {
	switch got := got.(type) {
	case nil:
		return want.Kind == object.KindNull
	case string:
		return want.Kind == object.KindString && want.Text == got
	case bool:
		return want.Kind == object.KindBool && want.Text == strconv.FormatBool(got)
	case int64:
		return want.Kind == object.KindNumber && equal(want.Text, strconv.FormatInt(got, 10))
	case float64:
		return want.Kind == object.KindNumber && equal(want.Text, strconv.FormatFloat(got, 'g', -1, 64))
	}
	return false
}

func equal(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return a == b || errX == nil && errY == nil && x == y
}
