// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

func mistake(line int, path, text string) *object.Error {
	return &object.Error{Pos: object.Pos{File: "module.cue", Line: line, Column: 1}, Path: path, Err: errors.New(text)}
}

// told are the paths and texts of mistakes.
func told(errs object.Errors) (out []string) {
	for _, e := range errs {
		out = append(out, e.Path+": "+e.Err.Error())
	}
	return out
}

func TestAMistakeOfOneLineIsReportedOnce(t *testing.T) {
	null := mistake(7, "a", "conflicting values {x: 1} and null")
	for name, c := range map[string]struct {
		errs object.Errors
		want []string
	}{
		"the shortest path stands for all": {
			object.Errors{mistake(3, "graph.nodes.a.object", "bad"), mistake(3, "graph.nodes", "bad"), mistake(3, "graph.nodes.b", "bad")}, []string{"graph.nodes: bad"},
		},
		"another line is another mistake":     {object.Errors{mistake(3, "a", "bad"), mistake(4, "b", "bad")}, []string{"a: bad", "b: bad"}},
		"other words are another mistake":     {object.Errors{mistake(3, "a", "bad"), mistake(3, "b", "worse")}, []string{"a: bad", "b: worse"}},
		"without a line nothing is repeated":  {object.Errors{{Path: "a", Err: errors.New("bad")}, {Path: "b", Err: errors.New("bad")}}, []string{"a: bad", "b: bad"}},
		"no null is nothing beside a mistake": {object.Errors{null, mistake(9, "b", "bad")}, []string{"b: bad"}},
		"no null by itself is a mistake":      {object.Errors{null}, []string{"a: conflicting values {x: 1} and null"}},
	} {
		require.Equal(t, c.want, told(dropRepeated(c.errs)), name)
	}
}

func TestANodeThatIsAnObjectItselfIsOneMistake(t *testing.T) {
	unknown := func(path string) *object.Error { return mistake(3, path, `unknown field "x"`) }
	require.Equal(t, []string{`graph.nodes.web: node "web" is an object itself: put it below object`, `graph.nodes.db.extra: unknown field "x"`},
		told(foldObjectNodes(object.Errors{
			unknown("graph.nodes.web.apiVersion"), unknown("graph.nodes.web.kind"), unknown("graph.nodes.web.metadata"), unknown("graph.nodes.db.extra"),
		})))
	deep := object.Errors{unknown("graph.nodes.web.object.kind"), mistake(3, "graph.nodes.web.kind", "expected text"), unknown("kind")}
	want := told(deep)
	require.Equal(t, want, told(foldObjectNodes(deep)), "only a field of the node itself says so")
}

func TestSidesOfAConflict(t *testing.T) {
	for side, want := range map[string]bool{"string": true, "int": true, ">=1": true, "[...string]": true, `"a"`: false, "1": false, "{a: 1}": false, "[1, 2]": false} {
		require.Equal(t, want, isType(side), side)
	}
}
