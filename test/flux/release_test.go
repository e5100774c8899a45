// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/chartutil"
	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	releaseutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/kustomize/api/builtins"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// TestReleasesAreWhatFluxAndHelmBuild: render --unit gives the objects that the helm-controller has Helm
// install. Its packages cannot be imported, and what they do with these libraries is written again
// here (helm-controller at 0f61a860, v1.6.3: internal/postrender, internal/release, internal/action),
// as is what the source-controller does with values files (v1.9.5, internal/helm/chart). Set aside are
// the labels helm.toolkit.fluxcd.io/name and /namespace, by which the controller tracks its objects,
// as the annotations of Argo CD are.
//
// Two differences stay. The common metadata is on the definitions of the folder crds too, and the
// renderers leave hooks as they are, which Helm 4 gives to them.
func TestReleasesAreWhatFluxAndHelmBuild(t *testing.T) {
	tests := map[string]string{
		"nothing":                           "{}",
		"values":                            "{values: {color: blue, nested: {c: 5}, list: [c], size: 1000000}}",
		"values that are null":              "{values: {color: null, nested: {a: null, b: null}, list: null}}",
		"values of a map that is null":      "{values: {nested: null}}",
		"values of other types":             "{values: {image: 5, color: {a: b}, size: 1.50, list: {a: b}}}",
		"values of a ConfigMap":             "{valuesFrom: [{kind: ConfigMap, name: values}], values: {nested: {d: {g: h}}}}",
		"values of a Secret":                "{valuesFrom: [{kind: ConfigMap, name: values}, {kind: Secret, name: values}]}",
		"values in the other order":         "{valuesFrom: [{kind: Secret, name: values}, {kind: ConfigMap, name: values}], values: {list: []}}",
		"values that remove":                "{valuesFrom: [{kind: ConfigMap, name: values}, {kind: ConfigMap, name: values, valuesKey: null.yaml}]}",
		"values that are optional":          "{valuesFrom: [{kind: ConfigMap, name: none, optional: true}, {kind: ConfigMap, name: values, valuesKey: none, optional: true}]}",
		"target":                            "{valuesFrom: [{kind: ConfigMap, name: values, valuesKey: text, targetPath: nested.new.deep}]}",
		"target of a number":                "{valuesFrom: [{kind: ConfigMap, name: values, valuesKey: number, targetPath: nested.a}, {kind: ConfigMap, name: values, valuesKey: number, targetPath: size}]}",
		"target of a text in quotes":        "{valuesFrom: [{kind: ConfigMap, name: values, valuesKey: quoted, targetPath: size}]}",
		"target of true":                    "{valuesFrom: [{kind: ConfigMap, name: values, valuesKey: truth, targetPath: nested.a}]}",
		"target of null":                    "{valuesFrom: [{kind: ConfigMap, name: values, valuesKey: none, targetPath: nested.a}]}",
		"target of a list":                  "{valuesFrom: [{kind: ConfigMap, name: values, valuesKey: braces, targetPath: list}]}",
		"target of zeros":                   "{valuesFrom: [{kind: ConfigMap, name: values, valuesKey: zeros, targetPath: size}]}",
		"target with a comma":               "{valuesFrom: [{kind: ConfigMap, name: values, valuesKey: escaped, targetPath: color}]}",
		"target of what it is":              "{valuesFrom: [{kind: ConfigMap, name: values, valuesKey: commas, targetPath: color, literal: true}, {kind: ConfigMap, name: values, valuesKey: number, targetPath: size, literal: true}]}",
		"target of a Secret":                "{valuesFrom: [{kind: Secret, name: values, valuesKey: password, targetPath: nested.password}]}",
		"target of a name with a dot":       "{valuesFrom: [{kind: ConfigMap, name: values, valuesKey: number, targetPath: 'nested.a\\.b'}]}",
		"target in a list":                  "{valuesFrom: [{kind: ConfigMap, name: values, valuesKey: number, targetPath: 'list[1]'}], values: {list: [p, q, r]}}",
		"target in a list that is new":      "{valuesFrom: [{kind: ConfigMap, name: values, valuesKey: number, targetPath: 'nested.l[2].x'}]}",
		"target below values":               "{valuesFrom: [{kind: ConfigMap, name: values, valuesKey: number, targetPath: size}], values: {size: 7}}",
		"target in a map of values":         "{valuesFrom: [{kind: ConfigMap, name: values, valuesKey: number, targetPath: nested.a}], values: {nested: {a: own, z: own}}}",
		"target in a map of both":           "{valuesFrom: [{kind: ConfigMap, name: values}, {kind: ConfigMap, name: values, valuesKey: number, targetPath: nested.a}], values: {nested: {a: own, z: own}}}",
		"target before other values":        "{valuesFrom: [{kind: ConfigMap, name: values, valuesKey: number, targetPath: nested.a}, {kind: ConfigMap, name: values}], values: {color: own}}",
		"values files":                      "{chart: {spec: {chart: web, valuesFiles: [web/prod.yaml, values/shared.yaml]}}}",
		"values files with the chart's own": "{chart: {spec: {chart: web, valuesFiles: [web/values.yaml, web/prod.yaml]}}}",
		"values files that are missing":     "{chart: {spec: {chart: web, ignoreMissingValuesFiles: true, valuesFiles: [web/none.yaml, web/prod.yaml]}}}",
		"the only values file":              "{chart: {spec: {chart: web, valuesFiles: [values.yaml]}}}",
		"target namespace":                  "{targetNamespace: other, storageNamespace: third}",
		"release name":                      "{releaseName: mine, targetNamespace: other}",
		"release name that is long":         "{targetNamespace: a-namespace-with-a-name-that-goes-on-and-on-and-on-and-on}",
		"no definitions":                    "{install: {crds: Skip}, upgrade: {crds: CreateReplace}}",
		"definitions":                       "{install: {crds: CreateReplace}, upgrade: {crds: Skip}, driftDetection: {mode: enabled}}",
		"patches":                           "{postRenderers: [{kustomize: {patches: [{target: {kind: Deployment}, patch: \"- op: add\\n  path: /spec/replicas\\n  value: 3\"}], images: [{name: nginx, newName: registry.example.com/nginx, newTag: '2'}]}}, {kustomize: {patches: [{patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, labels: {second: \"true\"}}}'}]}}]}",
		"common metadata":                   "{commonMetadata: {labels: {team: a, app: other}, annotations: {note: b}}, install: {crds: Skip}}",
		"all of it":                         "{install: {crds: Skip}, releaseName: mine, targetNamespace: other, valuesFrom: [{kind: ConfigMap, name: values}, {kind: Secret, name: values, valuesKey: password, targetPath: nested.b}], values: {color: blue}, commonMetadata: {labels: {team: a}}, postRenderers: [{kustomize: {images: [{name: nginx, newTag: '3'}]}}], dependsOn: [{name: none}], timeout: 5m, maxHistory: 3}",
	}
	command := build(t)
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		t.Run(name, func(t *testing.T) {
			release := map[string]any{}
			require.NoError(t, yaml.Unmarshal([]byte(tests[name]), &release))
			if release["chart"] == nil {
				release["chart"] = map[string]any{"spec": map[string]any{"chart": "web"}}
			}
			release["chart"].(map[string]any)["spec"].(map[string]any)["sourceRef"] = map[string]any{"kind": "GitRepository", "name": "fleet"}
			require.Equal(t, installed(t, release), renderedRelease(t, command, release))
		})
	}
}

