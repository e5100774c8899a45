// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"github.com/argoproj/gitops-engine/pkg/health"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// shippedChecks are those of the component health.
const shippedChecks = "../../deploy/argocd/health/argocd-cm.yaml"

// furtherKinds are those whose checks --argocd-cm writes exactly, and the component lacks.
const furtherKinds = `
apiVersion: apps/v1,                      kind: ReplicaSet
apiVersion: v1,                           kind: Pod
apiVersion: v1,                           kind: Service
apiVersion: networking.k8s.io/v1,         kind: Ingress
apiVersion: autoscaling/v2,               kind: HorizontalPodAutoscaler
apiVersion: apiregistration.k8s.io/v1,    kind: APIService
apiVersion: apiextensions.k8s.io/v1,      kind: CustomResourceDefinition
apiVersion: external-secrets.io/v1alpha1, kind: PushSecret
`

// moduleDir is the folder of a module of the build list.
func moduleDir(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	require.NoError(t, err)
	return strings.TrimSpace(string(out))
}

// overrides are the health checks of a ConfigMap argocd-cm, as Argo CD reads them.
func overrides(t *testing.T, file string) lua.ResourceHealthOverrides {
	t.Helper()
	data, err := os.ReadFile(file) //nolint:gosec // of the tree, or of the test
	require.NoError(t, err)
	var cm struct{ Data map[string]string }
	require.NoError(t, yaml.Unmarshal(data, &cm))
	out := lua.ResourceHealthOverrides{}
	for key, script := range cm.Data {
		kind, ok := strings.CutPrefix(key, "resource.customizations.health.")
		require.True(t, ok, key)
		out[strings.Replace(kind, "_", "/", 1)] = v1alpha1.ResourceOverride{HealthLua: script}
	}
	require.NotEmpty(t, out)
	return out
}

