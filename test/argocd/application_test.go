// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/reposerver/apiclient"
	"github.com/stretchr/testify/require"
)

// application is what the controller knows when it asks for manifests.
type application struct {
	name, path, revision, namespace string
	repo                            *v1alpha1.Repository
	// plugin is nil for an application that is a directory of manifests.
	plugin *v1alpha1.ApplicationSourcePlugin
	// hard is a hard refresh.
	hard bool
	// generatePaths is the annotation manifest-generate-paths.
	generatePaths string
}

// plugin is what an Application says of ours.
func plugin() *v1alpha1.ApplicationSourcePlugin {
	return &v1alpha1.ApplicationSourcePlugin{Name: "ropewalk"}
}

func (a application) source() *v1alpha1.ApplicationSource {
	s := &v1alpha1.ApplicationSource{RepoURL: a.repo.Repo, Path: a.path, TargetRevision: a.revision, Plugin: a.plugin}
	if a.plugin == nil {
		s.Directory = &v1alpha1.ApplicationSourceDirectory{Recurse: true}
	}
	return s
}

// generate asks the repo-server for the manifests of an application, as its
// controller does.
func (r *rig) generate(ctx context.Context, a application) ([]string, error) {
	answer, err := r.client.GenerateManifest(ctx, &apiclient.ManifestRequest{
		Repo: a.repo, Revision: a.revision, ApplicationSource: a.source(), AppName: a.name, Namespace: a.namespace,
		NoCache: a.hard, NoRevisionCache: a.hard, KubeVersion: "v1.36.0", ApiVersions: []string{"v1", "apps/v1"},
		TrackingMethod: "annotation", AppLabelKey: "app.kubernetes.io/instance", InstallationID: "test",
		ProjectName: "default", ProjectSourceRepos: []string{"*"}, AnnotationManifestGeneratePaths: a.generatePaths,
	})
	if err != nil {
		return nil, err
	}
	return answer.Manifests, nil
}

// details asks the repo-server what it would show of the source of an application.
func (r *rig) details(t *testing.T, a application) *apiclient.RepoAppDetailsResponse {
	t.Helper()
	answer, err := r.client.GetAppDetails(t.Context(), &apiclient.RepoServerAppDetailsQuery{
		Repo: a.repo, Source: a.source(), AppName: a.name, NoCache: true, TrackingMethod: "annotation",
	})
	require.NoError(t, err)
	return answer
}

// objects are the objects of an application, each as JSON with sorted keys, without
// what Argo CD stamps on them, which every one must have.
func (r *rig) objects(t *testing.T, a application) []string {
	t.Helper()
	manifests, err := r.generate(t.Context(), a)
	require.NoError(t, err)
	out := make([]string, 0, len(manifests))
	for _, text := range manifests {
		var object map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &object))
		meta := object["metadata"].(map[string]any)
		annotations := meta["annotations"].(map[string]any)
		for _, stamp := range []string{"argocd.argoproj.io/tracking-id", "argocd.argoproj.io/installation-id"} {
			require.Contains(t, annotations, stamp)
			delete(annotations, stamp)
		}
		if len(annotations) == 0 {
			delete(meta, "annotations")
		}
		out = append(out, encoded(t, object))
	}
	slices.Sort(out)
	return out
}

// rendered are the objects that the command line renders for Argo CD from a folder,
// in the same form.
func (p programs) rendered(t *testing.T, dir string, args ...string) []string {
	t.Helper()
	text := p.run(t, nil, append([]string{"render", dir, "--dialect", "argocd", "--format", "json", "--kube-version", "1.36.0"}, args...)...)
	var list struct{ Items []map[string]any }
	require.NoError(t, json.Unmarshal([]byte(text), &list))
	out := make([]string, 0, len(list.Items))
	for _, object := range list.Items {
		out = append(out, encoded(t, object))
	}
	slices.Sort(out)
	require.NotEmpty(t, out)
	return out
}

func encoded(t *testing.T, object any) string {
	t.Helper()
	data, err := json.Marshal(object)
	require.NoError(t, err)
	return string(data)
}

// run runs the command with further variables and gives what it prints.
func (p programs) run(t *testing.T, env []string, args ...string) string {
	t.Helper()
	home := t.TempDir()
	var out, diagnostics bytes.Buffer
	c := exec.CommandContext(t.Context(), p.ropewalk, args...) //nolint:gosec // tests say what it does
	c.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "DOCKER_CONFIG=" + home}, env...)
	c.Stdout, c.Stderr = &out, &diagnostics
	require.NoError(t, c.Run(), "%v: %s", args, diagnostics.String())
	return out.String()
}

// shop is a copy of the example, locked as a user commits it, in the folder apps
// of what is returned.
func (p programs) shop(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	dir := filepath.Join(root, "apps", "shop")
	require.NoError(t, os.CopyFS(dir, os.DirFS("../../cue/examples/shop")))
	p.run(t, nil, "lock", dir)
	return root
}

// replace replaces text in a file, which must have it.
func replace(t *testing.T, file, from, to string) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(data), from)
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(data), from, to, 1)), 0o600))
}

// write writes files below a folder, by path.
func write(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o750))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
}

// timed says how long something took.
func timed(do func()) time.Duration {
	start := time.Now()
	do()
	return time.Since(start).Round(time.Millisecond)
}
