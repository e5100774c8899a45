// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops_test

import (
	"context"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host/gitops"
	"github.com/ropewalk/ropewalk/render/object"
)

// fluxObjects is a Kustomization, and the source that it names.
const fluxObjects = `
apiVersion: source.toolkit.fluxcd.io/v1
kind: SOURCE
metadata: {name: NAME, namespace: flux-system}
spec: {url: URL}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: {path: ./apps, sourceRef: {kind: SOURCE, name: NAME}}
`

func TestASourceIsThisRepositoryByItsURL(t *testing.T) {
	application := func(url string) string {
		return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: apps, namespace: argocd}\nspec: {source: {repoURL: \"" + url + "\", path: apps, directory: {}}}"
	}
	flux := func(kind, name, url string) string {
		return strings.NewReplacer("SOURCE", kind, "NAME", name, "URL", url).Replace(fluxObjects)
	}
	const own = "https://git.example.com/acme/fleet"
	const other = "https://git.example.com/other/charts"
	for name, test := range map[string]struct {
		objects       string
		urls, remotes []string
		here          bool
	}{
		"an Application without a known URL is guessed by its folder": {application(other), nil, nil, true},
		"an Application of the remote":                                {application(own + ".git"), nil, []string{"git@git.example.com:acme/fleet.git"}, true},
		"an Application of elsewhere, where the remote is named":      {application(other) + "\n---\n" + application(own), nil, []string{own}, false},
		"a fork, whose remote no object names, is guessed":            {application(own), nil, []string{"https://git.example.com/me/fork"}, true},
		"the remote upstream of a fork":                               {application(own), nil, []string{"https://git.example.com/me/fork", own}, true},
		"a URL that the user names leaves no guess":                   {application(other), []string{own}, nil, false},
		"a source of Flux beside its Kustomization is guessed":        {flux("GitRepository", "fleet", own), nil, nil, true},
		"a source of Flux under another URL that is known":            {flux("GitRepository", "fleet", other), []string{own}, nil, false},
		"the source of flux bootstrap under any URL":                  {flux("GitRepository", "flux-system", other), []string{own}, nil, true},
		"an artifact, of which the URL of Git says nothing":           {flux("OCIRepository", "fleet", "oci://ghcr.io/acme/fleet"), []string{own}, nil, true},
		"an artifact of another URL than the one that is named":       {flux("OCIRepository", "fleet", "oci://ghcr.io/acme/other"), []string{"oci://ghcr.io/acme/fleet"}, nil, false},
		"an artifact by its URL":                                      {flux("OCIRepository", "fleet", "oci://ghcr.io/acme/fleet"), []string{"oci://ghcr.io/acme/fleet"}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{"fleet/entry.yaml": {Data: []byte(test.objects)}, "fleet/apps/a.yaml": {Data: []byte("kind: ConfigMap")}}
			if strings.Contains(test.objects, "Application") { // Its paths begin at the root.
				files["apps/a.yaml"] = files["fleet/apps/a.yaml"]
			}
			got, err := gitops.Expand(t.Context(), gitops.Repository{FS: files, Dir: ".", URLs: test.urls, Remotes: test.remotes}, nothing)
			require.NoError(t, err)
			require.NotEmpty(t, got.Units)
			_, elsewhere := got.Units[0].Components[0].Get("source")
			require.Equal(t, test.here, !elsewhere, "%s", got.Units[0].Components[0].JSON())
		})
	}
}

// nothing renders nothing.
func nothing(context.Context, gitops.Unit, func(fs.FS, []string) bool) (gitops.Rendered, error) {
	return gitops.Rendered{}, nil
}

func TestLocalFoldersAreThoseThatUnitsReferTo(t *testing.T) {
	objects := strings.NewReplacer("SOURCE", "Bucket", "NAME", "fleet").Replace(fluxObjects[strings.Index(fluxObjects, "---"):])
	files := fstest.MapFS{"entry.yaml": {Data: []byte(objects)}, "local/apps/a.yaml": {Data: []byte("kind: ConfigMap")}}
	repo := gitops.Repository{FS: files, Dir: "."}
	got, err := gitops.Expand(t.Context(), repo, nothing)
	require.NoError(t, err)
	require.Equal(t, object.SeverityWarning, got.Units[0].Problem.Severity, "nothing in the repository is wrong")
	require.Equal(t, "name a folder for it with --local-sources Bucket/flux-system/fleet=DIR", got.Units[0].Problem.Hint)

	repo.Local = map[string]string{"Bucket/flux-system/fleet": "local", "Bucket/flux-system/unused": "local"}
	got, err = gitops.Expand(t.Context(), repo, nothing)
	require.NoError(t, err)
	require.Nil(t, got.Units[0].Problem)
	require.Equal(t, map[string]bool{"Bucket/flux-system/fleet": true}, got.Local)
}

func TestOutputsOfRendersHoldNoEntries(t *testing.T) {
	text := []byte(strings.NewReplacer("SOURCE", "GitRepository", "NAME", "fleet", "URL", "https://git.example.com/acme/fleet").Replace(fluxObjects))
	files := fstest.MapFS{"out/apps/.ropewalk-output": {}, "out/apps/entry.yaml": {Data: text}}
	got, err := gitops.Expand(t.Context(), gitops.Repository{FS: files, Dir: "."}, nothing)
	require.NoError(t, err)
	require.Empty(t, got.Units)
}
