// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	generator "github.com/fluxcd/pkg/kustomize"
	ssa "github.com/fluxcd/pkg/ssa/utils"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestUnitsAreWhatFluxBuilds: render --unit gives the objects that the kustomize-controller makes of
// the same Kustomization.
func TestUnitsAreWhatFluxBuilds(t *testing.T) {
	tests := map[string]string{
		"folder without a kustomization":  "{path: ./plain}",
		"folder with one":                 "{path: kustomize}",
		"namespace":                       "{path: ./kustomize, targetNamespace: other}",
		"namespace of a plain folder":     "{path: ./plain, targetNamespace: other}",
		"names":                           "{path: ./kustomize, namePrefix: a-, nameSuffix: -z}",
		"names of a plain folder":         "{path: ./plain, namePrefix: a-}",
		"names over those of the folder":  "{path: ./named, namePrefix: a-, targetNamespace: other}",
		"patch by its target":             "{path: ./kustomize, patches: [{target: {kind: Deployment, name: web}, patch: \"- op: replace\\n  path: /spec/replicas\\n  value: 5\"}]}",
		"patch by its name":               "{path: ./kustomize, patches: [{patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 3, template: {spec: {containers: [{name: box, image: other}]}}}}'}]}",
		"patch of a name with a prefix":   "{path: ./named, patches: [{patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 3}}'}]}",
		"patch with a selector":           "{path: ./kustomize, patches: [{target: {labelSelector: app=web}, patch: \"- op: add\\n  path: /metadata/annotations\\n  value: {a: b}\"}]}",
		"patch that deletes":              "{path: ./kustomize, patches: [{patch: '{$patch: delete, apiVersion: v1, kind: Service, metadata: {name: web}}', target: {kind: Service}}]}",
		"image":                           "{path: ./kustomize, images: [{name: nginx, newTag: '2'}, {name: busybox, newName: registry.example.com/box, digest: 'sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'}]}",
		"image of the folder, its tag":    "{path: ./named, images: [{name: nginx, newTag: '2'}]}",
		"image of the folder, its name":   "{path: ./named, images: [{name: nginx, newName: registry.example.com/nginx}]}",
		"component":                       "{path: ./kustomize, components: [../component]}",
		"component that is missing":       "{path: ./kustomize, components: [../component, ../none], ignoreMissingComponents: true}",
		"component of a plain folder":     "{path: ./plain/deep, components: [../../labels]}",
		"common metadata":                 "{path: ./kustomize, commonMetadata: {labels: {team: a, app: other}, annotations: {note: b}}}",
		"variables":                       "{path: ./variables, postBuild: {substitute: {name: one, empty: '', number: '5', lines: \"a\\nb\"}}}",
		"variables with defaults alone":   "{path: ./variables, postBuild: {substitute: {other: x}}}",
		"variables that are none":         "{path: ./variables, postBuild: {substitute: {}}}",
		"variables that are none, always": "{path: ./variables, postBuild: {substituteStrategy: Always}}",
		"variables and names":             "{path: ./variables, namePrefix: '${name}-', postBuild: {substitute: {name: one}}}",
		"all of it":                       "{path: ./named, targetNamespace: other, namePrefix: a-, nameSuffix: -z, images: [{name: nginx, newTag: '2'}], components: [../component], patches: [{target: {kind: Service}, patch: \"- op: add\\n  path: /metadata/annotations\\n  value: {a: '${name}'}\"}], commonMetadata: {labels: {team: a}}, postBuild: {substitute: {name: one}}}",
	}
	command := build(t)
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		t.Run(name, func(t *testing.T) {
			unit := kustomization(t, tests[name])
			want, err := built(t, unit)
			require.NoError(t, err)
			require.Equal(t, want, rendered(t, command, unit))
		})
	}
}

// kustomization is the object with a spec.
func kustomization(t *testing.T, spec string) unstructured.Unstructured {
	t.Helper()
	var out unstructured.Unstructured
	require.NoError(t, yaml.Unmarshal([]byte(`{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: web, namespace: flux-system}, spec: `+spec+`}`), &out.Object))
	out.Object["spec"].(map[string]any)["sourceRef"] = map[string]any{"kind": "GitRepository", "name": "flux-system"}
	return out
}

