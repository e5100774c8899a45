// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inputs_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/render/spec"
)

// inputsOfAPair is how many inputs a pair of schemas is tried with.
const inputsOfAPair = 12

// outcome is what the comparison of a generated pair came to.
type outcome struct {
	level evaluate.Level
	// valid are the inputs that the old version takes, refused those of them that the
	// new one does not.
	valid, refused int
	// wrong says why the level is wrong.
	wrong string
}

// echo is a module whose one object holds its input.
func echo(label string, s *shape) evaluate.Request {
	defs := definitions{}
	var out strings.Builder
	input := s.write(defs)
	for name, text := range defs {
		input += "\n" + name + ": " + text
	}
	out.WriteString("package m\n")
	for _, name := range []string{"strings", "list", "net"} {
		if strings.Contains(input, name+".") {
			fmt.Fprintf(&out, "import %q\n", name)
		}
	}
	out.WriteString("ropewalk: apiVersion: \"v1alpha1\"\ngraph: nodes: web: object: {apiVersion: \"example.com/v1\", kind: \"Echo\", metadata: name: \"web\"\nspec: input}\n")
	out.WriteString("input: #Input\n#Input: " + input + "\n")
	req := evaluate.Request{Spec: "web"}
	req.Module = evaluate.Module{FS: fstest.MapFS{"m.cue": {Data: []byte(out.String())}}, Digest: out.String(), Label: label}
	return req
}

// given is a request with an input, and whether it renders to what.
func given(t *testing.T, e evaluate.Evaluator, req evaluate.Request, input []byte) (any, error) {
	t.Helper()
	value, err := spec.ParseValue(spec.File{Name: "spec.yaml", Data: input})
	require.NoError(t, err)
	req.Input = value
	result, err := e.Evaluate(t.Context(), req)
	if err != nil {
		return nil, err
	}
	return result.Nodes[0].Object.Get("spec"), nil
}

// judge compares a generated pair of schemas, and tries inputs of the old one with both.
func judge(t *testing.T, e evaluate.Evaluator, seed uint64) (out outcome) {
	t.Helper()
	g := newGenerator(seed)
	old := g.schema()
	older, newer := echo("old", old), echo("new", g.changed(old))
	if _, err := e.Evaluate(t.Context(), evaluate.Request{Module: newer.Module, Operation: evaluate.OpInspect}); err != nil {
		return out
	}
	changes, err := compare(t, e, older, newer)
	if err != nil {
		return out // a schema that CUE refuses
	}
	if len(changes) > 0 {
		out.level = changes[0].Level
	}
	tries := inputsOfAPair
	if out.level == evaluate.LevelMajor || out.level == evaluate.LevelUndecided {
		tries = 3
	}
	for range tries {
		value, ok := g.input(old)
		if !ok {
			continue
		}
		input, err := json.Marshal(value)
		require.NoError(t, err)
		was, err := given(t, e, older, input)
		if err != nil {
			continue
		}
		out.valid++
		is, err := given(t, e, newer, input)
		switch {
		case err != nil:
			out.refused++
			if out.level == "" || out.level == evaluate.LevelMinor {
				out.wrong = fmt.Sprintf("%q, and it refuses %s: %v", out.level, input, err)
			}
		case out.level == "":
			a, errA := json.Marshal(was)
			b, errB := json.Marshal(is)
			require.NoError(t, errA)
			require.NoError(t, errB)
			if string(a) != string(b) {
				out.wrong = fmt.Sprintf("no change, and of %s it makes %s, and made %s", input, b, a)
			}
		}
		if out.wrong != "" {
			out.wrong += fmt.Sprintf("\n--- seed %d\n%s\n+++\n%s\nchanges: %v", seed, older.Module.Digest, newer.Module.Digest, changes)
			return out
		}
	}
	return out
}

// A version that is found compatible takes every input that the old one took, and one
// without a change makes the same of it.
func TestACompatibleVersionTakesEveryInput(t *testing.T) {
	e := inprocess.New(inprocess.Options{})
	pairs, valid, alarms := map[evaluate.Level]int{}, map[evaluate.Level]int{}, 0
	for seed := range uint64(150) {
		out := judge(t, e, seed)
		require.Empty(t, out.wrong)
		pairs[out.level]++
		valid[out.level] += out.valid
		if out.level == evaluate.LevelMajor && out.valid > 0 && out.refused == 0 {
			alarms++
		}
	}
	t.Logf("pairs %v, inputs %v; %d major where no input that was tried is refused", pairs, valid, alarms)
	require.Greater(t, valid[""], 20)
	require.Greater(t, valid[evaluate.LevelMinor], 100)
}

func FuzzACompatibleVersionTakesEveryInput(f *testing.F) {
	for seed := range uint64(10) {
		f.Add(seed)
	}
	e := inprocess.New(inprocess.Options{})
	f.Fuzz(func(t *testing.T, seed uint64) {
		require.Empty(t, judge(t, e, seed).wrong)
	})
}
