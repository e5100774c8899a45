// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

func TestExitCodesTellWhoseMistakeItIs(t *testing.T) {
	missing := &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}
	at := func(file string, err error) object.Errors {
		return object.Errors{{Stage: object.StageSpec, Pos: object.Pos{File: file}, Err: err}}
	}
	for name, c := range map[string]struct {
		err  error
		code int
	}{
		"no error is good":                 {nil, Good},
		"a mistake in a file is a finding": {at("api.yaml", errors.New("no")), Findings},
		"a missing module of a spec is a finding": {
			object.Errors{{Stage: object.StageSpec, Pos: object.Pos{File: "api.yaml", Line: 5}, Err: missing}}, Findings,
		},
		"a missing file is the environment":      {at("api.yaml", missing), Environment},
		"a mistake on the command line is usage": {at("--set a=b", errors.New("no")), Usage},
		"a value of the command line that a module refuses is a finding": {
			object.Errors{{Stage: object.StageEvaluate, Pos: object.Pos{File: "--set a=b"}, Err: errors.New("no")}}, Findings,
		},
		"a mistake in standard input is a finding":     {at("-", errors.New("no")), Findings},
		"a missing argument is the environment":        {at("", missing), Environment},
		"what nobody can place is a finding":           {at("", errors.New("no")), Findings},
		"a wrapped list counts as the list":            {fmt.Errorf("x: %w", at("--set a=b", missing)), Usage},
		"one mistake counts as a list of one":          {at("api.yaml", missing)[0], Environment},
		"a wrong call is usage":                        {usagef("", "no"), Usage},
		"what the system refuses is the environment":   {missing, Environment},
		"a cancelled run is interrupted":               {errors.Join(context.Canceled, missing), Interrupted},
		"a reported error keeps the code of its cause": {errors.Join(errReported, nil, at("a", missing)), Environment},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.code, exitCode(c.err)) })
	}
}

func TestReportsShowTheLineTheNotesAndTheHint(t *testing.T) {
	var b bytes.Buffer
	r := report{out: &b, read: fileReader(map[string][]byte{
		"api.yaml":            []byte("a: 1\n\treplicas: \"two\"\n"),
		"modules/api/api.cue": []byte("#Input: replicas: int\n"),
	})}
	r.fail(object.Errors{
		{
			Stage: object.StageEvaluate, Pos: object.Pos{File: "api.yaml", Line: 2, Column: 12},
			Path: "spec.input.replicas", Err: errors.New("expected int, found \"two\""),
			Hint:  "write a number",
			Notes: []object.Note{{Pos: object.Pos{File: "modules/api/api.cue", Line: 1, Column: 19}, Text: "required here"}},
		},
		{
			Severity: object.SeverityWarning, Policy: "images", Node: "api/deployment", Path: "spec",
			Err: errors.New("registry \x1b[31munknown"),
		},
	})
	require.Equal(t, `api.yaml:2:12: spec.input.replicas: expected int, found "two"
  | 	replicas: "two"
  | 	          ^
  modules/api/api.cue:1:19: required here
    | #Input: replicas: int
    |                   ^
  hint: write a number
ropewalk: warning: policy images: api/deployment: spec: registry `+"\uFFFD"+`[31munknown
1 error, 1 warning
`, b.String())
}

func TestReportsAsDataAreOneList(t *testing.T) {
	var b bytes.Buffer
	r := report{out: &b, json: true}
	r.fail(usagef("hint", "wrong <call>"))
	require.JSONEq(t, `[{"stage": "", "severity": "error", "message": "wrong <call>"}]`, b.String())
	b.Reset()
	r.mistakes(nil)
	require.Equal(t, "[]\n", b.String())
}

func TestExcerptsLeaveOutWhatIsNoHelp(t *testing.T) {
	long := strings.Repeat("x", 500)
	for name, c := range map[string]struct {
		text string
		pos  object.Pos
	}{
		"a line past the end":       {"a\n", object.Pos{File: "f", Line: 3, Column: 1}},
		"a column past the end":     {"a\n", object.Pos{File: "f", Line: 1, Column: 3}},
		"the file as a whole":       {"a\n", object.Pos{File: "f"}},
		"text that is no UTF-8":     {"\xff\xfe\n", object.Pos{File: "f", Line: 1, Column: 1}},
		"a line that fills screens": {long, object.Pos{File: "f", Line: 1, Column: 1}},
		"an empty line":             {"\n\n", object.Pos{File: "f", Line: 1, Column: 1}},
		"a file that is not there":  {"", object.Pos{File: "g", Line: 1, Column: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, excerpt(fileReader(map[string][]byte{"f": []byte(c.text)}), c.pos))
		})
	}
}

