// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// stockRig is a repo-server with the argocd-cmp-server of Argo CD beside it, which
// runs our plugin.yaml.
func stockRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	// The server of the rig makes room for that of Argo CD.
	r.sidecar.signal(t, syscall.SIGTERM)

	config := filepath.Join(r.dir, "config")
	require.NoError(t, os.Mkdir(config, 0o700))
	file, err := os.ReadFile("../../deploy/argocd/plugin.yaml")
	require.NoError(t, err)
	text := strings.ReplaceAll(string(file), "/var/run/askpass/reposerver.sock", r.askPass())
	require.Contains(t, text, r.askPass())
	require.NoError(t, os.WriteFile(filepath.Join(config, "plugin.yaml"), []byte(text), 0o600))
	path := filepath.Join(r.dir, "path")
	require.NoError(t, os.Mkdir(path, 0o700))
	require.NoError(t, os.Symlink(r.programs.ropewalk, filepath.Join(path, "ropewalk")))

	binary, err := stockServer()
	require.NoError(t, err)
	work := filepath.Join(r.dir, "work")
	require.NoError(t, os.Mkdir(work, 0o700))
	server := start(t, append(r.env("sidecar"), "PATH="+path+":"+os.Getenv("PATH"),
		"ARGOCD_PLUGINSOCKFILEPATH="+filepath.Dir(r.socket), "ARGOCD_CMP_WORKDIR="+work), binary, "--config-dir-path", config, "--loglevel", "warn")
	server.ready(t, func() bool { return listens("unix", r.socket) })
	return r
}

// TestTheStockServerGivesTheSame: the argocd-cmp-server of Argo CD with our
// plugin.yaml.
func TestTheStockServerGivesTheSame(t *testing.T) {
	r := stockRig(t)
	root := r.programs.shop(t)
	want := r.programs.rendered(t, filepath.Join(root, "apps", "shop"))
	shop := application{name: "shop", repo: commit(t, root).file(), path: "apps/shop", revision: "main", plugin: plugin(), hard: true}

	t.Run("objects", func(t *testing.T) {
		var got []string
		took := timed(func() { got = r.objects(t, shop) })
		require.Equal(t, want, got)
		t.Logf("%d objects in %s", len(got), took)
	})
	t.Run("its parameters", func(t *testing.T) {
		got := r.announced(t, shop)
		for _, name := range []string{"environment", "allowEmpty", "cart:image", "cart:replicas"} {
			require.Contains(t, got, name)
		}
	})
	t.Run("mistakes", func(t *testing.T) {
		replace(t, filepath.Join(root, "apps/shop/cart.yaml"), "replicas: 2", "replicas: two")
		broken := shop
		broken.name, broken.repo = "broken", commit(t, root).file()
		_, err := r.generate(t.Context(), broken)
		require.Error(t, err)
		t.Logf("what the user reads:\n%v", err)
		require.ErrorContains(t, err, "apps/shop/cart.yaml:16:15: ")
	})
}
