// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/host/transform"
	"github.com/ropewalk/ropewalk/render/object"
)

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Data: data}
}

func TestATransformWithoutASourceIsRendered(t *testing.T) {
	require.Equal(t, map[string]any{"text": "none", "num": "1", "namespace": "shop", "version": "1.36"}, data(t, transformOf(t, inline)))
	require.Equal(t, map[string]any{"text": "a\nb", "num": "3", "namespace": "other", "version": "1.35"},
		data(t, transformOf(t, inline+"input: {text: \"a\\nb\", num: 3}\ncontext: {namespace: other, kubeVersion: v1.35}\n")))
}

func TestInputsAreLaidOverEachOtherInTheirOrder(t *testing.T) {
	first := configMap("first", map[string]string{"values.yaml": "text: first\nnum: 7\n"})
	second := configMap("second", map[string]string{"greeting": "second\nlines: {\n", "values.yaml": "text: whole\n"})
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}, Data: map[string][]byte{"password": []byte("canary-6f1c")}}
	all := `input: {text: own}
inputsFrom:
- {kind: ConfigMap, name: first}
- {kind: ConfigMap, name: second, key: greeting, targetPath: text}
- {kind: Secret, name: db, key: password, targetPath: db}
- {kind: ConfigMap, name: none, optional: true}
- {kind: Secret, name: none, targetPath: x, optional: true}
`
	tf := transformOf(t, inline+all)
	require.Equal(t, map[string]any{"text": "second\nlines: {\n", "num": "7", "db": "db", "key": "password", "namespace": "shop", "version": "1.36"},
		data(t, tf, first, second, secret))

	tf.Spec.InputsFrom = append(tf.Spec.InputsFrom, v1alpha1.InputReference{Kind: "ConfigMap", Name: "second"})
	require.Equal(t, "whole", data(t, tf, first, second, secret)["text"])

	loaded, err := load(t, tf, first, second, secret)
	require.NoError(t, err)
	for _, text := range loaded.Texts {
		require.NotContains(t, string(text), "canary")
	}
	require.NotContains(t, string(loaded.Request.Specs[0].Evaluate.Input.JSON()), "canary")
}

func TestMistakesAreAtTheFieldsOfTheTransform(t *testing.T) {
	values := configMap("settings", map[string]string{"values.yaml": "text: good\nnum: -3\n", "broken": "a: [\n"})
	for name, c := range map[string]struct{ spec, want string }{
		"an input of the wrong type":         {inline + "input: {num: many}", "spec.input.num: "},
		"an input nobody knows":              {inline + "input: {nn: 1}", "spec.input.nn: "},
		"a mistake in an inline module":      {strings.Replace(inline, "input.text", "input.texx", 1), "spec.cueRef.ref:16:20: "},
		"syntax of an inline module":         {strings.Replace(inline, "#Input: {", "#Input: {{", 1), "spec.cueRef.ref:"},
		"a module that is not there":         {"cueRef: {type: embedded, ref: webservic}", "spec.cueRef.ref: "},
		"a policy that is not there":         {inline + "policies:\n- {name: a, cueRef: {type: embedded, ref: policies}}\n- {name: b, cueRef: {type: configmap, ref: none}}\n", "spec.policies[1].cueRef.ref: "},
		"a value of a ConfigMap":             {inline + "inputsFrom: [{kind: ConfigMap, name: settings}]", "ConfigMap settings/values.yaml:2:6: "},
		"a ConfigMap that is no YAML":        {inline + "inputsFrom: [{kind: ConfigMap, name: settings, key: broken}]", "ConfigMap settings/broken:"},
		"a path into a list":                 {inline + "inputsFrom: [{kind: ConfigMap, name: settings, targetPath: 'a[0]'}]", "spec.inputsFrom[0].targetPath: "},
		"a version that is none":             {inline + "context: {kubeVersion: one}", "spec.context.kubeVersion: "},
		"a secret that is rendered":          {strings.NewReplacer(`kind:       "ConfigMap"`, `kind: "Secret"`, "\tdata:", "\tstringData:").Replace(inline), "spec.cueRef.ref:"},
		"a reference to a module by a path":  {"cueRef: {type: path, ref: a}", "spec.cueRef.ref: "},
		"a module that a folder cannot have": {"cueRef: {type: source, ref: Repository/a}", "spec.cueRef.ref: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := rendered(t, transformOf(t, c.spec), values)
			require.Error(t, err)
			var mistakes object.Errors
			require.ErrorAs(t, err, &mistakes)
			require.True(t, strings.HasPrefix(mistakes.Failures().Sorted()[0].Error(), c.want), "%s", err)
			require.NotContains(t, err.Error(), ".ropewalk")
		})
	}
}

func TestWhatIsNotThereIsWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		spec, reason, want string
		watched            bool
	}{
		"a ConfigMap":            {"inputsFrom: [{kind: ConfigMap, name: a}]", v1alpha1.FetchFailedReason, `spec.inputsFrom[0]: ConfigMap a/values.yaml does not exist in namespace "shop": create it, or set optional: true`, true},
		"an entry":               {"inputsFrom: [{kind: ConfigMap, name: settings, key: b}]", v1alpha1.FetchFailedReason, `spec.inputsFrom[0]: ConfigMap settings/b does not exist in namespace "shop": create it, or set optional: true`, true},
		"a Secret":               {"inputsFrom: [{kind: Secret, name: a, targetPath: x}]", v1alpha1.FetchFailedReason, `spec.inputsFrom[0]: Secret "a" does not exist in namespace "shop": create it, or set optional: true`, false},
		"a source":               {"sourceRef: {kind: GitRepository, name: a}", v1alpha1.SourceNotFoundReason, `GitRepository "a" does not exist in namespace "shop": create it, or correct the reference`, true},
		"an artifact":            {"sourceRef: {kind: GitRepository, name: empty}", v1alpha1.SourceNotReadyReason, `GitRepository/shop/empty has no artifact yet: see its conditions`, true},
		"an artifact of a spec":  {"sourceRef: {kind: GitRepository, name: stale}", v1alpha1.SourceNotReadyReason, `GitRepository/shop/stale has no artifact for its present generation yet`, true},
		"the source of a module": {"cueRef: {type: source, ref: GitRepository/a}", v1alpha1.SourceNotFoundReason, `GitRepository "a" does not exist in namespace "shop": create it, or correct the reference`, true},
	} {
		t.Run(name, func(t *testing.T) {
			empty, stale := gitRepository(t, "empty", nil), gitRepository(t, "stale", nil)
			empty.Status.Artifact = nil
			stale.Generation = 2
			text := c.spec
			if strings.HasPrefix(text, "inputsFrom") {
				text = inline + text
			}
			_, err := load(t, transformOf(t, text), configMap("settings", nil), empty, stale)
			var missing *transform.WaitError
			require.ErrorAs(t, err, &missing)
			require.EqualError(t, err, c.want)
			require.Equal(t, c.reason, missing.Reason)
			require.Equal(t, c.watched, missing.Watched)
		})
	}
}

func TestSourcesOfOtherNamespacesCanBeForbidden(t *testing.T) {
	l := loader()
	l.NoCrossNamespaceRefs = true
	other := gitRepository(t, "a", nil)
	other.Namespace = "other"
	for _, text := range []string{"sourceRef: {kind: GitRepository, name: a, namespace: other}", "cueRef: {type: source, ref: GitRepository/other/a}"} {
		_, err := l.Load(t.Context(), Identity{Client: cluster(t, other)}, transformOf(t, text))
		var denied *DeniedError
		require.ErrorAs(t, err, &denied)
		require.EqualError(t, err, `GitRepository/other/a is in another namespace, and the controller runs with --no-cross-namespace-refs: use a source in namespace "shop"`)
	}
}

func TestTheKeyIsThatOfWhatATransformStandsOn(t *testing.T) {
	tf := transformOf(t, inline+"sourceRef: {kind: GitRepository, name: a}\ninputsFrom: [{kind: ConfigMap, name: settings}]\n")
	source, settings := gitRepository(t, "a", map[string]string{"x": "1"}), configMap("settings", map[string]string{"values.yaml": "text: a"})
	c := cluster(t, source, settings)
	key := func() string {
		found, err := loader().Resolve(t.Context(), c, tf)
		require.NoError(t, err)
		return found.Key
	}
	keys := map[string]bool{key(): true}
	fresh := func(what string) {
		k := key()
		require.False(t, keys[k], what)
		require.Equal(t, k, key())
		keys[k] = true
	}
	settings.Data["values.yaml"] = "text: b"
	require.NoError(t, c.Update(t.Context(), settings))
	fresh("a ConfigMap")
	source.Status.Artifact.Revision = "main@sha1:def"
	require.NoError(t, c.Update(t.Context(), source))
	fresh("a revision")
	tf.Generation = 2
	fresh("the spec")
	require.NoError(t, c.Delete(t.Context(), settings))
	fresh("a ConfigMap that went")
	require.Equal(t, []string{"GitRepository/shop/a"}, Sources(tf))
	require.Equal(t, []string{"settings"}, ConfigMaps(tf))
}

var _ client.Object = &v1alpha1.Transform{}
