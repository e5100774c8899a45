// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func application(spec string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web, namespace: argocd, finalizers: [resources-finalizer.argocd.argoproj.io]}\nspec: " + spec + "\n"
}

func TestSourcesOfAnApplication(t *testing.T) {
	const own = "repoURL: git@git.example.com:acme/fleet.git"
	files := map[string]string{
		"chart/Chart.yaml": "name: web\n", "chart/values-prod.yaml": "a: b\n", "values/web.yaml": "a: b\n",
		"kustom/kustomization.yaml": "resources: []\n", "plain/a.yaml": "a: b\n", "plain/deep/b.yaml": "a: b\n", "plain/c.json": "{}", "values/note.txt": "text",
		"odd/a.yaml": "a: b\n", "odd/b.yaml": "# +argocd:skip-file-rendering\n", "odd/.hidden/c.yaml": "a: b\n", "odd/.git/d.yaml": "a: b\n",
	}
	for name, c := range map[string]struct{ spec, want string }{
		"a chart of a repository": {
			"{source: {repoURL: https://charts.example.com, chart: web, targetRevision: 1.x, helm: {releaseName: w, values: 'a: 1', parameters: [{name: b.c, value: 'true'}, {name: d, value: '5', forceString: true}]}}}",
			`{"helm":{"chart":"web","releaseName":"w","repo":"https://charts.example.com","values":{"a":1,"b":{"c":true},"d":"5"},"version":"1.x"}}`,
		},
		"a chart of a registry": {
			"{source: {repoURL: registry.example.com/charts, chart: web, targetRevision: 1.0.0}}",
			`{"helm":{"chart":"oci://registry.example.com/charts/web","releaseName":"web","values":{},"version":"1.0.0"}}`,
		},
		"a chart of this repository": {
			"{source: {" + own + ", path: chart, helm: {valueFiles: [values-prod.yaml, /values/web.yaml, missing.yaml], ignoreMissingValueFiles: true, valuesObject: {x: 1}, values: 'y: 2', skipCrds: true, fileParameters: [{name: note, path: ../values/note.txt}]}}}",
			`{"helm":{"chart":"chart","releaseName":"web","skipCRDs":true,"values":{"note":"text","x":1},"valuesFiles":["chart/values-prod.yaml","values/web.yaml"]}}`,
		},
		"a chart with values of another source": {
			"{sources: [{repoURL: https://charts.example.com, chart: web, targetRevision: 1.0.0, helm: {valueFiles: [$v/values/web.yaml]}}, {" + own + ", ref: v}]}",
			`{"helm":{"chart":"web","releaseName":"web","repo":"https://charts.example.com","values":{},"valuesFiles":["values/web.yaml"],"version":"1.0.0"}}`,
		},
		"a kustomization": {
			"{source: {" + own + ", path: kustom, kustomize: {namePrefix: a-, images: ['nginx=registry.example.com/nginx:1.27', 'app@sha256:00'], commonLabels: {a: b}, components: [../part]}}}",
			`{"kustomize":{"components":["part"],"enableHelm":true,"images":[{"name":"nginx","newName":"registry.example.com/nginx","newTag":"1.27"},{"digest":"sha256:00","name":"app"}],` +
				`"labels":[{"includeSelectors":true,"pairs":{"a":"b"}}],"loadRestrictor":"none","namePrefix":"a-","path":"kustom"}}`,
		},
		"options that say nothing": {
			"{source: {" + own + ", path: kustom, directory: {recurse: false, jsonnet: {}}, helm: {releaseName: '', valueFiles: []}}}",
			`{"kustomize":{"enableHelm":true,"loadRestrictor":"none","path":"kustom"}}`,
		},
		"options of one of several": {"{sources: [{" + own + ", path: kustom, directory: {recurse: false}}]}", `{"manifests":{"paths":["kustom/kustomization.yaml"]}}`},
		"a folder":                  {"{source: {" + own + ", path: plain}}", `{"manifests":{"paths":["plain/a.yaml","plain/c.json"]}}`},
		"a folder and below":        {"{source: {" + own + ", path: plain, directory: {recurse: true, exclude: '{c.*,x}'}}}", `{"manifests":{"paths":["plain/a.yaml","plain/deep/b.yaml"]}}`},
		"hidden folders":            {"{source: {" + own + ", path: odd, directory: {recurse: true, jsonnet: {}}}}", `{"manifests":{"paths":["odd/.hidden/c.yaml","odd/a.yaml"]}}`},
		"chosen files":              {"{source: {" + own + ", path: plain, directory: {recurse: true, include: '*b.yaml'}}}", `{"manifests":{"paths":["plain/deep/b.yaml"]}}`},
		"another repository":        {"{source: {repoURL: https://git.example.com/acme/other, path: deploy, targetRevision: v1.2.0, directory: {recurse: true}}}", `{"manifests":{"paths":["deploy"]},"source":{"ref":"https://git.example.com/acme/other?tag=v1.2.0","type":"git"}}`},
		"a remote part": {
			"{source: {repoURL: https://git.example.com/acme/other, path: deploy, kustomize: {components: ['https://git.example.com/acme/part//a']}}}",
			`{"kustomize":{"components":["https://git.example.com/acme/part//a"],"enableHelm":true,"loadRestrictor":"none","path":"deploy"},"source":{"ref":"https://git.example.com/acme/other","type":"git"}}`,
		},
		"one that Argo CD knows": {
			"{source: {repoURL: https://git.example.com/acme/other, path: deploy}}\nstatus: {sourceType: Helm}",
			`{"helm":{"chart":"deploy","releaseName":"web","values":{}},"source":{"ref":"https://git.example.com/acme/other","type":"git"}}`,
		},
		"a source of unknown type":   {"{source: {repoURL: https://git.example.com/acme/other, path: deploy}}", "a.yaml:4:16: spec: Application/argocd/web does not say of what its source in another repository is made"},
		"a plugin":                   {"{source: {" + own + ", path: plain, plugin: {name: x}}}", "is rendered by a plugin, which does not run here"},
		"a namespace that is none":   {"{destination: {namespace: ../x}, source: {" + own + ", path: plain}}", `a.yaml:1:1: spec: the namespace "../x" may hold only`},
		"a namespace of the cluster": {"{destination: {namespace: 'a-${b}'}, source: {" + own + ", path: plain}}", "Application/argocd/web is for the namespace a-${b}, which is known in the cluster alone"},
		"a folder that is gone":      {"{source: {" + own + ", path: gone}}", `there is no folder "gone" in the repository`},
		"a file outside":             {"{source: {" + own + ", path: chart, helm: {valueFiles: [../../secret.yaml]}}}", `the values file "../../secret.yaml" leaves the repository`},
		"no source":                  {"{destination: {}}", "has no source"},
		"an empty folder":            {"{source: {" + own + ", path: values/.}}", `{"manifests":{"paths":["values/web.yaml"]}}`},
		"values that are no YAML":    {"{source: {" + own + ", path: chart, helm: {values: '{'}}}", "source.helm.values is no YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			all := map[string]string{"a.yaml": application(c.spec)}
			for name, text := range files {
				all[name] = text
			}
			units := expand(t, all, "https://git.example.com/acme/fleet").Units
			require.Len(t, units, 1)
			require.True(t, units[0].Deletes)
			if units[0].Problem != nil {
				require.Contains(t, units[0].Problem.Error(), c.want)
				return
			}
			require.Equal(t, c.want, string(units[0].Components[0].JSON()))
			require.Empty(t, units[0].Warnings)
		})
	}
}