// spec has the fields of a HelmRelease that change what is installed.
type spec struct {
	Chart struct {
		Spec struct {
			ValuesFiles              []string
			IgnoreMissingValuesFiles bool
		}
	}
	ValuesFrom                   []meta.ValuesReference
	Values                       map[string]any
	ReleaseName, TargetNamespace string
	Install                      struct{ CRDs string }
	CommonMetadata               *struct{ Labels, Annotations map[string]string }
	PostRenderers                []struct{ Kustomize types.Kustomization }
}

// installed are the objects that the controller has Helm install.
func installed(t *testing.T, release map[string]any) []string {
	t.Helper()
	text, err := json.Marshal(release)
	require.NoError(t, err)
	var s spec
	require.NoError(t, json.Unmarshal(text, &s))

	// The source-controller writes values files over values.yaml of the chart.
	chart, err := loader.LoadDir("testdata/charts/web")
	require.NoError(t, err)
	if files := s.Chart.Spec.ValuesFiles; len(files) > 0 && !slices.Equal(files, []string{"values.yaml"}) {
		merged := map[string]any{}
		for _, name := range files {
			data, err := os.ReadFile(filepath.Join("testdata/charts", name))
			if errors.Is(err, fs.ErrNotExist) && s.Chart.Spec.IgnoreMissingValuesFiles {
				continue
			}
			require.NoError(t, err)
			var values map[string]any
			require.NoError(t, yaml.Unmarshal(data, &values))
			merged = chartutil.MergeMaps(merged, values)
		}
		chart.Values = merged
	}

	// The helm-controller gathers values, and Helm fills the templates.
	values, err := chartutil.ChartValuesFromReferences(t.Context(), logr.Discard(), cluster(t), "shop", s.Values, s.ValuesFrom...)
	require.NoError(t, err)
	options := common.ReleaseOptions{Name: "web", Namespace: "shop", Revision: 1, IsInstall: true}
	if s.TargetNamespace != "" {
		options.Namespace, options.Name = s.TargetNamespace, s.TargetNamespace+"-web"
	}
	if s.ReleaseName != "" {
		options.Name = s.ReleaseName
	}
	options.Name = shortName(options.Name)
	require.NoError(t, releaseutil.ProcessDependencies(chart, values))
	all, err := util.ToRenderValues(chart, values, options, common.DefaultCapabilities)
	require.NoError(t, err)
	files, err := engine.Engine{}.Render(chart, all)
	require.NoError(t, err)
	manifests := strings.Join(slices.Collect(maps.Values(files)), "\n---\n")

	// Definitions are applied before, and no renderer sees them.
	out := objectsOf(t, []byte(postRendered(t, s, manifests)))
	if s.Install.CRDs != "Skip" {
		for _, crd := range chart.CRDObjects() {
			out = append(out, objectsOf(t, crd.File.Data)...)
		}
	}
	slices.Sort(out)
	return out
}

