// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/test/servers"
)

// stranger is an authority that signed for no server.
func stranger(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestAuthoritiesAreTrustedBesideThoseOfTheSecret(t *testing.T) {
	t.Parallel()
	root, _, _, _ := repository(t)
	var ca []byte
	base := servers.GitHTTP(t, root, servers.WithGitTLS(&ca), servers.WithGitAuth("me", canary))
	other := stranger(t)
	have := secrets{
		"without": {"username": "me", "password": canary}, "with": {"username": "me", "password": canary, "ca.crt": string(ca)},
		"other": {"username": "me", "password": canary, "ca.crt": string(other)}, "no pem": {"ca.crt": "no certificate"},
	}
	cases := []struct {
		secret string
		ca     []byte
		is     error
	}{
		{"without", nil, source.ErrHostKey}, {"without", ca, nil}, {"without", other, source.ErrHostKey},
		{"with", nil, nil}, {"with", other, nil}, {"other", nil, source.ErrHostKey}, {"other", ca, nil}, {"no pem", ca, source.ErrUnauthorized},
	}
	ways(t, func(t *testing.T, f *Fetcher) {
		f.Secrets = have
		for _, c := range cases {
			f.CA = c.ca
			_, err := f.Fetch(t.Context(), source.Ref{Ref: base + "/org/repo.git", Secret: c.secret})
			require.ErrorIs(t, err, c.is, "%q %d: %v", c.secret, len(c.ca), err)
		}
	})
}

// TestAuthoritiesAreTrustedBesideThoseOfTheUser has the user trust the server in
// both ways that git knows, while another authority is given.
func TestAuthoritiesAreTrustedBesideThoseOfTheUser(t *testing.T) {
	t.Parallel()
	root, _, _, _ := repository(t)
	var ca []byte
	base := servers.GitHTTP(t, root, servers.WithGitTLS(&ca))
	home, other := t.TempDir(), stranger(t)
	file := filepath.Join(home, "ca.pem")
	require.NoError(t, os.WriteFile(file, ca, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[http]\n\tsslCAInfo = ~/ca.pem\n"), 0o600))
	plain := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}
	for name, c := range map[string]struct {
		env []string
		ca  []byte
		is  error
	}{
		"nobody trusts it":               {plain, other, source.ErrHostKey},
		"the option does":                {plain, ca, nil},
		"the option does, beside others": {append([]string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=a.b", "GIT_CONFIG_VALUE_0=c"}, plain...), ca, nil},
		"a variable of the user does":    {append([]string{"GIT_SSL_CAINFO=" + file}, plain...), other, nil},
		"the configuration does":         {[]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1"}, other, nil},
		"the option, and a variable not": {append([]string{"GIT_SSL_CAINFO=/nowhere"}, plain...), ca, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := &Fetcher{Binary: FindBinary(), Scratch: t.TempDir(), UserEnv: c.env, CA: c.ca}
			_, err := f.Fetch(t.Context(), source.Ref{Ref: base + "/org/repo.git"})
			require.ErrorIs(t, err, c.is, "%v", err)
		})
	}
}

func TestPlainHTTPIsForHostsThatAreNamed(t *testing.T) {
	t.Parallel()
	root, _, _, _ := repository(t)
	var sent atomic.Int64
	base := servers.GitHTTP(t, root, servers.WithGitFault(func(*http.Request) (http.Handler, bool) {
		sent.Add(1)
		return nil, false
	}))
	u, err := url.Parse(base)
	require.NoError(t, err)
	ways(t, func(t *testing.T, f *Fetcher) {
		f.Secrets = secrets{"s": {"username": "me", "password": canary}}
		for _, allow := range []func(string) bool{nil, func(host string) bool { return host == u.Hostname() }} {
			sent.Store(0)
			f.PlainHTTP = allow
			_, err := f.Fetch(t.Context(), source.Ref{Ref: base + "/org/repo.git", Secret: "s"})
			require.ErrorIs(t, err, source.ErrReference)
			var plain *source.PlainError
			require.True(t, errors.As(err, &plain))
			require.Equal(t, u.Host, plain.Host)
			require.Zero(t, sent.Load(), "nothing is sent")
		}
		f.PlainHTTP = func(host string) bool { return host == u.Host }
		_, err := f.Fetch(t.Context(), source.Ref{Ref: base + "/org/repo.git", Secret: "s"})
		require.NoError(t, err)
	})
	for ref, host := range map[string]string{
		"http://Git.Example.org/r": "git.example.org", "http://[::1]/r": "[::1]", "http://[::1]:80/r": "[::1]:80",
	} {
		asked := ""
		_, err := (&Fetcher{PlainHTTP: func(h string) bool { asked = h; return false }}).Fetch(t.Context(), source.Ref{Ref: ref})
		require.ErrorIs(t, err, source.ErrReference)
		require.Equal(t, host, asked)
	}
}

func TestACheckShowsTheCredentialsAndGetsNothing(t *testing.T) {
	t.Parallel()
	root, _, first, _ := repository(t)
	base := servers.GitHTTP(t, root, servers.WithGitAuth("me", canary))
	ways(t, func(t *testing.T, f *Fetcher) {
		f.Secrets = secrets{"right": {"username": "me", "password": canary}, "wrong": {"username": "me", "password": "x" + canary}}
		ref := source.Ref{Ref: base + "/org/repo.git?commit=" + first, Secret: "right"}
		require.NoError(t, f.Check(t.Context(), ref))
		ref.Secret = "wrong"
		require.ErrorIs(t, f.Check(t.Context(), ref), source.ErrUnauthorized)
		ref.Secret = "none"
		require.ErrorIs(t, f.Check(t.Context(), ref), source.ErrNotFound)
	})
}

// TestTheReasonOfSSHIsInTheMessage has a user's own ssh, which says much.
func TestTheReasonOfSSHIsInTheMessage(t *testing.T) {
	t.Parallel()
	root, _, _, _ := repository(t)
	server := servers.GitSSH(t, root)
	run := func(command, ref string) error {
		f := &Fetcher{Binary: FindBinary(), Scratch: t.TempDir(), UserEnv: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_SSH_COMMAND=" + command}}
		_, err := f.Fetch(t.Context(), source.Ref{Ref: ref})
		return err
	}
	script := filepath.Join(t.TempDir(), "ssh")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\nprintf 'banner\\n\\033[31mmux at https://me:"+canary+"@host: no "+strings.Repeat("x", 300)+"\\n\\n' >&2\nexit 255\n"), 0o700)) //nolint:gosec // it is to be run
	for name, c := range map[string]struct {
		command, ref string
		is           error
		says         []string
	}{
		"an unknown host": {
			"ssh -F none -o UserKnownHostsFile=/dev/null -o GlobalKnownHostsFile=/dev/null -o StrictHostKeyChecking=yes", server.URL("org/repo.git"),
			source.ErrHostKey, []string{"ssh-keyscan", "Host key verification failed."},
		},
		"no key":        {"ssh -F none -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o IdentityAgent=none -o IdentityFile=/dev/null", server.URL("org/repo.git"), source.ErrUnauthorized, []string{"credentials are wrong or missing", "Permission denied (publickey)."}},
		"a closed port": {"ssh -F none", "ssh://git@127.0.0.1:1/r.git", source.ErrUnavailable, []string{"connect to host 127.0.0.1 port 1: Connection refused"}},
		"anything else": {script, "ssh://git@127.0.0.1:1/r.git", source.ErrUnavailable, []string{"[31mmux at https://***@host: no xx", "…"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := run(c.command, c.ref)
			require.ErrorIs(t, err, c.is)
			for _, says := range c.says {
				require.ErrorContains(t, err, says)
			}
			require.NotContains(t, err.Error(), canary)
			require.NotContains(t, err.Error(), "\x1b")
			require.Less(t, len(err.Error()), 600)
		})
	}
}