// writtenChecks are what ropewalk render --argocd-cm writes for furtherKinds.
func writtenChecks(t *testing.T) lua.ResourceHealthOverrides {
	t.Helper()
	dir := t.TempDir()
	var text strings.Builder
	text.WriteString("package m\nropewalk: apiVersion: \"v1alpha1\"\ninput: {}\n")
	for i, line := range strings.Split(strings.TrimSpace(furtherKinds), "\n") {
		version, kind, _ := strings.Cut(line, ",")
		fmt.Fprintf(&text, "graph: nodes: n%d: {object: {%q: %q, %q: %q, metadata: {name: \"a.b.c\"}}, readyWhen: [{type: \"Exists\"}]}\n", i,
			"apiVersion", strings.TrimPrefix(version, "apiVersion: "), "kind", strings.TrimPrefix(strings.TrimSpace(kind), "kind: "))
	}
	spec := "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: kinds}\nspec: {cueRef: {type: path, ref: ./m}}\n"
	require.NoError(t, os.Mkdir(filepath.Join(dir, "m"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "m", "m.cue"), []byte(text.String()), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kinds.yaml"), []byte(spec), 0o600))
	file := filepath.Join(dir, "argocd-cm.yaml")
	c := exec.CommandContext(t.Context(), installed(t).ropewalk, "render", dir, "--dialect", "argocd", "-n", "shop", //nolint:gosec // the command under test
		"-o", filepath.Join(dir, "out"), "--argocd-cm", file, "--skip-schemas")
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return overrides(t, file)
}

// fixtures are the objects by which Argo CD tests its own health checks, by file.
func fixtures(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	argo, engine := moduleDir(t, "github.com/argoproj/argo-cd/v3"), moduleDir(t, "github.com/argoproj/gitops-engine")
	files, err := filepath.Glob(filepath.Join(engine, "pkg", "health", "testdata", "*.yaml"))
	require.NoError(t, err)
	tests, err := filepath.Glob(filepath.Join(argo, "resource_customizations", "*", "*", "health_test.yaml"))
	require.NoError(t, err)
	for _, test := range tests {
		data, err := os.ReadFile(test) //nolint:gosec // of the module
		require.NoError(t, err)
		var rows struct{ Tests []struct{ InputPath string } }
		require.NoError(t, yaml.Unmarshal(data, &rows))
		for _, row := range rows.Tests {
			files = append(files, filepath.Join(filepath.Dir(test), row.InputPath))
		}
	}
	out := map[string]*unstructured.Unstructured{}
	for _, file := range files {
		data, err := os.ReadFile(file) //nolint:gosec // of the module
		require.NoError(t, err)
		object := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal(data, object))
		out[strings.TrimPrefix(strings.TrimPrefix(file, argo+"/resource_customizations/"), filepath.Dir(filepath.Dir(engine)))] = object
	}
	return out
}

// TestHealthWithoutARuleIsThatOfArgoCD runs our checks and those of Argo CD in its own
// engine and Lua VM, over every object by which Argo CD tests its checks of these kinds,
// and over each of them with a field less or with a condition turned. It prints the table.
func TestHealthWithoutARuleIsThatOfArgoCD(t *testing.T) {
	ours, all := overrides(t, shippedChecks), fixtures(t)
	maps.Copy(ours, writtenChecks(t))
	phases := clusterPhases(t)
	seen, objects, changed := map[string]int{}, 0, 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		object := all[name]
		kind := lua.GetConfigMapKey(object.GroupVersionKind())
		if ours[kind].HealthLua == "" {
			continue
		}
		want, err := health.GetResourceHealth(object, lua.ResourceHealthOverrides{})
		require.NoError(t, err, name)
		require.NotNil(t, want, name)
		got, err := health.GetResourceHealth(object, ours)
		require.NoError(t, err, name)
		t.Logf("%-46s %-38s ours %-12s Argo CD %-12s %s", kind, filepath.Base(name), got.Status, want.Status, want.Message)
		same(t, want, got, kind, name)
		seen[kind]++
		objects++
		for what, mutant := range mutants(object, phases) {
			want, err := health.GetResourceHealth(mutant, lua.ResourceHealthOverrides{})
			if err != nil {
				continue // Its own check fails, of which there is nothing to keep.
			}
			got, err := health.GetResourceHealth(mutant, ours)
			require.NoError(t, err, "%s without %s", name, what)
			same(t, want, got, kind, name+" without "+what)
			changed++
		}
	}
	for kind := range ours {
		// Argo CD has no object for the first, and no check for the others.
		if !slices.Contains([]string{
			"apps/ReplicaSet", "redis.redis.opstreelabs.in/Redis", "http.keda.sh/InterceptorRoute",
			"gateway.envoyproxy.io/BackendTrafficPolicy", "gateway.envoyproxy.io/SecurityPolicy",
		}, kind) {
			require.NotZero(t, seen[kind], kind)
		}
	}
	require.Greater(t, changed, 500)
	t.Logf("%d kinds, %d objects and %d changed ones have the same health", len(seen), objects, changed)
}

// same wants two equal results. From Argo CD 3.5 on, which ours follows, an autoscaler
// whose metric fails is Degraded, whatever its other conditions say.
func same(t *testing.T, want, got *health.HealthStatus, kind, name string) {
	t.Helper()
	if kind == "autoscaling/HorizontalPodAutoscaler" && want.Status != got.Status {
		require.Equal(t, health.HealthStatusDegraded, got.Status, name)
		return
	}
	require.Equal(t, want, got, name)
}

// clusterPhases are those that Argo CD knows of a Cluster of CloudNativePG, and another.
func clusterPhases(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(moduleDir(t, "github.com/argoproj/argo-cd/v3"), "resource_customizations/postgresql.cnpg.io/Cluster/health.lua"))
	require.NoError(t, err)
	out := []string{"no such phase"}
	for _, m := range regexp.MustCompile(`\["([^"]+)"\] = "`).FindAllStringSubmatch(string(data), -1) {
		out = append(out, m[1])
	}
	require.Greater(t, len(out), 15)
	return out
}

// TestTheKindsThatArgoCDChecksAreKnown: a check of ours stands in front of one of theirs,
// of which the render warns.
func TestTheKindsThatArgoCDChecksAreKnown(t *testing.T) {
	data, err := os.ReadFile("../../render/emit/lua/kinds.txt")
	require.NoError(t, err)
	known := strings.Fields(string(data))
	checks, err := filepath.Glob(filepath.Join(moduleDir(t, "github.com/argoproj/argo-cd/v3"), "resource_customizations", "*", "*", "health.lua"))
	require.NoError(t, err)
	require.Greater(t, len(checks), 200)
	for _, file := range checks {
		name := filepath.Base(filepath.Dir(filepath.Dir(file))) + "/" + filepath.Base(filepath.Dir(file))
		require.True(t, slices.ContainsFunc(known, func(pattern string) bool {
			ok, err := path.Match(pattern, strings.ReplaceAll(name, "_", "x"))
			return ok && err == nil
		}), name)
	}
}

