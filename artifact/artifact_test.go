// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact_test

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/layout"
	"github.com/ropewalk/ropewalk/test/servers"
)

var _ artifact.Store = (*remote.Repository)(nil)

// at is the time of pushes.
var at = time.Date(2026, 11, 21, 13, 15, 0, 0, time.UTC)

// repository is a fresh connection, which knows nothing of what the server can.
func repository(o *servers.OCI, name string) *remote.Repository {
	return &remote.Repository{
		Client: &auth.Client{}, Reference: registry.Reference{Registry: o.Host, Repository: name},
		PlainHTTP: true, SkipReferrersGC: true,
	}
}

// each runs a test with every kind of store. open gives a fresh connection to
// the same one, or, where the name is another, to another one. The kinds run at
// once: lists of referrers take their time to settle.
func each(t *testing.T, test func(t *testing.T, open func(name string) artifact.Store)) {
	t.Helper()
	run := func(kind string, f func(t *testing.T)) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f(t)
		})
	}
	of := func(o *servers.OCI) func(string) artifact.Store {
		return func(name string) artifact.Store { return repository(o, name) }
	}
	run("in process", func(t *testing.T) { test(t, of(servers.InProcess(t))) })
	run("without the referrers API", func(t *testing.T) { test(t, of(servers.InProcess(t, servers.NoReferrers()))) })
	run("docker-registry", func(t *testing.T) { test(t, of(servers.Registry(t))) })
	run("layout", func(t *testing.T) {
		parent := t.TempDir()
		test(t, func(name string) artifact.Store { return openLayout(t, filepath.Join(parent, name)) })
	})
	run("archive", func(t *testing.T) {
		stores := map[string]artifact.Store{}
		parent := t.TempDir()
		test(t, func(name string) artifact.Store {
			if stores[name] == nil {
				l, err := layout.OpenArchive(filepath.Join(parent, name+".tar"), true)
				require.NoError(t, err)
				t.Cleanup(func() { _ = l.Close() })
				stores[name] = l
			}
			return stores[name]
		})
	})
}

func openLayout(t testing.TB, dir string) *layout.Layout {
	t.Helper()
	l, err := layout.Open(dir, true)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// many is a tree of n objects of about a KiB.
func many(n int) (files fs.FS, bytes int) {
	out := fstest.MapFS{}
	for i := range n {
		text := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings-%d\n  namespace: team-%d\ndata:\n", i, i%37)
		for j := range 20 {
			text += fmt.Sprintf("  key-%d: \"value %x of the setting\"\n", j, (i+1)*(j+7)*2654435761)
		}
		out[fmt.Sprintf("%05d-ConfigMap-team-%d-settings-%d.yaml", i, i%37, i)] = &fstest.MapFile{Data: []byte(text)}
		bytes += len(text)
	}
	return out, bytes
}
