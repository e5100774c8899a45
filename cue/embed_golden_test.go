// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cue_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

func TestModulesMakeTheObjectsOfTheGoldens(t *testing.T) {
	e := evaluator()
	for _, module := range []string{"webservice", "database", "workload", "cluster"} {
		for path, a := range cases(t, module+"/*.txtar") {
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar")+" "+module, func(t *testing.T) {
				req := request(t, embedded(t, module), "input.yaml", file(t, a, "input.yaml"))
				res, err := e.Evaluate(context.Background(), req)
				require.NoError(t, err)
				require.Empty(t, res.Warnings)
				require.Equal(t, evaluate.FlavourNative, res.Flavour)
				golden(t, path, a, "objects.yaml", stream(t, res.Nodes))
			})
		}
	}
}

// Every mistake is a file of its own, with what is said about it in the file
// after it.
func TestModulesExplainTypicalMistakes(t *testing.T) {
	e := evaluator()
	for path, a := range cases(t, "mistakes/*.txtar") {
		module := strings.TrimSuffix(filepath.Base(path), ".txtar")
		names := mistakes(a)
		require.GreaterOrEqual(t, len(names), 10)
		for _, name := range names {
			t.Run(module+" "+name, func(t *testing.T) {
				_, err := e.Evaluate(context.Background(), mistaken(t, module, name, file(t, a, name)))
				require.Error(t, err)
				errs := object.AsErrors(err, object.StageEvaluate)
				for _, one := range errs {
					require.Equal(t, name, one.Pos.File, "the user's own file comes first: %s", one)
				}
				golden(t, path, a, strings.TrimSuffix(name, ".yaml")+".txt", []byte(errs.Error()+"\n"))
			})
		}
	}
}

func mistakes(a *txtar.Archive) []string {
	var names []string
	for _, f := range a.Files {
		if strings.HasSuffix(f.Name, ".yaml") {
			names = append(names, f.Name)
		}
	}
	return names
}

// mistaken gives the input to a module, or to a policy of a good spec.
func mistaken(t *testing.T, module, name string, input []byte) evaluate.Request {
	if module != "policies" {
		return request(t, embedded(t, module), name, input)
	}
	req := request(t, embedded(t, "webservice"), "good.yaml", []byte("image: docker.io/library/nginx:1.29\n"))
	policy := request(t, embedded(t, module), name, input)
	req.Policies = []evaluate.Policy{{
		Name: "baseline", Module: policy.Module, Input: policy.Input, Pos: policy.Pos,
	}}
	return req
}

func TestPoliciesFindWhatTheGoldensSay(t *testing.T) {
	e := evaluator()
	for path, a := range cases(t, "policies/*.txtar") {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			module := request(t, objects(file(t, a, "objects.cue")), "none.yaml", []byte("{}"))
			policy := request(t, embedded(t, "policies"), "policy.yaml", file(t, a, "policy.yaml"))
			module.Policies = []evaluate.Policy{{
				Name: "baseline", Module: policy.Module, Input: policy.Input, Pos: policy.Pos,
			}}
			res, err := e.Evaluate(context.Background(), module)
			require.NoError(t, err)
			var b strings.Builder
			for _, v := range res.Violations {
				fmt.Fprintf(&b, "%s %s: %s: %s: %s\n", v.Severity, v.Policy, v.Node, v.Path, v.Message)
			}
			golden(t, path, a, "violations.txt", []byte(b.String()))
		})
	}
}
