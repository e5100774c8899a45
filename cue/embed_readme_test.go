// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cue_test

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// block is the first fenced block of a language in the README of a module.
func block(t *testing.T, name, language string) []byte {
	files, _ := cue.Module(name)
	readme, err := fs.ReadFile(files, "README.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(readme), "```"+language+"\n")
	require.True(t, found, "%s in the README of %s", language, name)
	text, _, _ := strings.Cut(rest, "```")
	return []byte(text)
}

func TestTheSpecsOfTheReadmesRender(t *testing.T) {
	e := evaluator()
	for _, name := range []string{"webservice", "database", "workload", "cluster"} {
		docs, err := spec.Parse([]spec.File{{Name: "README.md", Data: block(t, name, "yaml")}})
		require.NoError(t, err)
		require.Len(t, docs.Transforms, 1)
		one := docs.Transforms[0]
		require.Equal(t, name, one.CueRef.Ref)
		req := request(t, embedded(t, name), "README.md", []byte("{}"))
		req.Input = one.Input
		_, err = e.Evaluate(context.Background(), req)
		require.NoError(t, err)
	}
}

func TestThePoliciesOfTheReadmeJudge(t *testing.T) {
	project := "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: p}\nspec:\n  " +
		strings.ReplaceAll(string(block(t, "policies", "yaml")), "\n", "\n  ")
	docs, err := spec.Parse([]spec.File{{Name: "ropewalk.yaml", Data: []byte(project)}})
	require.NoError(t, err)
	asked := docs.Projects[0].Policies[0]
	own := evaluate.Module{
		FS:     fstest.MapFS{"owners.cue": {Data: block(t, "policies", "cue")}},
		Digest: "owners", Label: "owners",
	}
	req := request(t, embedded(t, "webservice"), "input.yaml", []byte("image: nginx"))
	req.Policies = []evaluate.Policy{
		{Name: asked.Name, Module: embedded(t, "policies"), Input: asked.Input, Pos: asked.Pos},
		{Name: "owners", Module: own},
	}
	res, err := evaluator().Evaluate(context.Background(), req)
	require.NoError(t, err)
	var found []string
	for _, v := range res.Violations {
		found = append(found, v.Policy+" "+string(v.Node))
	}
	require.Equal(t, []string{
		"min-replicas web/deployment", "owner web/deployment", "owner web/serviceaccount",
	}, found)
}

// The order in which a user writes a map means nothing.
func TestShuffledInputGivesTheSameObjects(t *testing.T) {
	e := evaluator()
	for path, a := range cases(t, "[cw]*/*.txtar") {
		req := request(t, embedded(t, strings.Split(path, "/")[1]), "input.yaml", file(t, a, "input.yaml"))
		res, err := e.Evaluate(context.Background(), req)
		require.NoError(t, err)
		req.Input = reversed(req.Input)
		again, err := e.Evaluate(context.Background(), req)
		require.NoError(t, err)
		require.Equal(t, string(stream(t, res.Nodes)), string(stream(t, again.Nodes)), path)
	}
}

// reversed turns the members of all maps around.
func reversed(v object.Value) object.Value {
	v.Members, v.Items = slices.Clone(v.Members), slices.Clone(v.Items)
	slices.Reverse(v.Members)
	for i := range v.Members {
		v.Members[i].Value = reversed(v.Members[i].Value)
	}
	for i := range v.Items {
		v.Items[i] = reversed(v.Items[i])
	}
	return v
}
