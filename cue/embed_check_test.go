// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cue_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/check"
	"github.com/ropewalk/ropewalk/render/evaluate"
)

// What the modules make is what an API server takes and what our own policies
// let through.
func TestObjectsOfTheGoldensPassTheCheckAndThePolicies(t *testing.T) {
	e, checker := evaluator(), check.New(check.Options{KubeVersion: "1.36"})
	for path, a := range cases(t, "*/*.txtar") {
		module := strings.Split(path, "/")[1]
		if !slices.Contains([]string{"webservice", "database", "workload", "cluster"}, module) {
			continue
		}
		t.Run(path, func(t *testing.T) {
			req := request(t, embedded(t, module), "input.yaml", file(t, a, "input.yaml"))
			// A Score file says nothing of what our policies ask for.
			if module != "workload" {
				req.Policies = []evaluate.Policy{{Name: "baseline", Module: embedded(t, "policies")}}
			}
			res, err := e.Evaluate(context.Background(), req)
			require.NoError(t, err)
			require.Empty(t, res.Violations)
			findings, err := checker.Check(t.Context(), res.Nodes)
			require.NoError(t, err)
			require.Empty(t, findings)
		})
	}
}

// The groups that are passed on unchanged are open; the check knows what may
// stand in them.
func TestTheCheckFindsMistakesInOpenGroups(t *testing.T) {
	e, checker := evaluator(), check.New(check.Options{KubeVersion: "1.36"})
	req := request(t, embedded(t, "webservice"), "input.yaml", []byte(strings.Join([]string{
		"image: docker.io/library/nginx:1.29",
		"ports: {http: {port: 8080}}",
		"probes: {readiness: {httpGett: {path: /}}}",
		"pod: {tolerations: [{efect: NoSchedule}], nodeSelector: {a: 1}}",
		"container: {imagePullPolicy: always}",
		"deployment: {strategy: {type: Rolling}}",
	}, "\n")))
	res, err := e.Evaluate(context.Background(), req)
	require.NoError(t, err)
	var paths []string
	findings, err := checker.Check(t.Context(), res.Nodes)
	require.NoError(t, err)
	for _, f := range findings {
		paths = append(paths, f.Path.String())
	}
	template := "spec.template.spec."
	require.Subset(t, paths, []string{
		"spec.strategy.type",
		template + "containers[0].imagePullPolicy",
		template + "containers[0].readinessProbe.httpGett",
		template + "tolerations[0].efect",
		template + "nodeSelector.a",
	})
}

// A mistake that the groups make in what the module itself decides is a
// conflict, not a way around it.
func TestOpenGroupsCannotUndoTheSecurityOfTheModule(t *testing.T) {
	req := request(t, embedded(t, "webservice"), "input.yaml", []byte(strings.Join([]string{
		"image: docker.io/library/nginx:1.29",
		"container: {securityContext: {allowPrivilegeEscalation: true}}",
	}, "\n")))
	_, err := evaluator().Evaluate(context.Background(), req)
	require.ErrorContains(t, err, "input.yaml:2:57")
	require.ErrorContains(t, err, "allowPrivilegeEscalation")
}
