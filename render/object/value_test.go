// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// at is a place in line n of a file.
func at(n int) Pos { return Pos{File: "f", Line: n} }

func text(s string, line int) Value { return Value{Kind: KindString, Text: s, Pos: at(line)} }

func mapping(line int, members ...Member) Value {
	return Value{Kind: KindMap, Pos: at(line), Members: members}
}

func member(name string, line int, v Value) Member {
	return Member{Name: name, Pos: at(line), Value: v}
}

func TestMergeWinsLeafByLeaf(t *testing.T) {
	base := mapping(1,
		member("a", 1, text("old", 1)),
		member("m", 2, mapping(2, member("x", 2, text("x", 2)), member("y", 3, text("y", 3)))),
		member("l", 4, Value{Kind: KindList, Items: []Value{text("1", 4), text("2", 4)}}),
	)
	over := mapping(11,
		member("m", 11, mapping(11, member("y", 12, text("new", 12)))),
		member("l", 13, Value{Kind: KindList, Items: []Value{text("3", 13)}}),
		member("z", 14, text("z", 14)),
	)
	got := base.Merge(over)
	require.JSONEq(t, `{"a":"old","m":{"x":"x","y":"new"},"l":["3"],"z":"z"}`, string(got.JSON()))
	require.Equal(t, at(12), got.NearestPos(Fields("m", "y")))
	require.Equal(t, at(2), got.NearestPos(Fields("m", "x")))
	require.JSONEq(t, `{"a":"old","m":{"x":"x","y":"y"},"l":["1","2"]}`, string(base.JSON()), "the base is untouched")
	require.Equal(t, base, base.Merge(Value{}))
}

func TestNearestPosIsThatOfAnAncestor(t *testing.T) {
	v := mapping(1, member("ports", 2, Value{Kind: KindList, Pos: at(3), Items: []Value{mapping(3, member("n", 4, text("a", 4)))}}))
	require.Equal(t, at(4), v.NearestPos(Path{Field("ports"), Index(0), Field("n")}))
	require.Equal(t, at(3), v.NearestPos(Path{Field("ports"), Index(0), Field("missing"), Field("deep")}))
	require.Equal(t, at(3), v.NearestPos(Path{Field("ports"), Index(7)}))
	require.Equal(t, at(1), v.NearestPos(Fields("none")))
}

func TestWithoutLeavesTheRest(t *testing.T) {
	v := mapping(1, member("a", 1, text("a", 1)), member("l", 2, Value{Kind: KindList, Items: []Value{text("0", 2), text("1", 2)}}))
	require.JSONEq(t, `{"l":["0","1"]}`, string(v.Without(Fields("a")).JSON()))
	require.JSONEq(t, `{"a":"a","l":["1"]}`, string(v.Without(Path{Field("l"), Index(0)}).JSON()))
	require.JSONEq(t, string(v.JSON()), string(v.Without(Fields("none", "deep")).JSON()))
	require.JSONEq(t, string(v.JSON()), string(v.Without(Path{Field("l"), Index(9)}).JSON()))
	require.Equal(t, Value{}, v.Without(nil))
	require.JSONEq(t, `{"a":"a","l":["0","1"]}`, string(v.JSON()), "the value is untouched")
}

func TestJSONIsCanonical(t *testing.T) {
	a := mapping(1, member("b", 1, Value{Kind: KindNumber, Text: "1"}), member("a", 2, text("<&>\u2028\"", 2)), member("c", 3, Value{Kind: KindNull}))
	b := mapping(9, member("c", 9, Value{Kind: KindNull}), member("a", 8, text("<&>\u2028\"", 8)), member("b", 7, Value{Kind: KindNumber, Text: "1"}))
	require.Equal(t, string(a.JSON()), string(b.JSON()))
	require.Equal(t, `{"a":"<&>\u2028\"","b":1,"c":null}`, string(a.JSON()))
}

func TestLargeMapsMergeAsSmallOnesDo(t *testing.T) {
	t.Parallel()
	const n = 50_000
	under, over := Value{Kind: KindMap}, Value{Kind: KindMap}
	for i := range n {
		text := Value{Kind: KindString, Text: "under"}
		under.Members = append(under.Members, Member{Name: fmt.Sprint(i), Value: text})
		text.Text = "over"
		over.Members = append(over.Members, Member{Name: fmt.Sprint(i + n/2), Value: text})
	}
	begin := time.Now()
	got := under.Merge(over)
	require.Less(t, time.Since(begin), 5*time.Second, "it does not take the square")
	require.Len(t, got.Members, n+n/2)
	for i, m := range got.Members {
		require.Equal(t, fmt.Sprint(i), m.Name)
		require.Equal(t, i >= n/2, m.Value.Text == "over")
	}
	require.Equal(t, "under", under.Members[n-1].Value.Text, "it is not changed")
}

func TestASizeCountsWhatAliasesShareEachTime(t *testing.T) {
	t.Parallel()
	text := Value{Kind: KindString, Text: strings.Repeat("x", 1000)}
	list := Value{Kind: KindList, Items: []Value{text, text, text}}
	twice := Value{Kind: KindList, Items: []Value{list, list}}
	require.Greater(t, twice.Size(), 2*list.Size())
	require.Greater(t, list.Size(), int64(3000))
	o := Object{"a": "x", "b": []any{map[string]any{"c": strings.Repeat("x", 1000)}}}
	require.Greater(t, o.Size(), int64(1000))
	require.Less(t, o.Size(), int64(3000))
}
