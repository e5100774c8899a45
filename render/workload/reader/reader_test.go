// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package reader_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/reader"
)

func at(line int) object.Pos { return object.Pos{File: "f", Line: line, Column: 1} }

func TestAMistakeIsAtItsOwnPart(t *testing.T) {
	r := &reader.Reading{}
	root := r.Root(reader.Pairs(at(1),
		"name", object.NumberAt(3, at(2)), "flag", object.TextAt("maybe", at(3)), "count", object.NumberAt(1, at(4)), "x-own", object.BoolAt(true, at(5)),
		"list", object.ListAt(at(6), object.Value{Kind: object.KindNull, Pos: at(6)}, object.TextAt("a", at(7)))))
	root.Only("name", "flags", "count", "list")
	require.Equal(t, "3", root.At("name").Loose())
	require.Empty(t, root.At("name").Str())
	require.False(t, root.At("flag").Flag())
	_, ok := root.At("count").Integer(2)
	require.False(t, ok)
	require.Equal(t, at(1), root.At("none", "below").Pos)
	require.Len(t, root.At("list").List(), 2)
	var got []string
	for _, e := range r.Errs {
		got = append(got, e.Error())
	}
	require.Equal(t, []string{
		`f:3:1: spec: flag: unknown field "flag" (did you mean "flags"?)`,
		`f:5:1: spec: x-own: unknown field "x-own" (known: count, flags, list, name)`,
		"f:2:1: spec: name: expected a string, got a number",
		"f:3:1: spec: flag: expected true or false",
		"f:4:1: spec: count: expected a whole number from 2 on",
	}, got)
}

func TestOtherDialectsAreLooser(t *testing.T) {
	r := &reader.Reading{Free: true, Sparse: true}
	root := r.Root(reader.Pairs(at(1), "x-own", object.BoolAt(true, at(2)),
		"list", object.ListAt(at(3), object.Value{Kind: object.KindNull, Pos: at(3)}, object.TextAt("a", at(4)))))
	root.Only("list")
	require.Len(t, root.At("list").List(), 1)
	require.Empty(t, r.Errs)
	require.Equal(t, object.KindNone, reader.Pairs(at(1), "none", object.Value{}).Kind)
}

func TestNamesThatAreNearlyTheExtensionAreNotFree(t *testing.T) {
	for name, want := range map[string]string{
		"x-ropewalk": "x-ropewalk is not read here (move it to where it is read)", "x-ropwalk": `unknown field "x-ropwalk" (did you mean "x-ropewalk"?)`,
		"X-Ropewalk": "did you mean", "x-rope-walk": "did you mean", "x_ropewalk": "did you mean", "ropewalk": "did you mean",
		"x-rope": "", "x-ropewalk-base": "", "x-own": "", "x-network": "",
	} {
		r := &reader.Reading{Free: true, Extension: "x-ropewalk"}
		r.Root(reader.Pairs(at(1), name, object.BoolAt(true, at(2)))).Only("list")
		require.Equal(t, want != "", r.Failed == 1, name)
		require.Contains(t, r.Errs.Error(), want, name)
	}
	r := &reader.Reading{Free: true, Extension: "x-ropewalk"}
	r.Root(reader.Pairs(at(1), "x-ropewalk", object.BoolAt(true, at(2)))).Only("x-ropewalk")
	require.Empty(t, r.Errs)
}

func TestAMistakeOfSeveralAliasesCountsAsOne(t *testing.T) {
	r := &reader.Reading{}
	for range 200 {
		r.Root(reader.Pairs(at(1), "a", object.TextAt("x", at(2)))).Only()
	}
	require.Len(t, r.Errs, 1)
	require.Equal(t, 200, r.Failed)
}
