// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v3/reposerver/apiclient"
	"github.com/stretchr/testify/require"
)

// TestFilesOfAnApplicationSetAreThoseOfTheRepoServer: the generator of files asks the repo-server for
// them, by the pattern and with the globs of a default installation. The generators themselves are in
// packages of the controller, which link the clients of all hosters of Git: test/applicationset has
// them.
func TestFilesOfAnApplicationSetAreThoseOfTheRepoServer(t *testing.T) {
	r := newRig(t)
	root := t.TempDir()
	files := map[string]string{}
	for _, name := range []string{"teams/red/team.yaml", "teams/blue/team.yaml", "teams/blue/deep/team.yaml", "teams/blue/other.yaml", "team.yaml", "teams/.hidden/team.yaml"} {
		files[name] = "name: x\n"
		files[path.Join(path.Dir(name), "config.yaml")] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
	}
	write(t, root, files)
	repo := commit(t, root)
	for _, pattern := range []string{"teams/*/team.yaml", "teams/**/team.yaml", "**/team.yaml", "teams/*/*.yaml", "teams/{red,blue}/team.yaml", "teams/[rb]*/team.yaml", "teams/red/**/team.yaml", "teams/re?/team.yaml", "teams/[!r]*/team.yaml", "teams/red", "teams/re?", "none/*.yaml", "team.yaml"} {
		t.Run(pattern, func(t *testing.T) {
			answer, err := r.client.GetGitFiles(t.Context(), &apiclient.GitFilesRequest{Repo: repo.file(), Revision: "main", Path: pattern, NoRevisionCache: true})
			require.NoError(t, err)
			want := slices.AppendSeq([]string{}, maps.Keys(answer.Map))
			for i, name := range want {
				want[i] = strings.NewReplacer("/", "-", ".", "-").Replace("x/" + path.Dir(name) + "/" + path.Base(name))
			}
			slices.Sort(want)
			require.Equal(t, want, r.programs.applications(t, root, pattern))
		})
	}
}

// applications are the names of the Applications that the command makes of an ApplicationSet, one for
// each file.
func (p programs) applications(t *testing.T, root, pattern string) []string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(root)))
	write(t, dir, map[string]string{"argocd/teams.yaml": `apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: teams, namespace: argocd}
spec:
  goTemplate: true
  generators: [{git: {repoURL: ` + fleetURL + `, revision: main, files: [{path: "` + pattern + `"}]}}]
  template:
    metadata: {name: 'x-{{ .path.path | replace "/" "-" | replace "." "-" }}-{{ .path.filename | replace "." "-" }}'}
    spec:
      project: default
      destination: {namespace: shop}
      source: {repoURL: ` + fleetURL + `, path: teams/red, directory: {include: config.yaml}}
`})
	var out, diagnostics bytes.Buffer
	c := exec.CommandContext(t.Context(), p.ropewalk, "render", "-r", "--skip-schemas", "--repository-url", fleetURL, dir) //nolint:gosec // the program under test
	c.Stdout, c.Stderr = &out, &diagnostics
	// A pattern without files makes no Application, and other files of the folder are looked at then.
	if err := c.Run(); err != nil {
		require.Contains(t, diagnostics.String(), "this folder has ApplicationSets of Argo CD")
	}
	names := []string{}
	for _, found := range regexp.MustCompile(`(?m)^# Application/argocd/(\S+)$`).FindAllStringSubmatch(out.String(), -1) {
		names = append(names, found[1])
	}
	slices.Sort(names)
	return names
}
