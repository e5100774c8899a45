// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops_test

import (
	"context"
	"io/fs"
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
