// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// stockRig is a repo-server with the argocd-cmp-server of Argo CD beside it, which
// runs our plugin.yaml. Sidecar is one more server of ours, to hand over to.
func stockRig(t *testing.T) (r *rig, sidecar *rig) {
	t.Helper()
	r = newRig(t)
	// The server of the rig makes room for that of Argo CD.
	r.sidecar.signal(t, syscall.SIGTERM)
	other := *r
	other.socket = filepath.Join(r.dir, "run", "ropewalk.sock")
	require.NoError(t, os.Mkdir(filepath.Dir(other.socket), 0o700))

	config := filepath.Join(r.dir, "config")
	require.NoError(t, os.Mkdir(config, 0o700))
	file, err := os.ReadFile("../../deploy/argocd/plugin.yaml")
	require.NoError(t, err)
	text := strings.NewReplacer("/run/ropewalk/ropewalk.sock", other.socket, "/var/run/askpass/reposerver.sock", r.askPass()).Replace(string(file))
	require.Contains(t, text, other.socket)
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
	return r, &other
}

// answered is how many renders a sidecar has answered.
func (r *rig) answered(t *testing.T) string {
	t.Helper()
	response, err := http.Get(r.web + "/metrics") //nolint:gosec,noctx // the loopback
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	page, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	const name = `ropewalk_argocd_requests_total{method="GenerateManifest",code="OK"} `
	for line := range strings.Lines(string(page)) {
		if value, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(value)
		}
	}
	return "0"
}

// TestTheStockServerGivesTheSame: the argocd-cmp-server of Argo CD with our
// plugin.yaml, alone and beside a sidecar that it hands over to.
func TestTheStockServerGivesTheSame(t *testing.T) {
	r, sidecar := stockRig(t)
	root := r.programs.shop(t)
	want := r.programs.rendered(t, filepath.Join(root, "apps", "shop"))
	shop := application{name: "shop", repo: commit(t, root).file(), path: "apps/shop", revision: "main", plugin: plugin(), hard: true}

	check := func(t *testing.T) {
		var got []string
		took := timed(func() { got = r.objects(t, shop) })
		require.Equal(t, want, got)
		t.Logf("%d objects in %s", len(got), took)
	}
	t.Run("alone", check)
	t.Run("its parameters", func(t *testing.T) {
		got := r.announced(t, shop)
		for _, name := range []string{"environment", "allowEmpty", "cart:image", "cart:replicas"} {
			require.Contains(t, got, name)
		}
	})
	t.Run("beside a sidecar", func(t *testing.T) {
		sidecar.startSidecar(t)
		require.Equal(t, "0", sidecar.answered(t))
		check(t)
		require.Equal(t, "1", sidecar.answered(t))
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
