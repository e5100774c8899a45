// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops_test

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host/gitops"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// expand expands a repository. Its units are rendered to the documents in the folder of their first
// component, as they are written: what kustomize and Helm make of them is in the scripts of the
// command.
func expand(t *testing.T, files map[string]string, urls ...string) gitops.Expansion {
	t.Helper()
	repository := fstest.MapFS{}
	for name, text := range files {
		repository[name] = &fstest.MapFile{Data: []byte(text)}
	}
	render := func(_ context.Context, u gitops.Unit, wanted func(fs.FS, []string) bool) (gitops.Rendered, error) {
		var out gitops.Rendered
		for name, text := range files {
			if path.Ext(name) != ".yaml" || path.Base(name) == "Chart.yaml" || !strings.HasPrefix(name, folderOf(u)+"/") || strings.Contains(text, "kustomize.config.k8s.io") {
				continue
			}
			made, isMade := u.Files[folderOf(u)+"/kustomization.yaml"]
			if isMade && u.Kind == "Kustomization" && path.Dir(name) == folderOf(u) && !strings.Contains(string(made), "- "+path.Base(name)) {
				continue
			}
			out.Read = append(out.Read, name)
			if !wanted(repository, []string{name}) {
				continue
			}
			documents, err := spec.ParseManifests(spec.File{Name: name, Data: []byte(text)}, spec.MaxFile)
			require.NoError(t, err)
			for _, d := range documents {
				o, err := object.Decode(d.Value.JSON())
				require.NoError(t, err)
				out.Objects = append(out.Objects, gitops.Made{Object: o, Pos: d.Pos})
			}
		}
		return out, nil
	}
	out, err := gitops.Expand(t.Context(), gitops.Repository{FS: repository, Dir: ".", URLs: urls}, render)
	require.NoError(t, err)
	return out
}

// folderOf returns the folder of the first component of a unit.
func folderOf(u gitops.Unit) string {
	at, _ := u.Components[0].Lookup(object.Fields("kustomize", "path"))
	if at.Kind == object.KindString {
		return at.Text
	}
	chart, _ := u.Components[0].Lookup(object.Fields("helm", "chart"))
	if chart.Kind == object.KindString {
		return chart.Text + "/templates"
	}
	paths, _ := u.Components[0].Lookup(object.Fields("manifests", "paths"))
	if len(paths.Items) > 0 {
		return path.Dir(paths.Items[0].Text)
	}
	return "none"
}

// summary returns a line for each unit: its name, where it is, and what renders it or why it is not
// rendered.
func summary(e gitops.Expansion) []string {
	var out []string
	for _, u := range e.Units {
		line := fmt.Sprintf("%s at %s", u.ID, u.Pos)
		for _, c := range u.Components {
			line += " " + string(c.JSON())
		}
		if u.Problem != nil {
			line += " not rendered: " + u.Problem.Error()
		}
		out = append(out, line)
		for _, w := range u.Warnings {
			out = append(out, "  "+w.Error())
		}
	}
	for _, w := range e.Warnings {
		out = append(out, w.Error())
	}
	return out
}

const sync = `apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {url: "ssh://git@git.example.com/acme/fleet.git"}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec:
  path: ./clusters/CLUSTER
  prune: true
  sourceRef: {kind: GitRepository, name: flux-system}
`

const apps = `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec:
  path: ./apps
  targetNamespace: shop
  dependsOn: [{name: infra}]
  sourceRef: {kind: GitRepository, name: flux-system}
  postBuild:
    substitute: {REPLICAS: "3"}
    substituteFrom: [{kind: ConfigMap, name: settings}, {kind: Secret, name: tokens}]
`

