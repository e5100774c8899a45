// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package inputs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
)

// version is a module that takes an input, as one of two.
func version(label, input string) evaluate.Request {
	var imports strings.Builder
	for _, name := range []string{"strings", "list", "net", "struct", "math"} {
		if strings.Contains(input, name+".") {
			fmt.Fprintf(&imports, "import %q\n", name)
		}
	}
	text := "package m\n" + imports.String() + "ropewalk: apiVersion: \"v1alpha1\"\ngraph: nodes: {}\n"
	if strings.HasPrefix(input, "package ") {
		text = input
	} else if input != "" {
		text += "#Input: " + input + "\ninput: #Input\n"
	}
	return evaluate.Request{Spec: "web", Module: evaluate.Module{FS: fstest.MapFS{"m.cue": {Data: []byte(text)}}, Digest: text, Label: label}}
}

// compare is what changed since the older version.
func compare(t *testing.T, e evaluate.Evaluator, older, newer evaluate.Request) ([]evaluate.Change, error) {
	t.Helper()
	of := evaluate.Subject{Spec: newer.Spec, Pos: newer.Pos, Module: newer.Module, Context: newer.Context, Limits: newer.Limits}
	compared, err := evaluate.Compare(t.Context(), e, of, older.Module)
	return compared.Changes, err
}

// pair is two versions of an input, the verdict on what changed between them, and a change
// that must be among those that are reported.
type pair struct{ Old, New, Level, Text string }

// The table of testdata/compat.yaml; go test -v prints it with the verdicts.
func TestVersionsOfAModuleAreCompared(t *testing.T) {
	data, err := os.ReadFile("testdata/compat.yaml")
	require.NoError(t, err)
	var pairs []pair
	require.NoError(t, yaml.Unmarshal(data, &pairs))
	require.Greater(t, len(pairs), 60)
	for i, c := range pairs {
		t.Run(fmt.Sprintf("%03d", i+1), func(t *testing.T) {
			changes, err := compare(t, inprocess.New(inprocess.Options{}), version("old", c.Old), version("new", c.New))
			require.NoError(t, err)
			verdict := "none"
			var texts []string
			for _, one := range changes {
				texts = append(texts, strings.TrimPrefix(one.Path+": "+one.Text, ": "))
				require.True(t, one.Old.IsValid() || one.New.IsValid(), "%v", one)
			}
			if len(changes) > 0 {
				verdict = string(changes[0].Level)
			}
			t.Logf("expected %-9s verdict %-9s %s -> %s", c.Level, verdict, c.Old, c.New)
			require.Equal(t, c.Level, verdict, "%q", texts)
			if c.Text != "" {
				require.Contains(t, texts, c.Text)
			}
		})
	}
}

func TestVersionsThatCannotBeComparedAreErrors(t *testing.T) {
	broken := version("new", "{a: int}")
	broken.Module.FS, broken.Module.Digest = fstest.MapFS{"m.cue": {Data: []byte("package m\na: {")}}, "broken"
	_, err := compare(t, inprocess.New(inprocess.Options{}), version("old", "{a: int}"), broken)
	require.ErrorContains(t, err, "new/m.cue:2")

	policy := version("old", "{a: int}")
	policy.Module.FS, policy.Module.Digest = fstest.MapFS{"m.cue": {Data: []byte("package m\nropewalk: {apiVersion: \"v1alpha1\", kind: \"Policy\"}\nviolations: []\n")}}, "policy"
	changes, err := compare(t, inprocess.New(inprocess.Options{}), policy, version("new", "{a: int}"))
	require.NoError(t, err)
	require.Equal(t, []evaluate.Change{{Level: evaluate.LevelMajor, Text: "it is a module of specs now, and was a policy"}}, changes)
}
