// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package krm_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A Function is the functionConfig, or one of the items beside its Project.
func TestAFunctionBecomesItsObjects(t *testing.T) {
	const resize = `
apiVersion: ropewalk.dev/v1alpha1
kind: Function
metadata: {name: resize, annotations: {config.kubernetes.io/local-config: "true"}}
spec:
  container: {image: ghcr.io/acme/resize:1.4.0, variables: {QUALITY: "80", KEY: {local: resize, key: key}}}
  scale: {max: 3, concurrency: 20}
`
	items, _ := read(t, run(t, list(resize)))
	require.Equal(t, []string{"ServiceAccount resize", "ConfigMap resize-env", "Service resize"}, kinds(titles(items)))
	project := "apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec: {context: {namespace: images}}\n"
	thumbs := strings.NewReplacer("name: resize,", "name: thumbs,", "scale:", "target: keda\n  scale:", "concurrency: 20", "rate: 5, hosts: [a.example]").Replace(resize)
	out := run(t, list(project, resize, thumbs))
	items, _ = read(t, out)
	require.Subset(t, kinds(titles(items)), []string{
		"Function resize", "Function thumbs", "Service resize", "Deployment thumbs", "Service thumbs", "InterceptorRoute thumbs", "ScaledObject thumbs",
	})
	require.Contains(t, string(out), "namespace: images")
	require.Equal(t, string(out), string(run(t, string(out))))

	// Its mistakes are results at the field that the author wrote.
	wrong, err := function(t).Run(t.Context(), strings.NewReader(list(strings.Replace(resize, "max: 3", "max: 0", 1)+"  target: lambda\n")))
	require.Error(t, err)
	_, results := read(t, wrong.List)
	var fields []string
	for _, r := range results {
		fields = append(fields, r.Field.Path)
		require.NotContains(t, r.Message, "containers.")
	}
	require.Contains(t, fields, "spec.target")
}

// kinds are titles without where the object is.
func kinds(titles []string) []string {
	var out []string
	for _, title := range titles {
		f := strings.Fields(title)
		out = append(out, f[0]+" "+f[1])
	}
	return out
}
