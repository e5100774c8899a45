// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/test/servers"
)

func TestExitCodesOfRegistriesAgree(t *testing.T) {
	alone(t)
	server := servers.InProcess(t)
	dir := t.TempDir()
	key := filepath.Join(dir, "release")
	good(t, "artifact", "keygen", key)
	ref := "oci://" + server.Host + "/shop"
	good(t, "build", shop, "--to", ref+":v1", "--plain-http", server.Host)
	commands := [][]string{
		{"artifact", "inspect"},
		{"artifact", "inspect", "--show", "provenance"},
		{"artifact", "pull", "-o", filepath.Join(dir, "out")},
		{"artifact", "verify", "--key", key + ".pub"},
		{"artifact", "sign", "--key", key + ".key"},
		{"artifact", "tag"},
		{"artifact", "copy"},
	}
	run := func(argv []string, ref string, more ...string) (int, string) {
		args := append(append([]string{}, argv...), ref)
		switch argv[1] {
		case "tag":
			args = append(args, "v2")
		case "copy":
			args = append(args, "oci-layout:"+filepath.Join(dir, "copy"))
		}
		code, _, diagnostics := call(t, append(append(args, "--plain-http", server.Host), more...)...)
		return code, diagnostics
	}
	for _, argv := range commands {
		for name, c := range map[string]struct {
			ref   string
			fault http.Handler
			want  int
		}{
			"no such tag":             {ref + ":v9", nil, command.Environment},
			"no such repository":      {"oci://" + server.Host + "/nothing:v1", nil, command.Environment},
			"nobody listens":          {"oci://127.0.0.1:1/shop:v1", nil, command.Environment},
			"credentials are wanted":  {ref + ":v1", servers.Answer(http.StatusUnauthorized, "UNAUTHORIZED", "log in"), command.Environment},
			"it is not allowed":       {ref + ":v1", servers.Answer(http.StatusForbidden, "DENIED", "no"), command.Environment},
			"a reference of no shape": {ref + ":a b", nil, command.Usage},
		} {
			server.Fault(nil)
			if c.fault != nil {
				server.Fault(servers.Always(c.fault))
			}
			code, diagnostics := run(argv, c.ref, "--plain-http", "127.0.0.1:1")
			require.Equal(t, c.want, code, "%s, %s: %s", argv, name, diagnostics)
		}
	}
	server.Fault(nil)
	code, diagnostics := run(commands[3], ref+":v1")
	require.Equal(t, command.Findings, code, "it is there and nobody signed it: %s", diagnostics)
}

func TestACopyInOneRegistrySendsNoContent(t *testing.T) {
	alone(t)
	server := servers.Registry(t)
	ref := "oci://" + server.Host + "/"
	good(t, "build", shop, "--to", ref+"shop:v1", "--plain-http", server.Host)
	server.Reset()
	good(t, "artifact", "copy", ref+"shop:v1", ref+"mirror:v1", "--plain-http", server.Host)
	for _, r := range server.Requests() {
		require.False(t, r.Method == http.MethodPut && strings.Contains(r.Path, "/blobs/"), r.String())
	}
	good(t, "artifact", "inspect", ref+"mirror:v1", "--show", "provenance", "--plain-http", server.Host)
}

func TestARegistryWithAnUnknownAuthoritySaysWhichOptionHelps(t *testing.T) {
	alone(t)
	server := servers.InProcess(t, servers.WithTLS())
	dir := t.TempDir()
	layout, ref := "oci-layout:"+filepath.Join(dir, "layout"), "oci://"+server.Host+"/shop:v1"
	good(t, "build", shop, "--to", layout)
	for _, args := range [][]string{
		{"artifact", "copy", layout, ref},
		{"artifact", "copy", ref, layout},
		{"artifact", "inspect", ref},
		{"build", shop, "--to", ref},
	} {
		code, _, diagnostics := call(t, args...)
		require.Equal(t, command.Environment, code, diagnostics)
		require.Contains(t, diagnostics, "unknown authority", args)
		require.Contains(t, diagnostics, "hint: --ca FILE", args)
	}
	ca := filepath.Join(dir, "ca.pem")
	require.NoError(t, os.WriteFile(ca, server.CA, 0o600))
	good(t, "artifact", "copy", layout, ref, "--ca", ca)
}

func TestManyMayPullIntoOneDirectory(t *testing.T) {
	alone(t)
	dir := t.TempDir()
	ref := "oci-layout:" + filepath.Join(dir, "layout")
	good(t, "build", shop, "--to", ref)
	for round := range 5 {
		var group errgroup.Group
		for range 6 {
			group.Go(func() error {
				code, _, diagnostics := call(t, "artifact", "pull", ref, "-o", filepath.Join(dir, fmt.Sprint(round)))
				if code != command.Good {
					require.NotContains(t, diagnostics, "rename")
					return errors.New(diagnostics)
				}
				return nil
			})
		}
		require.NoError(t, group.Wait())
	}
}

func TestManyWhoBuildAndSignAtOnceAllSign(t *testing.T) {
	alone(t)
	server := servers.InProcess(t) // with the referrers API
	dir := t.TempDir()
	ref := "oci://" + server.Host + "/shop:v1"
	var group errgroup.Group
	names := []string{"a", "b", "c"}
	for _, name := range names {
		key := filepath.Join(dir, name)
		good(t, "artifact", "keygen", key)
		group.Go(func() error {
			good(t, "build", shop, "--dialect", "flux", "--to", ref, "--plain-http", server.Host, "--sign-key", key+".key")
			return nil
		})
	}
	require.NoError(t, group.Wait())
	for _, name := range names {
		good(t, "artifact", "verify", ref, "--plain-http", server.Host, "--key", filepath.Join(dir, name+".pub"))
	}
}
