// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/servers"
)

// folderOf writes files below dir.
func folderOf(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
}

func settings(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"
}

// Remote bases of a kustomization come from servers as modules do: under the pull policy and the
// lock, from the cache where no server may be asked.
func TestRemoteBasesOfAKustomization(t *testing.T) {
	useComponents(t)
	alone(t)
	root := t.TempDir()
	repo := servers.NewGit(t, filepath.Join(root, "repo.git"))
	base := servers.GitHTTP(t, root)
	host := strings.TrimPrefix(base, "http://")
	var asked atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path != "/web.yaml" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(settings("file")))
	}))
	t.Cleanup(web.Close)
	at := func(path, ref string) string { return base + "/repo.git//" + path + "?ref=" + ref }

	repo.Commit(map[string]string{
		"prod/kustomization.yaml": "namePrefix: p-\nresources: [../base]\n", "base/kustomization.yaml": "resources: [a.yaml]\n", "base/a.yaml": settings("a"),
		"far/kustomization.yaml": "resources: ['" + at("prod", "v1") + "']\nnameSuffix: -far\n",
		"one/kustomization.yaml": "resources: ['" + at("two", "main") + "']\n", "two/kustomization.yaml": "resources: ['" + at("one", "main") + "']\n",
	}, "one")
	repo.Tag("v1")

	dir, policy := t.TempDir(), t.TempDir()
	folderOf(t, policy, map[string]string{"policy.yaml": "apiVersion: ropewalk.dev/v1alpha1\nkind: PullPolicy\ndefault: Deny\nrules:\n- {name: ours, effect: Allow, sources: [\"" + base + "/*\"]}\n"})
	project := func(resources ...string) {
		folderOf(t, dir, map[string]string{"k/kustomization.yaml": "resources:\n- " + strings.Join(resources, "\n- ") + "\n",
			"app.yaml": "apiVersion: ropewalk.dev/v1alpha1\nkind: Component\nmetadata: {name: app}\nspec:\n  kustomize: {path: k}\n"})
	}
	plain := []string{"--plain-http", host, "--plain-http", strings.TrimPrefix(web.URL, "http://")}
	names := func(args ...string) (out []string) {
		for line := range strings.Lines(good(t, append(append([]string{"render", dir}, plain...), args...)...)) {
			if name, ok := strings.CutPrefix(line, "  name: "); ok {
				out = append(out, strings.TrimSpace(name))
			}
		}
		return out
	}
	bad := func(args ...string) string {
		code, _, diagnostics := call(t, append(append([]string{"render", dir}, plain...), args...)...)
		require.NotZero(t, code, diagnostics)
		return diagnostics
	}

	project(at("prod", "v1"), at("far", "main"), web.URL+"/web.yaml")
	require.ElementsMatch(t, []string{"p-a", "p-a-far", "file"}, names())
	before := asked.Load()
	require.ElementsMatch(t, []string{"p-a", "p-a-far", "file"}, names("--offline"))
	require.Equal(t, before, asked.Load())
	require.Contains(t, bad("--pull-policy", filepath.Join(policy, "policy.yaml")), "k/kustomization.yaml:4:3: ")

	// The lock holds a branch that moves where it was.
	project(at("base", "main"))
	good(t, append([]string{"lock", dir}, plain...)...)
	require.Equal(t, []string{"a"}, names("--locked"))
	repo.Commit(map[string]string{"base/a.yaml": settings("moved")}, "two")
	t.Setenv("ROPEWALK_CACHE", t.TempDir()) // which remembers for a while where a branch was
	require.Equal(t, []string{"a"}, names())
	require.Contains(t, bad("--locked"), "since it was locked")
	require.NoError(t, os.Remove(filepath.Join(dir, "ropewalk.lock")))
	t.Setenv("ROPEWALK_CACHE", t.TempDir())
	require.Equal(t, []string{"moved"}, names())

	project(web.URL + "/gone.yaml")
	require.Contains(t, bad(), "k/kustomization.yaml:2:3: ")
	project(at("prod", "v9"))
	require.Contains(t, bad(), "k/kustomization.yaml:2:3: ")
	project(at("one", "main"))
	require.Contains(t, bad(), "a circle")
}
