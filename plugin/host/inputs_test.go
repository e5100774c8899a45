// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/publishing"
)

// The digest of the inputs in the provenance depends on all that a project declares of
// secrets and pull secrets, and not on where in the file it stands.
func TestTheProvenanceDependsOnWhatAProjectDeclaresOfSecrets(t *testing.T) {
	const settings = "  workloads:\n    secrets: {providers: {gcp: {store: a}, aws: {}}, bindings: {ledger: {provider: gcp, secret: s, version: \"1\", keys: [x, z]}}}\n" +
		"    images: {mirrors: {docker.io: r.internal}, pullSecrets: [p], pullSecretsFrom: {q: {provider: gcp, secret: s, version: \"2\", key: k}}}\n"
	inputs := func(settings string) string {
		dir := write(t, "ropewalk.yaml", projectHead+settings,
			"web.yaml", "apiVersion: score.dev/v1b1\nmetadata: {name: web}\ncontainers: {web: {image: a}}\n")
		module := func(string) (fs.FS, bool) { return fstest.MapFS{"a.cue": {Data: []byte("package a\n")}}, true }
		loaded, err := host.Host{Embedded: module}.Load(t.Context(), host.Options{Dir: dir})
		require.NoError(t, err)
		require.Empty(t, loaded.Request.Mistakes)
		return publishing.BuildOf(loaded, nil, "").Inputs
	}
	want := inputs(settings)
	require.Equal(t, want, inputs("  # moved\n"+settings))
	for _, change := range [][2]string{
		{"[x, z]", "[x]"}, {"version: \"1\"", "version: \"3\""}, {"ledger:", "ledge:"}, {"store: a", "store: b"}, {"{provider: gcp, secret: s", "{provider: aws, secret: s"},
		{"r.internal", "s.internal"}, {"[p]", "[o]"}, {"q:", "r:"}, {"version: \"2\"", "version: \"4\""}, {"key: k", "key: l"},
	} {
		changed := strings.Replace(settings, change[0], change[1], 1)
		require.NotEqual(t, settings, changed)
		require.NotEqual(t, want, inputs(changed), change)
	}
}
