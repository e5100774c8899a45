// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/reposerver/apiclient"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// fleetURL is the URL by which Applications name the repository of the test.
const fleetURL = "https://git.example.com/acme/fleet"

// TestUnitsAreWhatTheRepoServerRenders: render --unit gives the objects that the repo-server makes of
// the same Application. Set aside are
//   - the annotations by which Argo CD tracks its objects, and the annotation of Ropewalk;
//   - the annotations of Helm's hooks, which a render follows by its order, and the tests of a chart,
//     which Argo CD never applies;
//   - the namespace of objects that name none: the controller sets that of the destination when it
//     applies them, and render prints it.
func TestUnitsAreWhatTheRepoServerRenders(t *testing.T) {
	tests := map[string]string{
		"chart":                               "{path: chart}",
		"chart with values files":             "{path: chart, helm: {valueFiles: [values-prod.yaml, /shared/values.yaml]}}",
		"chart with values in a text":         "{path: chart, helm: {valueFiles: [values-prod.yaml], values: \"color: blue\\nnested: {a: null, c: 3}\\n\"}}",
		"chart with values in an object":      "{path: chart, helm: {values: \"color: blue\", valuesObject: {color: red, nested: {a: x}}}}",
		"chart with parameters":               "{path: chart, helm: {valuesObject: {color: red}, parameters: [{name: color, value: blue}, {name: nested.a, value: \"True\"}, {name: nested.b, value: \"1.5\"}, {name: nested.c, value: \"007\"}, {name: nested.d, value: \"12\", forceString: true}, {name: nested.e, value: \"12\"}]}}",
		"chart with parameters of lists":      "{path: chart, helm: {parameters: [{name: 'keyed\\.name', value: dotted}, {name: color, value: 'a,b'}, {name: nested.a, value: '{x,y}'}]}}",
		"chart with large numbers":            "{path: chart, helm: {parameters: [{name: color, value: '1000000'}, {name: nested.a, value: '12345678901234567'}, {name: nested.b, value: '1000000', forceString: true}, {name: nested.d, value: '-5'}]}}",
		"chart with elements of lists":        "{path: chart, helm: {valuesObject: {nested: {a: [x, y]}}, parameters: [{name: 'nested.a[1]', value: '1000000'}, {name: 'nested.b[0].c', value: z}]}}",
		"chart with parameters that are null": "{path: chart, helm: {parameters: [{name: nested.a, value: 'null'}, {name: color, value: ''}]}}",
		"chart with variables":                "{path: chart, helm: {valueFiles: [values-$ARGOCD_APP_NAME.yaml], ignoreMissingValueFiles: true, parameters: [{name: color, value: $ARGOCD_APP_NAME}, {name: nested.a, value: '${ARGOCD_APP_NAMESPACE}-$ARGOCD_APP_SOURCE_PATH'}]}}",
		"chart with files as parameters":      "{path: chart, helm: {fileParameters: [{name: color, path: files/color.txt}]}}",
		"chart with a name":                   "{path: chart, helm: {releaseName: other, namespace: elsewhere}}",
		"chart without definitions":           "{path: chart, helm: {skipCrds: true}}",
		"chart without tests":                 "{path: chart, helm: {skipTests: true}}",
		"chart with missing values files":     "{path: chart, helm: {ignoreMissingValueFiles: true, valueFiles: [none.yaml, values-prod.yaml]}}",
		"chart for another cluster":           "{path: chart, helm: {kubeVersion: 1.30.2, apiVersions: [example.com/v1, example.com/v1/Gadget]}}",
		"kustomization":                       "{path: kustomize}",
		"kustomization with names":            "{path: kustomize, kustomize: {namePrefix: a-, nameSuffix: -z, namespace: other}}",
		"kustomization with images":           "{path: kustomize, kustomize: {images: ['nginx:2.0', 'busybox=registry.example.com/box:3@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'registry.example.com:5000/tool=other']}}",
		"kustomization with an image alone":   "{path: kustomize, kustomize: {images: ['nginx=registry.example.com/nginx']}}",
		"kustomization with labels":           "{path: kustomize, kustomize: {commonLabels: {team: a}, commonAnnotations: {note: b, app: $ARGOCD_APP_NAME}, commonAnnotationsEnvsubst: true}}",
		"kustomization with labels alone":     "{path: kustomize, kustomize: {commonLabels: {team: a}, labelWithoutSelector: true}}",
		"kustomization with labels in pods":   "{path: kustomize, kustomize: {commonLabels: {team: a}, labelWithoutSelector: true, labelIncludeTemplates: true}}",
		"kustomization with patches":          "{path: kustomize, kustomize: {patches: [{target: {kind: Deployment}, patch: \"- op: replace\\n  path: /spec/replicas\\n  value: 5\"}, {patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {b: c}}'}]}}",
		"kustomization with replicas":         "{path: kustomize, kustomize: {replicas: [{name: web, count: 4}]}}",
		"kustomization with names of its own": "{path: named, kustomize: {namePrefix: a-, namespace: other, images: ['nginx=registry.example.com/nginx:2']}}",
		"source with a file beside it":        "{path: written, kustomize: {namePrefix: a-, images: ['nginx:3']}}",
		"kustomization with components":       "{path: kustomize, kustomize: {components: [../component]}}",
		"kustomization without a component":   "{path: kustomize, kustomize: {components: [../component, ../none], ignoreMissingComponents: true}}",
		"folder":                              "{path: plain}",
		"folder with folders":                 "{path: plain, directory: {recurse: true}}",
		"folder with a pattern":               "{path: plain, directory: {recurse: true, include: '{a,sub/*}.yaml'}}",
		"folder with a pattern of no slash":   "{path: plain, directory: {recurse: true, include: '*.json'}}",
		"folder without some":                 "{path: plain, directory: {recurse: true, exclude: 'sub/*'}}",
		"folder with both":                    "{path: plain, directory: {recurse: true, include: '*.yaml', exclude: '{c,sub/deep/*}.yaml'}}",
	}
	r, root := newUnits(t)
	repo := commit(t, root)
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		t.Run(name, func(t *testing.T) {
			source := v1alpha1.ApplicationSource{}
			require.NoError(t, yaml.UnmarshalStrict([]byte(tests[name]), &source))
			source.RepoURL = fleetURL
			want, err := r.client.GenerateManifest(t.Context(), request(repo, &source))
			require.NoError(t, err)
			require.Equal(t, objectsOf(t, want.Manifests, "shop"), r.programs.unit(t, root, "source: "+sourceText(t, source)))
		})
	}
}