func TestFieldsOfAnApplicationThatAreNotCarriedOver(t *testing.T) {
	got := strings.Join(summary(expand(t, map[string]string{
		"chart/Chart.yaml": "name: web\n",
		"a.yaml":           application("{source: {repoURL: https://git.example.com/acme/fleet, path: chart, helm: {newField: 1, valueFiles: [https://example.com/v.yaml], parameters: [{name: 'a[0]', value: b}]}}, newField: 1}"),
		"b.yaml":           strings.Replace(application("{source: {repoURL: https://charts.example.com, chart: a, helm: {valueFiles: [in.yaml]}}}"), "name: web", "name: b", 1),
		"plain/a.yaml":     "a: b\n", "plain/b.jsonnet": "{}",
		"d.yaml": strings.Replace(application("{source: {repoURL: https://git.example.com/acme/fleet, path: plain}}"), "name: web", "name: d", 1),
		"c.yaml": strings.Replace(application("{source: {repoURL: https://git.example.com/acme/fleet, path: chart, kustomize: {version: v5}}}"), "name: web", "name: c", 1),
	}, "https://git.example.com/acme/fleet")), "\n")
	for _, want := range []string{
		"the field spec.newField is not carried over", "the field source.helm.newField is not carried over",
		"the values file https://example.com/v.yaml is not fetched",
		"the values file in.yaml lies in the chart and is not read", "the field source.kustomize.version is not carried over",
		"the objects of Jsonnet are missing, which is not evaluated here: plain/b.jsonnet",
	} {
		require.Contains(t, got, want)
	}
}

