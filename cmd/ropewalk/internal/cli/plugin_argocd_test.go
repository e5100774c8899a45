// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/argocd"
)

// argocdCommand runs plugin argocd with args until ctx ends.
func argocdCommand(ctx context.Context, args ...string) error {
	a := &app{Streams: Streams{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}, listen: func() {}}
	cmd := a.pluginArgoCD()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	return cmd.ExecuteContext(ctx)
}

func TestTheServerForArgoCDIsReadyAndEnds(t *testing.T) {
	// The path of a socket has room for a hundred letters.
	dir, err := os.MkdirTemp("", "rw")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := free.Addr().String()
	require.NoError(t, free.Close())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- argocdCommand(ctx, "--socket-dir", dir, "--http", address, "--cache-dir", t.TempDir(), "--workers", "1")
	}()
	require.Eventually(t, func() bool {
		response, err := http.Get("http://" + address + "/readyz") //nolint:noctx // loopback
		return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
	}, 20*time.Second, 5*time.Millisecond)
	require.FileExists(t, filepath.Join(dir, "ropewalk.sock"))
	cancel()
	require.NoError(t, <-ended)
	require.NoFileExists(t, filepath.Join(dir, "ropewalk.sock"))
}

func TestTheServerForArgoCDRefusesWhatCannotBe(t *testing.T) {
	for _, args := range [][]string{
		{"--workers", "0"}, {"--renders", "-1"}, {"--timeout", "0s"}, {"--memory", "1MiB"},
	} {
		var usage *usageError
		require.ErrorAs(t, argocdCommand(t.Context(), args...), &usage, "%v", args)
	}
	var environment *environmentError
	require.ErrorAs(t, argocdCommand(t.Context(), "--socket-dir", filepath.Join(t.TempDir(), "missing"), "--http", ""), &environment)
}

func TestCredentialsOfASourceGoToItsRegistryOnly(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	own := &argocd.Source{
		Repository:  "oci://registry.example:5000/acme/shop",
		Credentials: func(context.Context) (string, string, error) { return "anna", "pencil", nil },
	}
	flags := &argocdFlags{}
	r, err := flags.registriesOf(own)
	require.NoError(t, err)
	for host, user := range map[string]string{"registry.example:5000": "anna", "registry.example": "", "other.example": ""} {
		got, err := r.Credentials.Credential(t.Context(), host)
		require.NoError(t, err)
		require.Equal(t, user, got.Username, host)
	}
	own.Repository = "https://registry.example:5000/acme/shop.git"
	r, err = flags.registriesOf(own)
	require.NoError(t, err)
	got, err := r.Credentials.Credential(t.Context(), "registry.example:5000")
	require.NoError(t, err)
	require.Empty(t, got.Username)
}