// cluster is a client of a cluster with the ConfigMap and the Secret of the repository.
func cluster(t *testing.T) client.Client {
	t.Helper()
	text, err := os.ReadFile("testdata/charts/values.yaml")
	require.NoError(t, err)
	documents := strings.Split(string(text), "---\n")
	config, secret := &corev1.ConfigMap{}, &corev1.Secret{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(documents[0]), config))
	require.NoError(t, yaml.UnmarshalStrict([]byte(documents[1]), secret))
	secret.Data = map[string][]byte{}
	for name, value := range secret.StringData { // As the API server does.
		secret.Data[name] = []byte(value)
	}
	return fake.NewClientBuilder().WithObjects(config, secret).Build()
}

// postRendered is what the renderers of a release make of its manifests: kustomizations in order, then
// the common metadata.
func postRendered(t *testing.T, s spec, manifests string) string {
	t.Helper()
	for _, renderer := range s.PostRenderers {
		files := filesys.MakeFsInMemory()
		k := renderer.Kustomize
		k.Resources = []string{"helm-output.yaml"}
		text, err := yaml.Marshal(k)
		require.NoError(t, err)
		require.NoError(t, files.WriteFile("helm-output.yaml", []byte(manifests)))
		require.NoError(t, files.WriteFile("kustomization.yaml", text))
		made, err := krusty.MakeKustomizer(&krusty.Options{LoadRestrictions: types.LoadRestrictionsNone, PluginConfig: types.DisabledPluginConfig()}).Run(files, ".")
		require.NoError(t, err)
		rendered, err := made.AsYaml()
		require.NoError(t, err)
		manifests = string(rendered)
	}
	if s.CommonMetadata == nil {
		return manifests
	}
	made, err := resmap.NewFactory(provider.NewDefaultDepProvider().GetResourceFactory()).NewResMapFromBytes([]byte(manifests))
	require.NoError(t, err)
	at := func(name string) []types.FieldSpec {
		return []types.FieldSpec{{Path: "metadata/" + name, CreateIfNotPresent: true}}
	}
	require.NoError(t, (&builtins.LabelTransformerPlugin{Labels: s.CommonMetadata.Labels, FieldSpecs: at("labels")}).Transform(made))
	require.NoError(t, (&builtins.AnnotationsTransformerPlugin{Annotations: s.CommonMetadata.Annotations, FieldSpecs: at("annotations")}).Transform(made))
	rendered, err := made.AsYaml()
	require.NoError(t, err)
	return string(rendered)
}

// objectsOf are the objects in YAML.
func objectsOf(t *testing.T, manifests []byte) []string {
	t.Helper()
	var out []string
	for _, document := range bytes.Split(append([]byte("\n"), manifests...), []byte("\n---\n")) {
		var object map[string]any
		require.NoError(t, yaml.Unmarshal(document, &object))
		if object != nil {
			out = append(out, text(t, object))
		}
	}
	return out
}

// renderedRelease are the objects that the command renders.
func renderedRelease(t *testing.T, command string, release map[string]any) []string {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.CopyFS(root, os.DirFS("testdata/charts")))
	data, err := yaml.Marshal(map[string]any{
		"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": map[string]any{"name": "web", "namespace": "shop"}, "spec": release,
	})
	require.NoError(t, err)
	data = append(data, "---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: fleet, namespace: shop}\nspec: {url: 'https://git.example.com/acme/fleet'}\n"...)
	require.NoError(t, os.WriteFile(filepath.Join(root, "release.yaml"), data, 0o600))
	var out, diagnostics bytes.Buffer
	c := exec.CommandContext(t.Context(), command, "render", "--unit", "HelmRelease/shop/web", "--format", "json", "--skip-schemas", "--repository-url", "https://git.example.com/acme/fleet", root) //nolint:gosec // the program under test
	c.Stdout, c.Stderr = &out, &diagnostics
	require.NoError(t, c.Run(), "%s", diagnostics.String())
	require.NotContains(t, diagnostics.String(), "not carried over")
	var list struct{ Items []map[string]any }
	require.NoError(t, json.Unmarshal(out.Bytes(), &list))
	objects := make([]string, 0, len(list.Items))
	for _, o := range list.Items {
		objects = append(objects, text(t, o))
	}
	slices.Sort(objects)
	return objects
}

// shortName is a name of at most 53 letters, which ends with a hash if it was longer.
func shortName(name string) string {
	if len(name) <= 53 {
		return name
	}
	return name[:40] + "-" + fmt.Sprintf("%x", sha256.Sum256([]byte(name)))[:12]
}
