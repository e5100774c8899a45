// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func old(mark mark) manifest { return manifest{sum: "old", mark: mark} }

func goalsOf(want []desired, live ...*state) map[string]goal {
	states := map[string]*state{}
	for _, s := range live {
		s.known = true
		states[s.name] = s
	}
	out := map[string]goal{}
	for _, g := range plan(want, states, rivals{}) {
		out[g.layer] = g
	}
	return out
}

func has(keys ...key) map[key]bool {
	out := map[key]bool{}
	for _, k := range keys {
		out[k] = true
	}
	return out
}

func TestWhatMovesIsMarkedWhereItComesFromBeforeItIsAppliedElsewhere(t *testing.T) {
	want := []desired{{name: "a", digest: "new", content: content{"x": {sum: "new"}}}}
	from := &state{name: "b", digest: "d", applied: true, content: content{"x": old(plain)}, inventory: has("x")}
	goals := goalsOf(want, from)
	require.Contains(t, goals["a"].waits, "b has not handed its objects over")
	require.Equal(t, content{"x": old(marked)}, goals["b"].content)

	from.content["x"] = old(marked)
	require.Equal(t, content{"x": {sum: "new", mark: marked}}, goalsOf(want, from)["a"].content)

	// One that cannot apply anything is not waited for.
	from.content["x"], from.applied, from.failed = old(plain), false, true
	require.True(t, goalsOf(want, from)["a"].released)
}

func TestAnObjectIsDroppedWhenBothHaveItMarked(t *testing.T) {
	want := []desired{{name: "a", digest: "new", content: content{"x": {sum: "new"}}}}
	from := &state{name: "b", digest: "d", applied: true, content: content{"x": old(marked), "y": old(plain)}, inventory: has("x", "y")}
	to := &state{name: "a", digest: "new", applied: true, healthy: true, content: content{"x": {sum: "new"}}, inventory: has("x")}
	require.Contains(t, goalsOf(want, from, to)["b"].content, key("x"), "it gets the labels of a again only when a gets another artifact")
	to.digest, to.content = "marked", content{"x": {sum: "new", mark: marked}}
	require.True(t, goalsOf(want, from, to)["b"].remove)
	to.inventory = nil
	require.Contains(t, goalsOf(want, from, to)["b"].content, key("x"))
}

func TestWhatWasNeverAppliedIsDroppedWhenNothingIsUnderWay(t *testing.T) {
	want := []desired{
		{name: "a", digest: "new a", content: content{"y": {sum: "new"}}},
		{name: "b", digest: "new b", after: []string{"a"}, content: content{"x": {sum: "new"}}},
	}
	failed := &state{name: "a", digest: "d", failed: true, content: content{"x": old(plain), "y": old(plain)}, inventory: has("y")}
	g := goalsOf(want, failed)["a"]
	require.Equal(t, want[0].content, g.content)
	require.Equal(t, writes{suspend: true}, next(failed, g, "new a", true), "Flux might just try again")
	failed.suspended = ours
	require.Equal(t, writes{}, next(failed, g, "new a", true), "it has not answered yet")
	failed.idle = true
	require.Equal(t, writes{source: true}, next(failed, g, "new a", true))

	failed.inventory["x"] = true // It was applied at the last moment.
	require.Equal(t, marked, goalsOf(want, failed)["a"].content["x"].mark)
}

func TestUnitsThatRetireGoTheLastFirst(t *testing.T) {
	a := &state{name: "layer-1", digest: "a", applied: true, content: content{"x": old(plain)}, inventory: has("x")}
	b := &state{name: "layer-2", digest: "b", applied: true, content: content{"y": old(plain)}, inventory: has("y")}
	goals := goalsOf(nil, a, b)
	require.True(t, goals["layer-2"].remove)
	require.False(t, goals["layer-1"].remove)
	b.deleting = true
	require.False(t, goalsOf(nil, a, b)["layer-1"].remove, "its objects may still be there")
	require.True(t, goalsOf(nil, a)["layer-1"].remove)

	want := []desired{{name: "layer-0", digest: "new", content: content{"z": {sum: "new"}}}}
	require.False(t, goalsOf(want, a)["layer-1"].remove, "what is wanted is applied first")
}

func TestAUnitThatHasAppliedNothingIsDeletedWhileItIsSuspended(t *testing.T) {
	s := &state{name: "a", digest: "d", content: content{"x": old(plain)}}
	g := goalsOf(nil, s)["a"]
	require.Equal(t, writes{suspend: true}, next(s, g, "", true))
	s.suspended, s.idle = ours, true
	require.Equal(t, writes{remove: true}, next(s, g, "", true))
	s.suspended = theirs
	require.Equal(t, writes{}, next(s, g, "", true), "what somebody suspended would leave its objects behind")
}

func TestNextWrites(t *testing.T) {
	g := goal{layer: "a", health: "h"}
	for name, c := range map[string]struct {
		state   *state
		goal    goal
		digest  string
		changed bool
		want    writes
	}{
		"both objects of a layer that is new":                   {nil, g, "d", false, writes{source: true, resume: true}},
		"the source first where an old one was left behind":     {&state{absent: true, digest: "old", fetched: true}, g, "d", false, writes{source: true}},
		"nothing until that one has the artifact":               {&state{absent: true, digest: "d"}, g, "d", false, writes{}},
		"and then its Kustomization":                            {&state{absent: true, digest: "d", fetched: true}, g, "d", false, writes{resume: true}},
		"only the source where only the digest is new":          {&state{digest: "old", health: "h"}, g, "d", false, writes{source: true}},
		"nothing where all is as it should be":                  {&state{digest: "d", health: "h"}, g, "d", false, writes{}},
		"only the Kustomization where only its template is new": {&state{digest: "d", health: "h"}, g, "d", true, writes{resume: true}},
		"only the Kustomization where only health checks are":   {&state{digest: "d", health: "old"}, g, "d", false, writes{resume: true}},
		"both, suspended, where both are new":                   {&state{digest: "old", health: "old"}, g, "d", false, writes{suspend: true, source: true}},
		"the source where the rest was cut off":                 {&state{digest: "old", health: "h", suspended: ours}, g, "d", false, writes{source: true}},
		"nothing while the artifact is being fetched":           {&state{digest: "d", health: "h", suspended: ours}, g, "d", false, writes{}},
		"and then it goes on":                                   {&state{digest: "d", health: "h", suspended: ours, fetched: true}, g, "d", false, writes{resume: true}},
	} {
		require.Equal(t, c.want, next(c.state, c.goal, c.digest, !c.changed), name)
	}
}
