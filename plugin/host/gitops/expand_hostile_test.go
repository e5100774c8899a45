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
)

func namedApp(name, source string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + name + ", namespace: argocd}\nspec: {source: " + source + "}\n"
}

func applicationSet(elements, template string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: s, namespace: argocd}\nspec:\n  generators: [{list: {elements: [" + elements + "]}}]\n  template: " + template + "\n"
}

// Whatever a repository holds, its expansion ends and says what is wrong at its line.
func TestRepositoriesThatCannotBeExpanded(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"more elements than there may be": {
			map[string]string{"a.yaml": applicationSet(strings.Repeat("{n: x}, ", 10_001), "{metadata: {name: a}, spec: {source: {repoURL: u, path: b}}}")},
			[]string{`a.yaml:5:16: spec: ApplicationSet/argocd/s is not expanded: the generator has more than 10000 elements`},
		},
		"Applications of Applications in a circle": {
			map[string]string{"a/x.yaml": namedApp("x", "{repoURL: u, path: b}"), "b/y.yaml": namedApp("z", "{repoURL: u, path: a}")},
			[]string{
				`Application/argocd/x at a/x.yaml:1:1 {"manifests":{"paths":["b/y.yaml"]}}`,
				`Application/argocd/z at b/y.yaml:1:1 {"manifests":{"paths":["a/x.yaml"]}}`,
			},
		},
		"an Application of itself": {
			map[string]string{"a/x.yaml": namedApp("x", "{repoURL: u, path: a}")},
			[]string{`Application/argocd/x at a/x.yaml:1:1 {"manifests":{"paths":["a/x.yaml"]}}`},
		},
		"a values file outside of the repository": {
			map[string]string{"a.yaml": namedApp("x", "{repoURL: u, path: c, helm: {valueFiles: [../../v.yaml]}}"), "c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n"},
			[]string{`Application/argocd/x at a.yaml:1:1 not rendered: a.yaml:4:58: spec: the values file "../../v.yaml" leaves the repository`},
		},
		"a chart that is gone": {
			map[string]string{"a.yaml": release("r", "{chart: {spec: {chart: ./c, sourceRef: {kind: GitRepository, name: g}}}}")},
			[]string{`HelmRelease/shop/r at a.yaml:1:1 not rendered: a.yaml:4:30: spec: there is no chart in the folder "c" of the repository`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, summary(expand(t, c.files)))
		})
	}
}

// A template makes an Application, whatever kind it writes.
func TestATemplateThatWritesAnotherKindMakesAnApplication(t *testing.T) {
	units := expand(t, map[string]string{
		"a.yaml":        applicationSet("{n: x}", "{kind: Secret, metadata: {name: '{{n}}'}, spec: {source: {repoURL: u, path: b}}}"),
		"b/config.yaml": "kind: ConfigMap\n",
	}).Units
	require.Len(t, units, 1)
	require.Equal(t, "Application/argocd/x", units[0].String())
}

// Any file expands to something, or says why not: neither does it end the process nor run on.
func FuzzExpand(f *testing.F) {
	f.Add(namedApp("x", "{repoURL: u, path: b, helm: {values: 'a: b', parameters: [{name: a, value: b}]}}"))
	f.Add(applicationSet("{n: x}, {n: y}", "{metadata: {name: '{{n}}'}, spec: {source: {repoURL: u, path: b}}}"))
	f.Add(kustomization("a", "{path: ./b, commonMetadata: {labels: {a: b}}, postBuild: {substituteFrom: [{kind: Secret, name: s}]}}") + "---\n" + secret("stringData: {A: x}"))
	f.Add(release("a", "{chart: {spec: {chart: ./c}}, valuesFrom: [{kind: Secret, name: s, targetPath: a.b}], postRenderers: [{kustomize: {images: []}}]}"))
	f.Fuzz(func(t *testing.T, text string) {
		for _, u := range expandOnly(t, map[string]string{"a.yaml": text, "b/config.yaml": "kind: ConfigMap\n", "c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n"}).Units {
			require.True(t, u.Problem != nil || len(u.Components) > 0, u.String())
		}
	})
}

// expandOnly expands a repository whose units render to nothing.
func expandOnly(t *testing.T, files map[string]string) gitops.Expansion {
	t.Helper()
	repository := fstest.MapFS{}
	for name, text := range files {
		repository[name] = &fstest.MapFile{Data: []byte(text)}
	}
	render := func(context.Context, gitops.Unit, func(fs.FS, []string) bool) (gitops.Rendered, error) {
		return gitops.Rendered{}, nil
	}
	out, err := gitops.Expand(t.Context(), gitops.Repository{FS: repository, Dir: "."}, render)
	require.NoError(t, err)
	return out
}