func TestUnitsOfFluxLeadToEachOther(t *testing.T) {
	got := summary(expand(t, map[string]string{
		"clusters/a/flux-system/sync.yaml": strings.ReplaceAll(sync, "CLUSTER", "a"),
		"clusters/b/flux-system/sync.yaml": strings.ReplaceAll(sync, "CLUSTER", "b"),
		"clusters/a/apps.yaml":             apps,
		"clusters/a/settings.yaml":         "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: flux-system}\ndata: {DOMAIN: example.com}\n",
		"apps/kustomization.yaml":          "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [release.yaml]\n",
		"apps/release.yaml": `apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: shop}
spec: {url: https://charts.example.com}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: cache, namespace: shop}
spec:
  chart: {spec: {chart: valkey, version: 1.2.x, sourceRef: {kind: HelmRepository, name: charts}}}
  valuesFrom: [{kind: ConfigMap, name: cache-values}]
  values: {replicas: 2}
  newField: 1
`,
		"apps/values.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cache-values, namespace: shop}\ndata:\n  values.yaml: |\n    replicas: 1\n    size: 5Gi\n",
	}, "https://git.example.com/acme/fleet"))
	require.Equal(t, []string{
		`HelmRelease/shop/cache of a at apps/release.yaml:6:1 {"helm":{"chart":"valkey","releaseName":"cache","repo":"https://charts.example.com","values":{"replicas":2,"size":"5Gi"},"version":"1.2.x"}}`,
		`  apps/release.yaml:13:3: spec: HelmRelease/shop/cache of a: the field spec.newField is not carried over`,
		`Kustomization/flux-system/apps of a at clusters/a/apps.yaml:1:1 {"kustomize":{"loadRestrictor":"none","namespace":"shop","path":"apps"},"substitute":{"DOMAIN":"example.com","REPLICAS":"3"},"substituteUnknown":"keep"}`,
		`  clusters/a/apps.yaml:11:57: spec: Kustomization/flux-system/apps of a: the variables in Secret "tokens" are in the cluster alone: ${NAME} stays, and no schema is checked`,
		`Kustomization/flux-system/flux-system of a at clusters/a/flux-system/sync.yaml:6:1 {"kustomize":{"loadRestrictor":"none","path":"clusters/a"}}`,
		`Kustomization/flux-system/flux-system of b at clusters/b/flux-system/sync.yaml:6:1 {"kustomize":{"loadRestrictor":"none","path":"clusters/b"}}`,
	}, got)
}

func TestParentsAndDependenciesAreKnown(t *testing.T) {
	units := expand(t, map[string]string{
		"clusters/a/flux-system/sync.yaml": strings.ReplaceAll(sync, "CLUSTER", "a"), "clusters/a/apps.yaml": apps,
		"apps/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
	}).Units
	require.Len(t, units, 2)
	require.Equal(t, []gitops.ID{{Kind: "Kustomization", Namespace: "flux-system", Name: "flux-system"}}, units[0].Parents)
	require.Equal(t, []gitops.ID{{Kind: "Kustomization", Namespace: "flux-system", Name: "infra"}}, units[0].DependsOn)
	require.True(t, units[1].Prunes && units[1].Deletes)
	// Flux makes the kustomization of a folder that has none.
	require.Equal(t, "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- config.yaml\n", string(units[0].Files["apps/kustomization.yaml"]))
	require.Contains(t, string(units[1].Files["clusters/a/kustomization.yaml"]), "- apps.yaml\n- flux-system/sync.yaml\n")
}

func kustomization(name, spec string) string {
	return "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: " + name + ", namespace: flux-system}\nspec: " + spec + "\n"
}

func release(name, spec string) string {
	return "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: " + name + ", namespace: shop}\nspec: " + spec + "\n"
}

func source(kind, name, spec string) string {
	return "apiVersion: source.toolkit.fluxcd.io/v1\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: flux-system}\nspec: " + spec + "\n"
}

