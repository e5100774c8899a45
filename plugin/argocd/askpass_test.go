// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ropewalk/ropewalk/plugin/argocd/wire"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/source"
)

// tell tells credentials as a repo-server does.
func tell(_ context.Context, r *wire.CredentialsRequest) (*wire.Credentials, error) {
	if r.GetNonce() != "known" {
		return nil, status.Error(codes.Unknown, "unknown nonce "+r.GetNonce())
	}
	return &wire.Credentials{Username: "anna", Password: "pencil"}, nil
}

// startRepoServer serves credentials on a socket.
func startRepoServer(t *testing.T) (server *grpc.Server, name string) {
	wire.Register()
	name = filepath.Join(socketDir(t), "ask.sock")
	listener, err := net.Listen("unix", name)
	require.NoError(t, err)
	server = grpc.NewServer()
	registerAskPass(server, tell)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return server, name
}

func TestARequestBringsTheCredentialsOfItsSource(t *testing.T) {
	_, name := startRepoServer(t)
	opts := options(t)
	opts.AskPass = AskPass(name)
	var got []*Source
	opts.Connect = func(c Connection) (host.Host, error) {
		got = append(got, c.Source)
		return offline(c)
	}
	_, socket := start(t, opts)
	config, err := dial(t, socket).CheckPluginConfiguration(t.Context(), &wire.Empty{})
	require.NoError(t, err)
	require.True(t, config.GetProvideGitCreds())
	c := call{archive: archive(t, texts(projectOf("web"))), path: "apps/web", env: map[string]string{
		"ARGOCD_GIT_ASKPASS_NONCE": "known", "ARGOCD_APP_SOURCE_REPO_URL": "oci://registry.example/shop",
	}}
	_, err = generate(t, socket, c)
	require.NoError(t, err)
	delete(c.env, "ARGOCD_GIT_ASKPASS_NONCE")
	_, err = generate(t, socket, c)
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Nil(t, got[1])
	require.Equal(t, "oci://registry.example/shop", got[0].Repository)
	user, password, err := got[0].Credentials(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"anna", "pencil"}, []string{user, password})
}

func TestTheRepoServerTellsCredentials(t *testing.T) {
	server, name := startRepoServer(t)
	user, password, err := AskPass(name).Credentials(t.Context(), "known")
	require.NoError(t, err)
	require.Equal(t, []string{"anna", "pencil"}, []string{user, password})
	_, _, err = AskPass(name).Credentials(t.Context(), "canary")
	require.ErrorIs(t, err, source.ErrUnavailable)
	require.NotContains(t, err.Error(), "canary")
	_, _, err = AskPass(name).Credentials(t.Context(), "")
	require.ErrorIs(t, err, source.ErrUnauthorized)
	server.Stop()
	_, _, err = AskPass(name).Credentials(t.Context(), "known")
	require.ErrorIs(t, err, source.ErrUnavailable)
}
