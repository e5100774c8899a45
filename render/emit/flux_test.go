// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package emit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// crd validates as an API server does: schema, unknown fields and CEL.
type crd struct {
	schema    *schema.Structural
	validator validation.SchemaValidator
	rules     *cel.Validator
}

func loadCRD(t *testing.T, name string) crd {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "crds", name))
	require.NoError(t, err)
	var in apiextensionsv1.CustomResourceDefinition
	var tree map[string]any
	require.NoError(t, yaml.Unmarshal(data, &tree))
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(tree, &in))
	for _, v := range in.Spec.Versions {
		if v.Name != "v1" {
			continue
		}
		var props apiextensions.JSONSchemaProps
		require.NoError(t, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, &props, nil))
		s, err := schema.NewStructural(&props)
		require.NoError(t, err)
		validator, _, err := validation.NewSchemaValidator(&props)
		require.NoError(t, err)
		return crd{s, validator, cel.NewValidator(s, true, 1_000_000)}
	}
	require.FailNow(t, "no version v1", name)
	return crd{}
}

func (c crd) accepts(t *testing.T, o object.Object) {
	t.Helper()
	data := map[string]any(o.Clone())
	require.Empty(t, validation.ValidateCustomResource(nil, data, c.validator))
	errs, _ := c.rules.Validate(t.Context(), nil, c.schema, data, nil, 1_000_000)
	require.Empty(t, errs)
	require.Empty(t, pruning.PruneWithOptions(data, c.schema, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}))
}

func delivered(t *testing.T, p *order.Plan, change ...func(*emit.Options)) (map[string]object.Object, emit.Output) {
	t.Helper()
	opts := emit.Options{Dialect: dialect.Flux, Name: "shop", Repository: "oci://registry.example/team/shop"}
	for _, c := range change {
		c(&opts)
	}
	out, err := emit.Write(p, opts)
	require.NoError(t, err)
	return read(t, out), out
}

func TestFluxObjectsPassTheirDefinitions(t *testing.T) {
	kustomizations, sources := loadCRD(t, "kustomize.toolkit.fluxcd.io_kustomizations.yaml"), loadCRD(t, "source.toolkit.fluxcd.io_ocirepositories.yaml")
	for _, reference := range []string{"", "1.2.3", "sha256:" + strings.Repeat("a", 64)} {
		files, _ := delivered(t, shop(), func(o *emit.Options) { o.Reference, o.Interval = reference, 90*time.Minute })
		seen := 0
		for path, o := range files {
			switch {
			case strings.HasPrefix(path, "flux/kustomization-"):
				kustomizations.accepts(t, o)
				require.Equal(t, "1h30m", o.Text("spec", "interval"))
				seen++
			case strings.HasPrefix(path, "flux/ocirepository-"):
				sources.accepts(t, o)
				seen++
			}
		}
		require.Equal(t, 4, seen)
	}
}

func TestLayersAreChainedAndShareOneSource(t *testing.T) {
	files, out := delivered(t, shop(), func(o *emit.Options) { o.FluxNamespace, o.Reference = "gitops", "sha256:abc" })
	source := files["flux/ocirepository-shop.yaml"]
	require.Equal(t, map[string]any{"digest": "sha256:abc"}, source.Map("spec", "ref"))
	for i, layer := range out.Layers {
		k := files["flux/kustomization-"+layer.Name+".yaml"]
		require.Equal(t, layer.Name, k.Name())
		require.Equal(t, "gitops", k.Namespace())
		require.Equal(t, "./"+layer.Dir, k.Text("spec", "path"))
		require.Equal(t, map[string]any{"kind": "OCIRepository", "name": source.Name()}, k.Map("spec", "sourceRef"))
		require.Equal(t, true, k.Get("spec", "prune"))
		require.Equal(t, false, k.Get("spec", "wait"))
		for _, unset := range []string{"patches", "postBuild", "images", "targetNamespace"} {
			require.NotContains(t, k.Map("spec"), unset)
		}
		if i == 0 {
			require.Empty(t, k.List("spec", "dependsOn"))
			continue
		}
		require.Equal(t, []any{map[string]any{"name": out.Layers[i-1].Name}}, k.List("spec", "dependsOn"))
	}
}

func TestTheDeliveryObjectsAreInNoLayer(t *testing.T) {
	_, out := delivered(t, shop())
	for _, f := range out.Files {
		layered := strings.HasPrefix(f.Path, "layer-")
		require.Equal(t, layered, f.Node != "", f.Path)
		require.Equal(t, !layered, strings.HasPrefix(f.Path, emit.DeliveryDir+"/"), f.Path)
	}
}

func TestOnlyWhatGatesOrHasARuleIsWaitedFor(t *testing.T) {
	p := shop()
	p.Blocking = map[object.ID]bool{"shop/deployment-api": true}
	files, _ := delivered(t, p)
	require.Equal(t, []string{"StatefulSet db"}, checked(files["flux/kustomization-shop-00.yaml"]))
	require.Equal(t, []string{"Deployment api", "Deployment web", "Widget big"}, checked(files["flux/kustomization-shop-01.yaml"]))
	require.Empty(t, checked(files["flux/kustomization-shop-02.yaml"]))
}