// TestParametersAreArgumentsOfHelm: commas are escaped as by Argo CD. An element of a list is in no
// values, of which an import warns.
func TestParametersAreArgumentsOfHelm(t *testing.T) {
	got := expand(t, map[string]string{
		"chart/Chart.yaml": "name: web\n", "chart/x.txt": "text",
		"a.yaml": application("{source: {repoURL: https://git.example.com/acme/fleet, path: chart, helm: {parameters: [{name: count, value: '1000000'}, {name: 'a[0]', value: 'b,c\\,d'}, {name: l, value: '{x,y}', forceString: true}, {name: o, value: 'null'}], fileParameters: [{name: f, path: x.txt}]}}}"),
	}, "https://git.example.com/acme/fleet").Units[0]
	require.Empty(t, got.Warnings)
	var sets []string
	for _, s := range got.Sets[0] {
		sets = append(sets, s.Flag+" "+s.Text+" "+s.Content)
	}
	require.Equal(t, []string{"--set count=1000000 ", `--set a[0]=b\,c\,d `, "--set-string l={x,y} ", "--set o=null ", "--set-file f=x text"}, sets)
	require.Contains(t, string(got.Components[0].JSON()), `"values":{"count":1000000,"f":"text","l":["x","y"],"o":null}`)
	require.Len(t, got.Unwritten(), 1)
	require.ErrorContains(t, got.Unwritten()[0], `the parameter "a[0]" is not carried over`)
}

// Argo CD evaluates Jsonnet beside manifests: what is missing here is named.
func TestJsonnetIsNamedAndManifestsBesideItAreRendered(t *testing.T) {
	require.Equal(t, []string{
		`Application/argocd/mixed at a.yaml:1:1 {"manifests":{"paths":["mixed/config.yaml"]}}`,
		`  a.yaml:4:35: spec: Application/argocd/mixed: the objects of Jsonnet are missing, which is not evaluated here: mixed/app.jsonnet`,
		`Application/argocd/pure at b.yaml:1:1 not rendered: b.yaml:4:35: spec: Application/argocd/pure is made by Jsonnet, which is not evaluated here: pure/app.jsonnet`,
		`Application/argocd/without at c.yaml:1:1 {"manifests":{"paths":["mixed/config.yaml"]}}`,
	}, summary(expand(t, map[string]string{
		"a.yaml":            namedApp("mixed", "{repoURL: u, path: mixed}"),
		"b.yaml":            namedApp("pure", "{repoURL: u, path: pure}"),
		"c.yaml":            namedApp("without", "{repoURL: u, path: mixed, directory: {exclude: '*.jsonnet'}}"),
		"mixed/config.yaml": "kind: ConfigMap\n",
		"mixed/app.jsonnet": "{}",
		"pure/app.jsonnet":  "{}",
	})))
}
