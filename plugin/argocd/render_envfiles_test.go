// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/canary/rejected"
)

// Variables come from the env files that the project declares in the repository, which a
// render depends on, and never from the environment of the sidecar or of the Application.
func TestVariablesComeFromTheEnvFilesOfTheRepository(t *testing.T) {
	canary := rejected.Head + "-" + rejected.Tail
	t.Setenv("REGION", canary)
	_, socket := start(t, options(t))
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
		".env":              "REGION=" + canary + "\n",
		"shop/.env":         "REGION=" + canary + "\n",
	}
	prod := map[string]string{"ARGOCD_ENV_ROPEWALK_ENV": "prod", "ARGOCD_ENV_REGION": canary, "REGION": canary}
	data := func(env map[string]string) string {
		got, err := generate(t, socket, call{archive: archive(t, texts(files)), path: "shop", env: env})
		require.NoError(t, err)
		require.NotEmpty(t, got)
		all := strings.Join(got, "---\n")
		rejected.NewLeaks().Require(t, "the manifests", []byte(all))
		return all
	}
	require.Contains(t, data(nil), "AT: europe\n  LEVEL: info\n")
	require.Contains(t, data(prod), "AT: europe\n  LEVEL: warn\n")
	files["shop/env/prod.env"] = "LOG_LEVEL=error\n"
	require.Contains(t, data(prod), "LEVEL: error\n", "a render with another env file is another one")

	for text, want := range map[string]string{
		"LOG_LEVEL='" + canary:          "shop/env/prod.env:1: spec: the quote is not closed",
		"A=1\nLOG LEVEL=" + canary:      "shop/env/prod.env:2: spec: expected NAME=value",
		"LOG_LEVEL=" + canary + "$HOME": `shop/env/prod.env:1: spec: what follows a $ names no variable`,
		"REGION":                        `shop/env/prod.env:1: spec: a name without a value`,
	} {
		files["shop/env/prod.env"] = text
		_, err := generate(t, socket, call{archive: archive(t, texts(files)), path: "shop", env: prod})
		require.ErrorContains(t, err, want)
		rejected.NewLeaks().Require(t, "the error", []byte(err.Error()))
	}
	delete(files, "shop/env/prod.env")
	_, err := generate(t, socket, call{archive: archive(t, texts(files)), path: "shop", env: prod})
	require.ErrorContains(t, err, `env file "env/prod.env"`)
	files["shop/ropewalk.yaml"] = "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec: {specs: [apps], workloads: {envFiles: [../../../etc/environment]}}\n"
	_, err = generate(t, socket, call{archive: archive(t, texts(files)), path: "shop"})
	require.ErrorContains(t, err, "stays in its root")
}