func checked(k object.Object) []string {
	var out []string
	for _, c := range k.List("spec", "healthChecks") {
		m := object.Object(c.(map[string]any))
		out = append(out, m.Kind()+" "+m.Text("name"))
	}
	return out
}

// current is the expression of the one kind in the one layer of p.
func current(t *testing.T, p *order.Plan) (string, []string) {
	t.Helper()
	files, out := delivered(t, p)
	exprs := files["flux/kustomization-shop-00.yaml"].List("spec", "healthCheckExprs")
	require.Len(t, exprs, 1)
	return object.Object(exprs[0].(map[string]any)).Text("current"), warnings(out)
}

func named(name, namespace string, status map[string]any) map[string]any {
	return map[string]any{"metadata": map[string]any{"name": name, "namespace": namespace}, "spec": map[string]any{"replicas": int64(1)}, "status": status}
}

func TestDifferentRulesOfOneKindAreToldApartByName(t *testing.T) {
	widget := func(name, namespace string, change ...func(*object.Node)) *object.Node {
		n := node(name, "Widget.example.com/v1", namespace, change...)
		n.ID = object.MakeID(namespace, name)
		return n
	}
	text, found := current(t, one(widget("a", "shop", celRule("status.x == 1"))))
	require.Equal(t, "has(status.x) && status.x == 1", text, "one rule needs no names")
	require.Empty(t, found)

	text, _ = current(t, planOf([]*object.Node{
		widget("a", "shop", celRule("status.x == 1")), widget("b", "shop", celRule("status.x == 1")), widget("c", "shop", celRule("status.y")),
		widget("a", "other", celRule("status.y")),
	}))
	env := fluxEnv(t)
	for _, row := range []struct {
		name, namespace string
		status          map[string]any
		want            bool
	}{
		{"a", "shop", map[string]any{"x": int64(1)}, true}, {"a", "shop", map[string]any{"y": true}, false},
		{"b", "shop", map[string]any{"x": int64(1)}, true}, {"c", "shop", map[string]any{"y": true}, true},
		{"c", "shop", map[string]any{"x": int64(1)}, false}, {"a", "other", map[string]any{"y": true}, true}, {"a", "other", map[string]any{"x": int64(1)}, false},
	} {
		got, ok := evaluate(t, env, text, named(row.name, row.namespace, row.status))
		require.True(t, ok, "%s\n%v", text, row)
		require.Equal(t, row.want, got, "%s\n%v", text, row)
	}
}

func TestAGatingNodeWithoutARuleKeepsTheHealthOfItsKind(t *testing.T) {
	p := planOf([]*object.Node{node("a", "Deployment.apps/v1", "shop", celRule("status.x")), node("b", "Deployment.apps/v1", "shop")},
		[]*object.Node{node("c", "ConfigMap/v1", "shop")})
	text, found := current(t, p)
	require.Empty(t, found)
	env := fluxEnv(t)
	available := map[string]any{"observedGeneration": int64(1), "replicas": int64(1), "updatedReplicas": int64(1), "availableReplicas": int64(1),
		"conditions": []any{map[string]any{"type": "Available", "status": "True"}}}
	for _, row := range []struct {
		name   string
		status map[string]any
		want   bool
	}{{"a", map[string]any{"x": true}, true}, {"a", available, false}, {"b", available, true}, {"b", map[string]any{"x": true}, false}} {
		got, ok := evaluate(t, env, text, named(row.name, "shop", row.status))
		require.True(t, ok, text)
		require.Equal(t, row.want, got, "%s\n%v", text, row)
	}

	p = planOf([]*object.Node{node("a", "Widget.example.com/v1", "shop", celRule("status.x")), node("b", "Widget.example.com/v1", "shop")},
		[]*object.Node{node("c", "ConfigMap/v1", "shop")})
	_, found = current(t, p)
	require.Len(t, found, 1)
	require.Contains(t, found[0], "shop/widget-b: readyWhen: flux checks Widget.example.com shop/b by its condition Ready")
}