func FuzzExcerpt(f *testing.F) {
	f.Add([]byte("a: b\r\n\tc: d\n"), 2, 3)
	f.Fuzz(func(t *testing.T, data []byte, line, column int) {
		read := func(string) []byte { return data }
		text := excerpt(read, object.Pos{File: "f", Line: line, Column: column})
		require.NotContains(t, text, "\x1b")
	})
}

func TestRepositoriesAreSplitFromTheirTag(t *testing.T) {
	for ref, want := range map[string][2]string{
		"oci://localhost:5000/a/b":        {"oci://localhost:5000/a/b", ""},
		"oci://localhost:5000/a/b:v1":     {"oci://localhost:5000/a/b", "v1"},
		"oci://ghcr.io/a/b@sha256:abcdef": {"oci://ghcr.io/a/b", "sha256:abcdef"},
		"":                                {"", ""},
	} {
		repository, reference := splitRepository(ref)
		require.Equal(t, want, [2]string{repository, reference}, ref)
	}
}

func TestStreamsSeparateDocuments(t *testing.T) {
	files := []emit.File{
		{Path: "0-a.yaml", Data: []byte("a: 1\n")},
		{Path: "1-b.yaml", Data: []byte("---\nb: \"<x>\"\nbig: 12345678901234567\n")},
	}
	data, err := stream(files, "yaml")
	require.NoError(t, err)
	require.Equal(t, "---\na: 1\n---\nb: \"<x>\"\nbig: 12345678901234567\n", string(data))
	data, err = stream(files, "json")
	require.NoError(t, err)
	require.Contains(t, string(data), "<x>")
	require.JSONEq(t, `{"apiVersion": "v1", "kind": "List", "items": [{"a": 1}, {"b": "<x>", "big": 12345678901234567}]}`, string(data))
	written, err := jsonFiles(files)
	require.NoError(t, err)
	require.Equal(t, "0-a.json", written[0].Path)
}

func TestProgressIsOneLineThatGoesAway(t *testing.T) {
	var b bytes.Buffer
	now := time.Now()
	p := &progress{out: &b, width: 20, start: now, now: func() time.Time { return now }}
	p.update(1, 10)
	require.Empty(t, b.String(), "short work shows nothing")
	p.update(1, 1000)
	require.Equal(t, "\r\x1b[Krendering 1 of 1000", b.String())
	p.update(2, 1000)
	p.clear()
	p.update(3, 1000)
	require.Equal(t, "\r\x1b[Krendering 1 of 1000\r\x1b[K", b.String())
	require.Nil(t, newProgress(Streams{}))
	newProgress(Streams{}).clear()
}

func TestFilesAreReplacedAsAWhole(t *testing.T) {
	name := t.TempDir() + "/out.svg"
	require.NoError(t, writeFile(name, []byte("one")))
	require.NoError(t, writeFile(name, []byte("two")))
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "two", string(data))
	require.Equal(t, Environment, exitCode(writeFile(name+"/x", nil)))
}

// testPlan is two nodes in two waves.
func testPlan() *order.Plan {
	node := func(id, kind, name string) *object.Node {
		return &object.Node{
			ID: object.ID(id), Pos: object.Pos{File: "m.cue", Line: 3, Column: 1}, SpecPos: object.Pos{File: "s.yaml", Line: 1, Column: 1},
			Object: object.Object{"apiVersion": "apps/v1", "kind": kind, "metadata": map[string]any{"name": name, "namespace": "shop"}},
		}
	}
	db, api, web := node("db/set", "StatefulSet", "db"), node("api/deployment", "Deployment", "api"), node("web/deployment", "Deployment", "web")
	edge := graph.Edge{From: api.ID, To: db.ID, Rule: graph.RuleSpec, Explicit: true, Pos: object.Pos{File: "s.yaml", Line: 5, Column: 3}}
	return &order.Plan{
		Graph: &graph.Graph{Nodes: []*object.Node{api, db, web}, Edges: []graph.Edge{edge}},
		Waves: []order.Wave{{Nodes: []*object.Node{db, web}}, {Nodes: []*object.Node{api}}},
		Placements: map[object.ID]order.Placement{
			db.ID: {Edge: -1, Reason: "needs nothing"}, web.ID: {Edge: -1, Reason: "needs nothing"},
			api.ID: {Wave: 1, Edge: 0, Reason: "wave 1 because of db/set"},
		},
		Gates: []order.Gate{{Gating: true, Reason: "db/set must be ready"}},
	}
}

