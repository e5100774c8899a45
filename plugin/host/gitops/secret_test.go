// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func secret(fields string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: flux-system}\n" + fields
}

func TestValuesOfSecretsOfTheRepository(t *testing.T) {
	const missing = `a.yaml:4:91: spec: Kustomization/flux-system/a: the variables in Secret "s" are in the cluster alone: ${NAME} stays, and no schema is checked`
	for name, c := range map[string]struct {
		secret  string
		want    string
		secrets []string
	}{
		"as they are":              {secret(`stringData: {A: one}`), `{"A":"one"}`, []string{"one"}},
		"decoded":                  {secret("data: {A: b25l, B: dHdv}\nstringData: {A: x}"), `{"A":"x","B":"two"}`, []string{"two", "x"}},
		"encrypted by SOPS":        {secret("stringData: {A: one}\nsops: {version: 3.9.0}"), missing, nil},
		"encrypted in another way": {secret("stringData: {A: 'ENC[AES256_GCM,data:x]'}"), missing, nil},
		"not known yet":            {secret("data: {A: '${A}'}"), missing, nil},
		"sealed":                   {"apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: s, namespace: flux-system}\n", missing, nil},
		"of another group":         {"apiVersion: example.com/v1\nkind: Secret\nmetadata: {name: s, namespace: flux-system}\nstringData: {A: one}\n", missing, nil},
	} {
		t.Run(name, func(t *testing.T) {
			units := expand(t, map[string]string{
				"a.yaml":         kustomization("a", "{path: ./b, sourceRef: {kind: GitRepository, name: x}, postBuild: {substituteFrom: [{kind: Secret, name: s}]}}"),
				"b/config.yaml":  "kind: ConfigMap\n",
				"c/secrets.yaml": c.secret,
			}).Units
			require.Len(t, units, 1)
			if c.want == missing {
				require.Equal(t, missing, units[0].Warnings[0].Error())
				require.Empty(t, units[0].Secrets)
				require.Contains(t, string(units[0].Components[0].JSON()), `"substitute":{}`)
				return
			}
			require.Empty(t, units[0].Warnings)
			require.Equal(t, c.secrets, units[0].Secrets)
			require.Contains(t, string(units[0].Components[0].JSON()), `"substitute":`+c.want)
		})
	}
}

// A line of a Secret is in no message: its values are where the unit refers to it.
func TestValuesOfASecretAreAtTheReference(t *testing.T) {
	units := expand(t, map[string]string{
		"a.yaml": release("a", "{chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: flux-system}}}, valuesFrom: [{kind: Secret, name: v}, {kind: Secret, name: broken}]}"),
		"v.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: v, namespace: shop}\nstringData:\n  values.yaml: |\n    auth: {password: s3cret, port: 7412, on: true}\n" +
			"---\napiVersion: v1\nkind: Secret\nmetadata: {name: broken, namespace: shop}\nstringData: {values.yaml: 's3cret: {'}\n",
		"charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
	}).Units
	require.Len(t, units, 1)
	require.Equal(t, []string{"a.yaml:4:137: spec: HelmRelease/shop/a: the values are no YAML: it does not parse"}, []string{units[0].Warnings[0].Error()})
	require.Subset(t, units[0].Secrets, []string{"s3cret", "7412"})
	require.NotContains(t, units[0].Secrets, "true")
	helm, _ := units[0].Components[0].Get("helm")
	values, _ := helm.Get("values")
	auth, _ := values.Get("auth")
	require.Equal(t, "a.yaml:4:112", auth.Pos.String())
}

// Both are entries: no unit renders the file.
func TestAReleaseBesideAKustomizationIsFound(t *testing.T) {
	require.Len(t, expand(t, map[string]string{
		"a.yaml":        kustomization("a", "{path: ./b, sourceRef: {kind: GitRepository, name: x}}") + "---\n" + release("r", "{chartRef: {kind: HelmChart, name: x}}"),
		"b/config.yaml": "kind: ConfigMap\n",
	}).Units, 2)
}