// TestTheHealthThatIsSpelledOutForFluxIsCEL evaluates what stands in for
// Flux's own health on an object that is ready and on one that is not.
func TestTheHealthThatIsSpelledOutForFluxIsCEL(t *testing.T) {
	env := fluxEnv(t)
	is := func(condition string) []any { return []any{map[string]any{"type": condition, "status": "True"}} }
	for kind, status := range map[string]map[string]any{
		"StatefulSet.apps/v1": {"observedGeneration": int64(1), "readyReplicas": int64(1), "updateRevision": "r", "currentRevision": "r"},
		"DaemonSet.apps/v1":   {"observedGeneration": int64(1), "desiredNumberScheduled": int64(1), "updatedNumberScheduled": int64(1), "numberAvailable": int64(1), "numberReady": int64(1)},
		"ReplicaSet.apps/v1":  {"observedGeneration": int64(1), "readyReplicas": int64(1)},
		"Job.batch/v1":        {"conditions": is("Complete")}, "Pod/v1": {"conditions": is("Ready")}, "PersistentVolumeClaim/v1": {"phase": "Bound"},
		"CustomResourceDefinition.apiextensions.k8s.io/v1": {"conditions": is("Established")},
	} {
		text, _ := current(t, planOf([]*object.Node{node("a", kind, "shop", celRule("status.x")), node("b", kind, "shop")}, []*object.Node{node("c", "ConfigMap/v1", "shop")}))
		o := named("b", "shop", status)
		o["spec"].(map[string]any)["updateStrategy"] = map[string]any{"type": "RollingUpdate"}
		got, ok := evaluate(t, env, text, o)
		require.True(t, ok && got, "%s: %s", kind, text)
		o["status"] = map[string]any{"desiredNumberScheduled": int64(1)}
		got, _ = evaluate(t, env, text, o)
		require.False(t, got, kind)
	}
}

func TestNamesOfLayersFitIntoLabels(t *testing.T) {
	_, out := delivered(t, shop(), func(o *emit.Options) { o.Name = "Team_A." + strings.Repeat("x", 80) + "..." })
	for _, l := range out.Layers {
		require.Regexp(t, `^team-a-x+-0[0-2]$`, l.Name)
		require.LessOrEqual(t, len(l.Name), 63)
	}
}

func TestWhatFluxHasNoNameForIsNamed(t *testing.T) {
	_, found := write(t, one(node("a", "Widget.example.com/v1", "shop", celRule(`!has(object.status)`))), dialect.Flux)
	require.Len(t, found, 1)
	require.Contains(t, found[0], `Flux cannot express "!has(object.status)": it has no variable for the absence of the top-level field "status"`)
}

func TestWhatIsEncryptedIsNamedWhereNothingDecryptsIt(t *testing.T) {
	secret := node("s", "Secret/v1", "shop")
	secret.Object["sops"] = map[string]any{"mac": "ENC[AES256_GCM,data:x]", "lastmodified": "2026-01-01T00:00:00Z"}
	other := node("o", "SopsSecret/isindir.github.com/v1alpha3", "shop")
	other.Object["sops"] = secret.Object["sops"]
	_, out := delivered(t, planOf([]*object.Node{secret, other}))
	require.Equal(t, []string{"shop.yaml:2:1: emit: shop/secret-s: Secret shop/s is encrypted with SOPS, and its Kustomization has no spec.decryption: Flux would apply the ciphertext (add spec.decryption to the Kustomizations of this render)"}, warnings(out))
	_, out = delivered(t, planOf([]*object.Node{secret}), func(o *emit.Options) { o.Repository = "" })
	require.Empty(t, out.Warnings, "who writes the Kustomization says it there")
	_, out = delivered(t, planOf([]*object.Node{secret}), func(o *emit.Options) { o.DecryptionConfigured = true })
	require.Empty(t, out.Warnings)
}

func TestALayerHasTheLongestTimeoutOfWhatItWaitsFor(t *testing.T) {
	within := func(timeouts ...string) func(*object.Node) {
		var rules []object.Ready
		for _, timeout := range timeouts {
			rules = append(rules, object.Ready{Type: object.ReadyExists, Timeout: timeout})
		}
		return ready(rules...)
	}
	for name, test := range map[string]struct {
		nodes []*object.Node
		want  string
	}{
		"none":                       {[]*object.Node{node("a", "Job.batch/v1", "shop", within(""))}, "10m"},
		"a shorter one":              {[]*object.Node{node("a", "Job.batch/v1", "shop", within("90s"))}, "1m30s"},
		"a longer one":               {[]*object.Node{node("a", "Job.batch/v1", "shop", within("2h"))}, "2h"},
		"the longest of a node":      {[]*object.Node{node("a", "Job.batch/v1", "shop", within("90s", "", "3m"))}, "3m"},
		"the longest of two nodes":   {[]*object.Node{node("a", "Job.batch/v1", "shop", within("90s")), node("b", "Job.batch/v1", "shop", within("3m"))}, "3m"},
		"a shorter one beside none":  {[]*object.Node{node("a", "Job.batch/v1", "shop", within("90s")), node("b", "Job.batch/v1", "shop", within(""))}, "10m"},
		"what nothing waits for":     {[]*object.Node{node("a", "Job.batch/v1", "shop", within("90s")), node("b", "Job.batch/v1", "shop")}, "1m30s"},
		"a longer one beside others": {[]*object.Node{node("a", "Job.batch/v1", "shop", within("2h")), node("b", "Job.batch/v1", "shop", within(""))}, "2h"},
	} {
		t.Run(name, func(t *testing.T) {
			files, _ := delivered(t, planOf(test.nodes))
			require.Equal(t, test.want, files["flux/kustomization-shop-00.yaml"].Text("spec", "timeout"))
		})
	}
}
