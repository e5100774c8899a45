// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host/publishing"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/test/canary/rejected"
)

// Variables come from the env files that the project of a source declares, and never from
// the environment of the controller.
func TestVariablesComeFromTheEnvFilesOfASource(t *testing.T) {
	canary := rejected.Head + "-" + rejected.Tail
	t.Setenv("REGION", canary)
	files := map[string]string{
		"shop/ropewalk.yaml": `apiVersion: ropewalk.dev/v1alpha1
kind: Project
metadata: {name: shop}
spec:
  specs: [apps]
  workloads: {envFiles: [base.env]}
  environments: {prod: {workloads: {envFiles: [env/prod.env]}}}
`,
		"shop/apps/web.yaml": `apiVersion: score.dev/v1b1
metadata: {name: web}
containers: {web: {image: ghcr.io/acme/web:1, variables: {AT: "${REGION}", LEVEL: "${LOG_LEVEL:-info}"}}}
`,
		"shop/base.env":     "REGION=europe\n",
		"shop/env/prod.env": "LOG_LEVEL=warn\n",
		"shop/.env":         "REGION=" + canary + "\n",
	}
	variables := func(more string) (any, string) {
		loaded, err := load(t, transformOf(t, fmt.Sprintf(ofProject, more)), gitRepository(t, "shop", files))
		require.NoError(t, err)
		out, err := rendered(t, transformOf(t, fmt.Sprintf(ofProject, more)), gitRepository(t, "shop", files))
		require.NoError(t, err)
		for _, f := range out.Files {
			rejected.NewLeaks().Require(t, f.Path, f.Data)
		}
		for _, n := range out.Plan.Graph.Nodes {
			if n.Object.Kind() == "ConfigMap" {
				return n.Object.Get("data"), publishing.BuildOf(loaded.Loaded.Loaded, nil, "").Inputs
			}
		}
		return nil, ""
	}
	got, _ := variables("")
	require.Equal(t, map[string]any{"AT": "europe", "LEVEL": "info"}, got)
	got, before := variables(", environment: prod")
	require.Equal(t, map[string]any{"AT": "europe", "LEVEL": "warn"}, got)
	files["shop/env/prod.env"] = "LOG_LEVEL=error\n"
	_, after := variables(", environment: prod")
	require.NotEqual(t, before, after, "the provenance depends on the value")

	for text, want := range map[string]string{
		"LOG_LEVEL='" + canary:          "shop/env/prod.env:1: spec: the quote is not closed",
		"LOG_LEVEL=" + canary + "$HOME": `shop/env/prod.env:1: spec: what follows a $ names no variable`,
		"REGION":                        `shop/env/prod.env:1: spec: a name without a value`,
	} {
		files["shop/env/prod.env"] = text
		_, err := rendered(t, transformOf(t, fmt.Sprintf(ofProject, ", environment: prod")), gitRepository(t, "shop", files))
		require.ErrorContains(t, err, want)
		rejected.NewLeaks().Require(t, "the error", []byte(fmt.Sprintf("%+v", err)))
		var mistakes object.Errors
		require.ErrorAs(t, err, &mistakes)
	}
	files["shop/env/prod.env"] = "-> /etc/environment"
	_, err := rendered(t, transformOf(t, fmt.Sprintf(ofProject, ", environment: prod")), gitRepository(t, "shop", files))
	require.ErrorContains(t, err, "leaves the root of the project by a link")
}