func TestTheWaveTableSaysWhatAndWhy(t *testing.T) {
	require.Equal(t, `WAVE  OBJECTS  WHAT                     WHY
0     2        StatefulSet, Deployment  depends on nothing that must be ready
1     1        Deployment               api/deployment after db/set
`, waveTable(testPlan()))
}

func TestTheWaveTableBreaksLongRows(t *testing.T) {
	plan := testPlan()
	for _, kind := range []string{"HorizontalPodAutoscaler", "PodDisruptionBudget", "ConfigMap"} {
		plan.Waves[0].Nodes = append(plan.Waves[0].Nodes, &object.Node{Object: object.Object{"kind": kind}})
	}
	require.Equal(t, `WAVE  OBJECTS  WHAT                            WHY
0     5        StatefulSet, Deployment,        depends on nothing that must be ready
               HorizontalPodAutoscaler,
               PodDisruptionBudget, ConfigMap
1     1        Deployment                      api/deployment after db/set
`, waveTable(plan))
}

func TestObjectsAreFoundByAnyOfTheirNames(t *testing.T) {
	nodes := testPlan().Graph.Nodes
	for _, name := range []string{"db/set", "set", "StatefulSet/db", "statefulset/db", "statefulset.apps/db", "StatefulSet/shop/db"} {
		n, err := findNode(nodes, name)
		require.NoError(t, err, name)
		require.Equal(t, object.ID("db/set"), n.ID, name)
	}
	_, err := findNode(nodes, "deployment")
	require.EqualError(t, err, `"deployment" means 2 objects`)
	require.Equal(t, "name it by its id: api/deployment, web/deployment", hintOf(err))
	_, err = findNode(nodes, "StatefulSet/bd")
	require.EqualError(t, err, `no object "StatefulSet/bd" in this render`)
	require.Contains(t, hintOf(err), `did you mean "StatefulSet/db"?`)
	require.Equal(t, Usage, exitCode(err))
}

func TestExplanationsNameLinesEdgesAndWave(t *testing.T) {
	plan := testPlan()
	e := explain(plan, plan.Graph.Nodes[0])
	e.Value = &valueOrigin{Path: "spec.replicas", Value: 2, Input: object.Pos{File: "s.yaml", Line: 9, Column: 2}, InputPath: "spec.input.replicas"}
	require.Equal(t, `api/deployment  Deployment.apps shop/api
  spec       s.yaml:1:1
  module     m.cue:3:1
  wave       1 of 0-1, because of db/set
  apply      mode Apply, conflict Engine, adopt TakeOwnership, deletion Delete, prune true

spec.replicas = 2
  comes from s.yaml:9:2 (spec.input.replicas)

needs
  db/set  dependsOn (s.yaml:5:3): costs a wave, db/set must be ready
`, e.text(paint{}))
	back := explain(plan, plan.Graph.Nodes[1])
	require.Len(t, back.NeededBy, 1)
	require.Equal(t, "api/deployment", back.NeededBy[0].Name)
}

func TestTheCollectorGoesBackToItsDefaultsWhenTheHeapIsLarge(t *testing.T) {
	t.Cleanup(func() {
		debug.SetGCPercent(100)
		debug.SetMemoryLimit(math.MaxInt64)
	})
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	tuneMemory()
	require.Eventually(t, func() bool { return debug.SetMemoryLimit(-1) == smallLimit }, 10*time.Second, time.Millisecond)
	large := make([]byte, 2*largeHeap)
	require.Eventually(t, func() bool {
		runtime.GC()
		return debug.SetMemoryLimit(-1) == math.MaxInt64
	}, 10*time.Second, 10*time.Millisecond)
	runtime.KeepAlive(large)
}
