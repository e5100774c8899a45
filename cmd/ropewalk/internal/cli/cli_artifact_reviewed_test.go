// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/artifact"
	"github.com/ropewalk/ropewalk/test/servers"
)

// What is deployed is what was reviewed: by its provenance, or without one by its manifests alone.
func TestDeployWantsWhatWasReviewed(t *testing.T) {
	alone(t)
	server := servers.Registry(t)
	plain := []string{"--plain-http", server.Host}
	repository := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(repository, "shop"), os.DirFS(shop)))
	require.NoError(t, os.MkdirAll(filepath.Join(repository, "web"), 0o750))
	for name, text := range map[string]string{
		"ropewalk.yaml": "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: web}\nspec: {context: {namespace: shop}}\n",
		"web.yaml":      "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: web}\nspec: {cueRef: {type: embedded, ref: webservice}, input: {image: \"nginx:1.29\", ports: {http: {port: 8080}}}}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(repository, "web", name), []byte(text), 0o600))
	}
	git := func(args ...string) {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
		cmd.Dir = repository
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	git("init", "-q", "-b", "main", ".")
	git("add", "-A")
	git("commit", "-q", "-m", "one")
	t.Chdir(repository)
	plan := filepath.Join(t.TempDir(), "reviewed.yaml")
	good(t, "preview", "HEAD", "--dialect", "flux", "--plan", plan)

	// Build it, with its folders and with another object.
	push := func(project, tag string, args ...string) string {
		var out artifact.Built
		at := "oci://" + server.Host + "/shop"
		text := good(t, append(append([]string{"build", project, "--dialect", "flux", "--to", at + ":" + tag, "--format", "json"}, plain...), args...)...)
		require.NoError(t, json.Unmarshal([]byte(text), &out))
		return at + "@" + out.Digest
	}
	deploy := func(reference string, args ...string) (int, string, string) {
		return call(t, append(append([]string{"deploy", reference, "--engine", "flux", "--reviewed", plan}, plain...), args...)...)
	}
	code, out, diagnostics := deploy(push("shop", "v1", "--revision", "main@sha1:merged", "--label", "run=7"))
	require.Zero(t, code, diagnostics)
	require.Contains(t, out, "kind: OCIRepository")
	code, _, diagnostics = deploy(push("shop", "folders", "--folders"))
	require.Zero(t, code, diagnostics)
	code, out, diagnostics = deploy(push("shop", "other", "--set", "storefront:image=docker.io/nginxinc/nginx-unprivileged:2"))
	require.Equal(t, 1, code)
	require.Empty(t, out, "no document is written")
	require.Contains(t, diagnostics, "shop is not what was reviewed at")
	require.Contains(t, diagnostics, ": Deployment.apps shop/storefront differs: preview the change again")

	// An artifact that leaves its namespace open is compared when it is built.
	open := push("web", "open", "--namespace-at-deploy", "--reviewed", plan)
	code, _, diagnostics = deploy(open, "-n", "shop")
	require.Equal(t, 1, code)
	require.Contains(t, diagnostics, "the artifact leaves its namespace open")

	// Documents are held to the plan too.
	installation := filepath.Join(t.TempDir(), "berlin.yaml")
	_, digest, _ := strings.Cut(push("shop", "other", "--set", "storefront:image=docker.io/nginxinc/nginx-unprivileged:3"), "@")
	require.NoError(t, os.WriteFile(installation, []byte(`apiVersion: ropewalk.dev/v1alpha1
kind: Installation
metadata: {name: berlin}
spec:
  registry: oci://`+server.Host+`
  engine: flux
  insecure: true
  components: [{name: shop, from: "oci://build.example/shop", digest: "`+digest+`"}]
`), 0o600))
	code, _, diagnostics = call(t, append([]string{"deploy", installation, "--reviewed", plan}, plain...)...)
	require.Equal(t, 1, code)
	require.Contains(t, diagnostics, "shop is not what was reviewed at")
}
