// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package oci_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/test/servers"
)

func TestAChartIsTakenOutOfItsFolder(t *testing.T) {
	const config, content, signature = "application/vnd.cncf.helm.config.v1+json", "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "application/vnd.cncf.helm.chart.provenance.v1.prov"
	server := servers.Registry(t)
	chart := layer{content, tgz(t, map[string]string{"web/Chart.yaml": "name: web\n", "web/.helmignore": "*.md\n", "web/templates/x.yaml": "x: 1\n"})}
	digest := push(t, server, "charts/web", "1.2.0_b.7", config, chart, layer{signature, []byte("signed")})
	push(t, server, "charts/web", "1.3.0-rc.1", config, chart)
	for _, ref := range []string{":1.2.0_b.7", "?semver=%5E1.0", "?semver=*"} {
		tree, err := fetcher(server).Fetch(t.Context(), source.Ref{Ref: "oci://" + server.Host + "/charts/web" + ref})
		require.NoError(t, err, ref)
		require.Equal(t, "1.2.0_b.7@"+digest, tree.Revision)
		require.Equal(t, "1.2.0+b.7", tree.Version)
		for _, name := range []string{"Chart.yaml", ".helmignore", "templates/x.yaml"} {
			_, err := fs.Stat(tree.FS, name)
			require.NoError(t, err, name)
		}
	}
	push(t, server, "charts/none", "1.0.0", config, layer{signature, []byte("signed")})
	_, err := fetcher(server).Fetch(t.Context(), source.Ref{Ref: "oci://" + server.Host + "/charts/none:1.0.0"})
	require.ErrorContains(t, err, "a chart without a layer")
	push(t, server, "charts/slip", "1.0.0", config, layer{content, tgz(t, map[string]string{"web/../../x": "x"})})
	_, err = fetcher(server).Fetch(t.Context(), source.Ref{Ref: "oci://" + server.Host + "/charts/slip:1.0.0"})
	require.ErrorIs(t, err, source.ErrPath)
}
