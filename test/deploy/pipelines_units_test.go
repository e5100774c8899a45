// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/servers"
)

// newFluxCheckout is one of a repository that Flux applies, without a project of Ropewalk.
func newFluxCheckout(t *testing.T) checkout {
	t.Helper()
	origin, c := checkout{t.TempDir()}, checkout{t.TempDir()}
	origin.git(t, "init", "-q", "-b", "main")
	require.NoError(t, os.MkdirAll(filepath.Join(origin.dir, "apps"), 0o700))
	origin.commit(t, "flux.yaml", "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: flux-system}\n"+
		"spec: {interval: 1m, prune: true, path: ./apps, targetNamespace: shop, sourceRef: {kind: GitRepository, name: flux-system}}\n")
	origin.commit(t, "apps/config.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hello}\ndata: {greeting: hello}\n")
	c.git(t, "clone", "-q", origin.dir, ".")
	c.git(t, "switch", "-q", "-c", "change")
	return c
}

// TestThePipelinesPreviewARepositoryOfFlux runs the jobs preview and comment of deploy/previews, which
// are the two that need no project.
func TestThePipelinesPreviewARepositoryOfFlux(t *testing.T) {
	for _, tool := range []string{"bash", "curl", "git", "jq"} {
		if _, err := exec.LookPath(tool); err != nil && os.Getenv(servers.Required) != "required" {
			t.Skip(err)
		}
	}
	command, err := filepath.Abs(install(t))
	require.NoError(t, err)
	components := filepath.Join(filepath.Dir(command), "ropewalk-components")
	if _, err := os.Stat(components); err != nil { // Both are of one release.
		out, err := exec.CommandContext(t.Context(), "go", "build", "-o", components, "github.com/ropewalk/ropewalk/cmd/ropewalk-components").CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	for name, make := range map[string]func(*testing.T, *world){"github": onGitHub, "gitea": onGitea, "gitlab": onGitLab} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, command)
			w.at = newFluxCheckout(t)
			make(t, w)
			w.env["ROPEWALK_COMPONENTS"] = components
			w.jobs["push"], w.jobs["prune"] = job{}, job{}
			w.at.commit(t, "apps/config.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hello}\ndata: {greeting: hallo}\n")
			others := len(w.forge.comments)
			require.True(t, w.run(t, ownChange))
			require.Len(t, w.forge.comments, others+1)
			require.Contains(t, w.forge.comments[others].Body, "the working tree changes 1 object in Kustomization/flux-system/apps")
			page, err := os.ReadFile(filepath.Join(w.at.dir, "out/preview/report.html"))
			require.NoError(t, err)
			require.Contains(t, string(page), "data.greeting")

			// A unit that the change breaks fails the job, and the comment says so.
			w.at.git(t, "rm", "-q", "-r", "apps")
			w.at.git(t, "commit", "-q", "-m", "gone")
			require.False(t, w.run(t, ownChange))
			require.Len(t, w.forge.comments, others+1, "it is the same comment")
			require.Contains(t, w.forge.comments[others].Body, "flux.yaml:4")
		})
	}
}