// TestUnitsOfSeveralSourcesAreWhatTheRepoServerRenders: values of the source with a ref.
func TestUnitsOfSeveralSourcesAreWhatTheRepoServerRenders(t *testing.T) {
	r, root := newUnits(t)
	repo := commit(t, root)
	chart := v1alpha1.ApplicationSource{RepoURL: fleetURL, Path: "chart", Helm: &v1alpha1.ApplicationSourceHelm{ValueFiles: []string{"values-prod.yaml", "$values/shared/values.yaml"}}}
	plain := v1alpha1.ApplicationSource{RepoURL: fleetURL, Path: "plain"}
	values := v1alpha1.ApplicationSource{RepoURL: fleetURL, Ref: "values", TargetRevision: "main"}
	var manifests []string
	for _, source := range []*v1alpha1.ApplicationSource{&chart, &plain} {
		q := request(repo, source)
		q.HasMultipleSources = true
		q.RefSources = map[string]*v1alpha1.RefTarget{"$values": {Repo: *repo.file(), TargetRevision: "main"}}
		answer, err := r.client.GenerateManifest(t.Context(), q)
		require.NoError(t, err)
		manifests = append(manifests, answer.Manifests...)
	}
	text := "sources: [" + sourceText(t, chart) + ", " + sourceText(t, plain) + ", " + sourceText(t, values) + "]"
	require.Equal(t, objectsOf(t, manifests, "shop"), r.programs.unit(t, root, text))
}

