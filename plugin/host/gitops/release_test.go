// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops_test

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host/gitops"
)

// A chartRef leads to a folder that stands for its source, or to the HelmChart that it names.
func TestTheChartThatAReleaseRefersTo(t *testing.T) {
	const chart = `
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmChart
metadata: {name: pinned, namespace: charts}
spec: {chart: ./c, version: "*", valuesFiles: [c/small.yaml], sourceRef: {kind: GitRepository, name: flux-system}}
`
	for name, c := range map[string]struct {
		ref, want string
	}{
		"an OCIRepository in the cluster, with a folder": {"{kind: OCIRepository, name: store}", `HelmRelease/shop/r at a.yaml:1:1 {"helm":{"chart":"c","releaseName":"r","values":{}}}`},
		"an artifact in the cluster, with a folder":      {"{kind: ExternalArtifact, name: made}", `HelmRelease/shop/r at a.yaml:1:1 {"helm":{"chart":"c","releaseName":"r","values":{}}}`},
		"a HelmChart of the repository":                  {"{kind: HelmChart, name: pinned, namespace: charts}", `HelmRelease/shop/r at a.yaml:1:1 {"helm":{"chart":"c","releaseName":"r","values":{},"valuesFiles":["c/small.yaml"]}}`},
		"a folder without a chart":                       {"{kind: OCIRepository, name: empty}", `HelmRelease/shop/r at a.yaml:1:1 not rendered: a.yaml:4:18: spec: there is no chart in the folder "none" of the repository`},
		"an OCIRepository that is nowhere":               {"{kind: OCIRepository, name: other}", `HelmRelease/shop/r at a.yaml:1:1 not rendered: a.yaml:4:18: spec: the chart of HelmRelease/shop/r is OCIRepository "other", which is in the cluster alone (name a folder for it with --local-sources OCIRepository/shop/other=DIR)`},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{
				"a.yaml": {Data: []byte(release("r", "{chartRef: "+c.ref+"}"))}, "b.yaml": {Data: []byte(chart)},
				"c/Chart.yaml": {Data: []byte("apiVersion: v2\nname: c\nversion: 1.0.0\n")}, "c/small.yaml": {Data: []byte("size: 1\n")},
			}
			local := map[string]string{"OCIRepository/shop/store": "c", "ExternalArtifact/shop/made": "c", "OCIRepository/shop/empty": "none"}
			none := func(context.Context, gitops.Unit, func(fs.FS, []string) bool) (gitops.Rendered, error) {
				return gitops.Rendered{}, nil
			}
			found, err := gitops.Expand(t.Context(), gitops.Repository{FS: files, Dir: ".", Local: local}, none)
			require.NoError(t, err)
			require.Equal(t, []string{c.want}, summary(found))
		})
	}
}

// The files of a chart that a release has are applied.
func TestTheFilesOfAChartAreApplied(t *testing.T) {
	const chart, definition = "apiVersion: v2\nname: c\nversion: 1.0.0\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	found := expandOnly(t, map[string]string{
		"a.yaml":       release("r", "{chart: {spec: {chart: ./c, sourceRef: {kind: GitRepository, name: flux-system}}}}"),
		"c/Chart.yaml": chart, "c/crds/a.yaml": definition, "other/a.yaml": definition,
	})
	require.Equal(t, []string{"other/a.yaml"}, found.Unapplied)
}

// A targetPath makes no values that are too large to render, and names what does.
func TestATargetPathIsBounded(t *testing.T) {
	one := func(target string) string {
		return "{kind: Secret, name: s, valuesKey: k, targetPath: '" + target + "'}"
	}
	many := make([]string, 500)
	for i := range many {
		many[i] = one(fmt.Sprintf("a%d[65000]", i))
	}
	for name, c := range map[string]struct{ from, want string }{
		"a far element": {one("a[999999999]"), "the value for a[999999999] does not fit there"},
		"a deep path":   {one(strings.Repeat("a.", 100_000) + "a"), "does not fit there"},
		"deep lists":    {one("a" + strings.Repeat("[0]", 20_000)), "does not fit there"},
		"long lists":    {strings.Join(many, ", "), "the lists of valuesFrom have more than 100000 elements"},
	} {
		t.Run(name, func(t *testing.T) {
			found := expandOnly(t, map[string]string{
				"a.yaml": release("r", "{chart: {spec: {chart: ./c, sourceRef: {kind: GitRepository, name: flux-system}}}, valuesFrom: ["+c.from+"]}") +
					"---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: shop}\nstringData: {k: v}\n",
				"c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n",
			})
			require.Len(t, found.Units, 1)
			require.NotNil(t, found.Units[0].Problem)
			require.Contains(t, found.Units[0].Problem.Error(), c.want)
			require.Less(t, len(found.Units[0].Problem.Error()), 1000, "the path is not repeated in full")
		})
	}
}