// built are the objects that the controller builds, in its order of steps (kustomize-controller
// v1.9.5, internal/controller/kustomization_controller.go, build and apply).
func built(t *testing.T, unit unstructured.Unstructured) ([]string, error) {
	t.Helper()
	return builtIn(t, fleet(t), unit)
}

// builtIn are those of a repository in a folder, which is left as it was.
func builtIn(t *testing.T, root string, unit unstructured.Unstructured) ([]string, error) {
	t.Helper()
	folder, _, _ := unstructured.NestedString(unit.Object, "spec", "path")
	dir := filepath.Join(root, folder)
	action, err := generator.NewGenerator(root, unit).WriteFile(dir)
	if err != nil {
		return nil, err
	}
	defer func() { require.NoError(t, generator.CleanDirectory(dir, action)) }()
	resources, err := generator.SecureBuild(root, dir, false)
	if err != nil {
		return nil, err
	}
	postBuild, substitutes, _ := unstructured.NestedMap(unit.Object, "spec", "postBuild")
	var objects []*unstructured.Unstructured
	for _, resource := range resources.Resources() {
		if substitutes {
			always := postBuild["substituteStrategy"] == "Always"
			if _, err := generator.SubstituteVariables(context.Background(), nil, unit, resource, generator.SubstituteWithAlways(always)); err != nil {
				return nil, err
			}
		}
		data, err := resource.AsYAML() // As the controller, which changes some folded texts.
		if err != nil {
			return nil, err
		}
		object := map[string]any{}
		if err := yaml.Unmarshal(data, &object); err != nil {
			return nil, err
		}
		objects = append(objects, &unstructured.Unstructured{Object: object})
	}
	if _, common, _ := unstructured.NestedMap(unit.Object, "spec", "commonMetadata"); common {
		labels, _, _ := unstructured.NestedStringMap(unit.Object, "spec", "commonMetadata", "labels")
		annotations, _, _ := unstructured.NestedStringMap(unit.Object, "spec", "commonMetadata", "annotations")
		ssa.SetCommonMetadata(objects, labels, annotations)
	}
	out := make([]string, 0, len(objects))
	for _, o := range objects {
		out = append(out, text(t, o.Object))
	}
	slices.Sort(out)
	return out, nil
}

// rendered are the objects that the command renders.
func rendered(t *testing.T, command string, unit unstructured.Unstructured) []string {
	t.Helper()
	root := fleet(t)
	data, err := yaml.Marshal(unit.Object)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(root, "clusters"), 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(root, "clusters", "web.yaml"), data, 0o600))
	var out, diagnostics bytes.Buffer
	c := exec.CommandContext(t.Context(), command, "render", "--unit", "Kustomization/flux-system/web", "--format", "json", "--skip-schemas", root) //nolint:gosec // the program under test
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
	require.NotEmpty(t, objects)
	return objects
}

// text is an object as YAML, without the annotation of the render.
func text(t *testing.T, object map[string]any) string {
	t.Helper()
	unstructured.RemoveNestedField(object, "metadata", "annotations", "ropewalk.dev/rendered-by")
	if annotations, found, _ := unstructured.NestedMap(object, "metadata", "annotations"); found && len(annotations) == 0 {
		unstructured.RemoveNestedField(object, "metadata", "annotations")
	}
	data, err := yaml.Marshal(object)
	require.NoError(t, err)
	return string(data)
}

// fleet is a copy of the repository.
func fleet(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.CopyFS(root, os.DirFS("testdata/fleet")))
	return root
}

// build is the command of ROPEWALK_BIN, or one built from this tree.
func build(t *testing.T) string {
	t.Helper()
	if binary := os.Getenv("ROPEWALK_BIN"); binary != "" {
		return binary
	}
	binary := filepath.Join(t.TempDir(), "ropewalk")
	for _, name := range []string{"", "-components"} {
		c := exec.CommandContext(t.Context(), "go", "build", "-o", binary+name, "./cmd/ropewalk"+name) //nolint:gosec // names of this tree
		c.Dir = "../.."
		c.Env = append(os.Environ(), "CGO_ENABLED=0")
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	return binary
}