// mutants are copies of an object, each without one field or item of its status,
// specification and annotations, or with another status of a condition.
// Those of a Cluster have each phase that Argo CD knows.
func mutants(object *unstructured.Unstructured, phases []string) map[string]*unstructured.Unstructured {
	out := map[string]*unstructured.Unstructured{}
	var walk func(path []string, at any, set func(copied *unstructured.Unstructured, steps []string, value any))
	walk = func(path []string, at any, set func(*unstructured.Unstructured, []string, any)) {
		switch at := at.(type) {
		case map[string]any:
			for k, v := range at {
				walk(append(slices.Clone(path), k), v, set)
			}
		case []any:
			for i, v := range at {
				walk(append(slices.Clone(path), fmt.Sprint(i)), v, set)
			}
		}
		for _, value := range []any{nil, "True", "False", "Unknown"} {
			if value != nil && path[len(path)-1] != "status" || value == at || len(path) < 2 && value != nil {
				continue
			}
			copied := object.DeepCopy()
			set(copied, path, value)
			out[fmt.Sprintf("%s (%v)", strings.Join(path, "."), value)] = copied
		}
	}
	for _, top := range []string{"status", "spec"} {
		if at, ok := object.Object[top]; ok && (top == "status" || object.GetKind() != "CustomResourceDefinition") {
			walk([]string{top}, at, change)
		}
	}
	for key := range object.GetAnnotations() {
		copied := object.DeepCopy()
		change(copied, []string{"metadata", "annotations", key}, nil)
		out["annotation "+key] = copied
	}
	if object.GetKind() == "Cluster" {
		for _, phase := range phases {
			copied := object.DeepCopy()
			change(copied, []string{"status", "phase"}, phase)
			change(copied, []string{"status", "conditions"}, []any{})
			out["phase "+phase] = copied
		}
	}
	later := object.DeepCopy()
	later.SetGeneration(object.GetGeneration() + 1)
	out["an older generation"] = later
	return out
}

// change sets the value at a path, and removes it where the value is nil.
func change(object *unstructured.Unstructured, path []string, value any) {
	var at any = object.Object
	for i, step := range path {
		last := i == len(path)-1
		switch in := at.(type) {
		case map[string]any:
			if last && value == nil {
				delete(in, step)
			} else if last {
				in[step] = value
			}
			at = in[step]
		case []any:
			var index int
			_, _ = fmt.Sscan(step, &index)
			if last {
				in[index] = map[string]any{} // An item is emptied: the others keep their places.
			}
			at = in[index]
		}
	}
}

// TestHealthWithARuleKeepsWhatTheProviderSays in the VM of Argo CD.
func TestHealthWithARuleKeepsWhatTheProviderSays(t *testing.T) {
	ours, all := overrides(t, shippedChecks), fixtures(t)
	kept := 0
	for name, object := range all {
		if object.GroupVersionKind().Group != "external-secrets.io" || ours[lua.GetConfigMapKey(object.GroupVersionKind())].HealthLua == "" {
			continue
		}
		own, err := health.GetResourceHealth(object, lua.ResourceHealthOverrides{})
		require.NoError(t, err)
		for rule, want := range map[string]health.HealthStatusCode{"true": health.HealthStatusHealthy, "false": health.HealthStatusProgressing} {
			ruled := object.DeepCopy()
			ruled.SetAnnotations(map[string]string{"ropewalk.dev/ready-when": rule})
			got, err := health.GetResourceHealth(ruled, ours)
			require.NoError(t, err, name)
			if rule == "false" && own.Status == health.HealthStatusDegraded {
				want = own.Status
			}
			require.Equal(t, want, got.Status, "%s: %s", name, got.Message)
			require.Contains(t, got.Message, own.Message, name)
			kept++
		}
	}
	require.GreaterOrEqual(t, kept, 14)
}
