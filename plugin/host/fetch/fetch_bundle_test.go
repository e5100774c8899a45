// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host/fetch"
	"github.com/ropewalk/ropewalk/source/cache"
	"github.com/ropewalk/ropewalk/test/servers"
)

// The version of a module is what its publisher wrote, or its tag, whichever way an
// instance names it, and from the cache too.
func TestInstancesOfABundleComeFromARegistry(t *testing.T) {
	server := servers.InProcess(t)
	files := map[string]string{
		"cue.mod/module.cue": "module: \"timoni.example/web\"\nlanguage: version: \"v0.9.0\"\n",
		"values.cue":         "package main\n\nvalues: {}\n",
		"timoni.cue": `package main

values: {}
timoni: {
	apiVersion: "v1alpha1"
	instance: {
		name:    string @tag(name)
		version: string @tag(mv, var=moduleVersion)
	}
	apply: app: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: instance.name, namespace: "shop"}, data: version: "of " + instance.version}]
}
`,
	}
	plain := timoni(t, server, files, "1.0.0", nil)
	named := timoni(t, server, files, "latest", map[string]string{"org.opencontainers.image.version": "1.4.2"})
	old := timoni(t, server, files, "0.9.0", map[string]string{"org.opencontainers.image.revision": "0.9.1"})
	store, err := cache.Open(t.TempDir(), cache.StoreOptions{})
	require.NoError(t, err)
	for name, c := range map[string]struct{ module, want string }{
		"a tag":                      {`version: "1.0.0"`, "of 1.0.0"},
		"the latest":                 {``, "of 1.4.2"},
		"a digest":                   {`digest: "` + named.String() + `"`, "of 1.4.2"},
		"a digest, and no version":   {`digest: "` + plain.String() + `"`, "of 0.0.0-devel"},
		"a digest of an old one":     {`digest: "` + old.String() + `"`, "of 0.9.1"},
		"a tag with its digest":      {`version: "1.0.0", digest: "` + plain.String() + `"`, "of 1.0.0"},
		"a tag with another digest":  {`version: "1.0.0", digest: "` + named.String() + `"`, "bundle.cue:4:33: spec: bundle.instances.web.module.digest: the digest is that of version 1.4.2, and the version is 1.0.0"},
		"a digest that is not there": {`digest: "sha256:` + strings.Repeat("0", 64) + `"`, "bundle.cue:4:33: resolve: "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, t.TempDir(), map[string]string{"bundle.cue": `bundle: {
	apiVersion: "v1alpha1"
	name:       "shop"
	instances: web: {module: {url: "oci://` + server.Host + `/timoni/web", ` + c.module + `}, namespace: "shop"}
}
`})
			for range 2 {
				result, err := rendered(t, dir, fetch.Options{Registries: registries, Store: func() (*cache.Store, error) { return store, nil }})
				if strings.HasPrefix(c.want, "bundle.cue") {
					require.ErrorContains(t, err, c.want)
					continue
				}
				require.NoError(t, err)
				require.Contains(t, string(result.Files[0].Data), c.want)
			}
		})
	}
}