func TestWhereTheFilesOfAUnitOfFluxAre(t *testing.T) {
	chart := map[string]string{"charts/web/prod.yaml": "a: b\n", "charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n"}
	for name, c := range map[string]struct {
		object string
		more   map[string]string
		want   string
	}{
		"another repository": {
			kustomization("a", "{path: ./deploy, sourceRef: {kind: GitRepository, name: other}}"),
			map[string]string{"other.yaml": source("GitRepository", "other", "{url: https://git.example.com/acme/other, ref: {semver: '>=1 <2'}}")},
			`{"kustomize":{"loadRestrictor":"none","path":"deploy"},"source":{"ref":"https://git.example.com/acme/other?semver=>=1%20<2","type":"git"}}`,
		},
		"an artifact": {
			kustomization("a", "{path: ./, sourceRef: {kind: OCIRepository, name: other}}"),
			map[string]string{"other.yaml": source("OCIRepository", "other", "{url: oci://registry.example.com/acme/other, ref: {tag: v1}}")},
			`{"kustomize":{"loadRestrictor":"none","path":"."},"source":{"ref":"oci://registry.example.com/acme/other:v1","type":"oci"}}`,
		},
		"a bucket": {
			kustomization("a", "{path: ./, sourceRef: {kind: Bucket, name: other}}"), nil,
			`a.yaml:4:29: spec: the files of Bucket "other" are in the cluster alone (name a folder for it with --local-sources Bucket/flux-system/other=DIR)`,
		},
		"a folder that is not there": {
			kustomization("a", "{path: ./missing, sourceRef: {kind: GitRepository, name: flux-system}}"), nil,
			`a.yaml:4:14: spec: there is no folder "missing" in the repository`,
		},
		"a part of the repository": {
			kustomization("a", "{path: ./deploy, sourceRef: {kind: ExternalArtifact, name: part}}"),
			map[string]string{
				"generator.yaml": "apiVersion: source.extensions.fluxcd.io/v1beta1\nkind: ArtifactGenerator\nmetadata: {name: g, namespace: flux-system}\n" +
					"spec:\n  sources: [{alias: repo, kind: GitRepository, name: flux-system}]\n  artifacts:\n  - name: part\n    copy: [{from: '@repo/apps/deploy/**', to: '@artifact/deploy/'}]\n",
				"apps/deploy/kustomization.yaml": "resources: []\n",
			},
			`{"kustomize":{"loadRestrictor":"none","path":"apps/deploy"}}`,
		},
		"a chart of the repository": {
			release("a", "{chart: {spec: {chart: ./charts/web, valuesFiles: [charts/web/prod.yaml], sourceRef: {kind: GitRepository, name: flux-system}}}, targetNamespace: other}"), chart,
			`{"helm":{"chart":"charts/web","releaseName":"other-a","values":{},"valuesFiles":["charts/web/prod.yaml"]}}`,
		},
		"a chart that is not there": {
			release("a", "{chart: {spec: {chart: ./charts/other, sourceRef: {kind: GitRepository, name: flux-system}}}}"), chart,
			`a.yaml:4:30: spec: there is no chart in the folder "charts/other" of the repository`,
		},
		"a chart of a registry": {
			release("a", "{chart: {spec: {chart: web, version: 1.0.0, sourceRef: {kind: HelmRepository, name: r, namespace: flux-system}}}, install: {crds: Skip}}"),
			map[string]string{"r.yaml": source("HelmRepository", "r", "{type: oci, url: oci://registry.example.com/charts}")},
			`{"helm":{"chart":"oci://registry.example.com/charts/web","releaseName":"a","skipCRDs":true,"values":{},"version":"1.0.0"}}`,
		},
		"a chart with what is laid over it": {
			release("a", "{chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: flux-system}}}, postRenderers: [{kustomize: {images: [{name: a, newTag: b}], patches: [{patch: c}]}}]}"), chart,
			`{"helm":{"chart":"charts/web","postRenderers":[{"kustomize":{"images":[{"name":"a","newTag":"b"}],"patches":[{"patch":"c"}]}}],"releaseName":"a","values":{}}}`,
		},
		"a chart that is an artifact": {
			release("a", "{chartRef: {kind: OCIRepository, name: r, namespace: flux-system}}"),
			map[string]string{"r.yaml": source("OCIRepository", "r", "{url: oci://registry.example.com/charts/web, ref: {tag: 1.0.0}}")},
			`{"helm":{"chart":"oci://registry.example.com/charts/web","releaseName":"a","values":{},"version":"1.0.0"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"a.yaml": c.object}
			for name, text := range c.more {
				files[name] = text
			}
			units := expand(t, files).Units
			require.Len(t, units, 1)
			if units[0].Problem != nil {
				require.Equal(t, c.want, units[0].Problem.Error())
				return
			}
			require.Equal(t, c.want, string(units[0].Components[0].JSON()))
		})
	}
}

func TestWhatIsNotLaidOverAChartIsReported(t *testing.T) {
	got := expand(t, map[string]string{
		"a.yaml":               release("a", "{chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: flux-system}}}, postRenderers: [{kustomize: {patchesJson6902: []}}, {other: {}}], commonMetadata: {labels: {a: b}}}"),
		"charts/web/prod.yaml": "a: b\n", "charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
	}).Units
	require.Len(t, got, 1)
	require.Equal(t, []string{
		"a.yaml:4:128: spec: HelmRelease/shop/a: the field spec.postRenderers.patchesJson6902 is not carried over",
		"a.yaml:4:152: spec: HelmRelease/shop/a: the field spec.postRenderers.other is not carried over",
	}, []string{got[0].Warnings[0].Error(), got[0].Warnings[1].Error()})
	require.Equal(t, `{"metadata":{"labels":{"a":"b"}}}`, string(got[0].Overlays[0].Patch.JSON()))
}

func TestTwoUnitsOfOneNameAreReported(t *testing.T) {
	got := summary(expand(t, map[string]string{
		"a.yaml": release("a", "{chartRef: {kind: HelmChart, name: x}}") + "---\n" + release("a", "{chartRef: {kind: HelmChart, name: x}}"),
	}))
	require.Equal(t, []string{
		`HelmRelease/shop/a at a.yaml:1:1 not rendered: a.yaml:4:18: spec: the chart of HelmRelease/shop/a is HelmChart "x", which is in the cluster alone (name a folder for it with --local-sources HelmChart/shop/x=DIR)`,
		`a.yaml:6:1: spec: HelmRelease/shop/a is there twice, first at a.yaml:1:1, and each would undo the other (remove one of them, or give it a name of its own)`,
	}, got)
}

// Folders that lie in each other would never be an entry.
func TestUnitsInFoldersOfEachOtherAreFound(t *testing.T) {
	require.Len(t, expand(t, map[string]string{
		"a/k.yaml": kustomization("a", "{path: ./b, sourceRef: {kind: GitRepository, name: flux-system}}"),
		"b/k.yaml": kustomization("b", "{path: ./a, sourceRef: {kind: GitRepository, name: flux-system}}"),
	}).Units, 2)
}

func TestFilesThatAreNoYAMLAreReported(t *testing.T) {
	got := expand(t, map[string]string{"a.yaml": "kind: Application # argoproj.io\nmetadata: {{ .name }}\n"})
	require.Empty(t, got.Units)
	require.Len(t, got.Warnings, 1)
	require.Contains(t, got.Warnings[0].Error(), "a.yaml:2:12: spec: objects of Argo CD or Flux in this file are not looked at")
}

// kubectl prints several objects as a List.
func TestUnitsInAListAreFound(t *testing.T) {
	text := "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a}, spec: {}}\n"
	require.Equal(t, []string{`Application/a at a.yaml:4:3 not rendered: a.yaml:4:84: spec: Application/a has no source`}, summary(expand(t, map[string]string{"a.yaml": text})))
}

// The templates of the test are not filled: a chart renders to its files.
func TestAChartThatMakesApplicationsIsAnEntry(t *testing.T) {
	app := "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: NAME, namespace: argocd}\nspec: {source: {repoURL: https://git.example.com/acme/fleet, path: web}}\n"
	chart := "apiVersion: v2\nname: x\nversion: 1.0.0\n"
	files := map[string]string{
		"apps/Chart.yaml": chart, "apps/templates/a.yaml": strings.ReplaceAll(app, "NAME", "a"),
		// One inside of another chart, one that a unit renders, and one that makes nothing.
		"apps/charts/sub/Chart.yaml": chart, "apps/charts/sub/templates/b.yaml": strings.ReplaceAll(app, "NAME", "b"),
		"used/Chart.yaml": chart, "used/templates/c.yaml": strings.ReplaceAll(app, "NAME", "c"),
		"root.yaml":        strings.ReplaceAll(strings.ReplaceAll(app, "NAME", "root"), "path: web", "path: used"),
		"seed/Chart.yaml":  chart + "dependencies:\n- name: argocd-apps\n",
		"empty/Chart.yaml": chart, "empty/templates/d.tpl": app, "web/config.yaml": "kind: ConfigMap\n",
	}
	e := expand(t, files)
	var ids []string
	for _, u := range e.Units {
		ids = append(ids, u.String())
	}
	require.Equal(t, []string{"Application/argocd/a", "Application/argocd/c", "Application/argocd/root", "Chart/apps"}, ids)
	require.Equal(t, []gitops.ID{{Kind: "Chart", Name: "apps"}}, e.Units[0].Parents)
	require.Len(t, e.Warnings, 2)
	require.Contains(t, e.Warnings[1].Error(), `the chart "seed" makes`)
	require.Equal(t, `empty/Chart.yaml:1:1: spec: the chart "empty" makes Applications or objects of Flux, and has none with its own values: they are not looked at`, e.Warnings[0].Error())
}

// A file that mentions an engine in an annotation holds none of its objects.
func TestFilesThatAreNoYAMLAreNamedIfTheyHoldObjectsOfAnEngine(t *testing.T) {
	const twice = "metadata: {annotations: {argocd.argoproj.io/sync-wave: '1', a: b, a: c}}\n"
	got := expand(t, map[string]string{
		"app.yaml":  "apiVersion: argoproj.io/v1alpha1\nkind: Application\n" + twice,
		"data.yaml": "apiVersion: apps/v1\nkind: Deployment\n" + twice,
	})
	require.Len(t, got.Warnings, 1)
	require.Equal(t, "app.yaml", got.Warnings[0].Pos.File)
}