// newUnits starts a repo-server with Helm and kustomize, and returns the files of a repository.
func newUnits(t *testing.T) (*rig, string) {
	t.Helper()
	r := newRig(t)
	tools := filepath.Join(r.dir, "tools")
	require.NoError(t, compile("../e2e/helm", filepath.Join(tools, "helm"), "helm.sh/helm/v3/cmd/helm"))
	require.NoError(t, compile("../kustomize", filepath.Join(tools, "kustomize"), "sigs.k8s.io/kustomize/kustomize/v5"))
	require.NoError(t, compile("../..", filepath.Join(filepath.Dir(r.programs.ropewalk), "ropewalk-components"), "./cmd/ropewalk-components"))
	root := t.TempDir()
	require.NoError(t, os.CopyFS(root, os.DirFS("testdata/units")))
	return r, root
}

// request asks for the objects of a source of the Application web.
func request(repo repository, source *v1alpha1.ApplicationSource) *apiclient.ManifestRequest {
	return &apiclient.ManifestRequest{
		Repo: repo.file(), Revision: "main", ApplicationSource: source, AppName: "web", Namespace: "shop",
		NoCache: true, NoRevisionCache: true, KubeVersion: "v1.36.0", ApiVersions: []string{"v1", "apps/v1"},
		TrackingMethod: "annotation", AppLabelKey: "app.kubernetes.io/instance", InstallationID: "test",
		ProjectName: "default", ProjectSourceRepos: []string{"*"},
		// The command renders what Argo CD can be allowed to.
		KustomizeOptions: &v1alpha1.KustomizeOptions{BuildOptions: "--load-restrictor LoadRestrictionsNone"},
	}
}

// sourceText is a source as it is written.
func sourceText(t *testing.T, source v1alpha1.ApplicationSource) string { return encoded(t, source) }

// unit renders the Application web with sources.
func (p programs) unit(t *testing.T, root, sources string) []string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(root)))
	write(t, dir, map[string]string{"argocd/web.yaml": `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web, namespace: argocd}
spec:
  project: default
  destination: {namespace: shop, server: https://kubernetes.default.svc}
  ` + sources + "\n"})
	var out, diagnostics bytes.Buffer
	c := exec.CommandContext(t.Context(), p.ropewalk, "render", "--unit", "Application/argocd/web", "--format", "json", "--skip-schemas", //nolint:gosec // the program under test
		"--repository-url", fleetURL, "--kube-version", "1.36.0", dir)
	c.Stdout, c.Stderr = &out, &diagnostics
	require.NoError(t, c.Run(), "%s", diagnostics.String())
	require.Empty(t, diagnostics.String(), "nothing is left out")
	var list struct{ Items []json.RawMessage }
	require.NoError(t, json.Unmarshal(out.Bytes(), &list))
	manifests := make([]string, 0, len(list.Items))
	for _, item := range list.Items {
		manifests = append(manifests, string(item))
	}
	return objectsOf(t, manifests, "shop")
}

// objectsOf are objects as sorted YAML, without what is set aside. Those without a namespace are in
// the given one.
func objectsOf(t *testing.T, manifests []string, namespace string) []string {
	t.Helper()
	out := make([]string, 0, len(manifests))
	for _, text := range manifests {
		var object map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &object))
		meta := object["metadata"].(map[string]any)
		if hook, _, _ := unstructured.NestedString(object, "metadata", "annotations", "helm.sh/hook"); hook == "test" {
			continue
		}
		if annotations, ok := meta["annotations"].(map[string]any); ok {
			for _, stamp := range []string{"argocd.argoproj.io/tracking-id", "argocd.argoproj.io/installation-id", "ropewalk.dev/rendered-by", "helm.sh/hook", "helm.sh/hook-weight"} {
				delete(annotations, stamp)
			}
			if len(annotations) == 0 {
				delete(meta, "annotations")
			}
		}
		if _, named := meta["namespace"]; !named && object["kind"] != "CustomResourceDefinition" {
			meta["namespace"] = namespace
		}
		data, err := yaml.Marshal(object)
		require.NoError(t, err)
		out = append(out, string(data))
	}
	slices.Sort(out)
	require.NotEmpty(t, out)
	return out
}
