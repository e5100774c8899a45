// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host/fetch"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/cache"
	"github.com/ropewalk/ropewalk/source/git"
	"github.com/ropewalk/ropewalk/test/servers"
)

// mount writes a Secret as Kubernetes mounts it: behind two links.
func mount(t testing.TB, dir string, entries map[string][]byte) {
	t.Helper()
	data := filepath.Join(dir, "..2026_01_01")
	require.NoError(t, os.MkdirAll(data, 0o750))
	require.NoError(t, os.Symlink("..2026_01_01", filepath.Join(dir, "..data")))
	for name, value := range entries {
		require.NoError(t, os.WriteFile(filepath.Join(data, name), value, 0o600))
		require.NoError(t, os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)))
	}
}

func password(value string) map[string][]byte {
	return map[string][]byte{"username": []byte("alice"), "password": []byte(value)}
}

func TestAMountedSecretIsReadAsItIs(t *testing.T) {
	dir := t.TempDir()
	mount(t, filepath.Join(dir, "shop", "git"), map[string][]byte{"username": []byte("alice"), "password": []byte(canary)})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "outside"), []byte(canary), 0o600))
	require.NoError(t, os.Symlink("../../outside", filepath.Join(dir, "shop", "git", "leak")))
	_, err := fetch.Mounted(dir).Of("shop").Secret(t.Context(), "git")
	require.Error(t, err, "a link leads out of the Secret")
	require.NotContains(t, err.Error(), canary)
	require.NoError(t, os.Remove(filepath.Join(dir, "shop", "git", "leak")))
	got, err := fetch.Mounted(dir).Of("shop").Secret(t.Context(), "git")
	require.NoError(t, err)
	require.Equal(t, password(canary), got)

	for _, c := range []struct{ project, name string }{
		{"other", "git"}, {"", "git"}, {"", "shop"}, {"..", "shop"}, {".", "shop"}, {"other/../shop", "git"},
		{"shop", "../shop/git"}, {"shop", "."}, {"shop", ""}, {"shop", "git/..data"}, {"other", "../shop/git"}, {"shop", "missing"},
	} {
		_, err := fetch.Mounted(dir).Of(c.project).Secret(t.Context(), c.name)
		require.ErrorIs(t, err, source.ErrNotFound, "%q of %q", c.name, c.project)
	}
	_, err = fetch.Mounted("").Of("shop").Secret(t.Context(), "git")
	require.ErrorIs(t, err, source.ErrNotFound)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "shop", "git", "large"), bytes.Repeat([]byte("x"), 1<<20+1), 0o600))
	_, err = fetch.Mounted(dir).Of("shop").Secret(t.Context(), "git")
	require.ErrorIs(t, err, source.ErrLimit)
}

// nowhere fails where a canary is in a folder.
func nowhere(t testing.TB, dir string) {
	t.Helper()
	words := []string{canary, base64.StdEncoding.EncodeToString([]byte("alice:" + canary)), url.QueryEscape(canary)}
	require.NoError(t, filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		for _, w := range words {
			require.NotContains(t, string(data), w, name)
		}
		return err
	}))
}

// Credentials of the program, mounted: docker's for a registry, and folders for the
// hosts of Git.
func TestMountedCredentialsOpenRealServers(t *testing.T) {
	registry := servers.Registry(t, servers.WithBasicAuth("alice", canary))
	root := t.TempDir()
	repo := servers.NewGit(t, filepath.Join(root, "web.git"))
	repo.Commit(module(), "a module")
	plain := servers.GitHTTP(t, root, servers.WithGitAuth("alice", canary))
	ssh := servers.GitSSH(t, root)
	config := filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(config, []byte(fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, registry.Host,
		base64.StdEncoding.EncodeToString([]byte("alice:"+canary)))), 0o600))
	hosts := t.TempDir()
	mount(t, filepath.Join(hosts, strings.TrimPrefix(plain, "http://")), password(canary))
	mount(t, filepath.Join(hosts, fmt.Sprintf("%s:%d", ssh.Host, ssh.Port)), map[string][]byte{"identity": ssh.ClientKey, "known_hosts": []byte(ssh.KnownHosts)})
	dir := t.TempDir()
	store, err := cache.Open(dir, cache.StoreOptions{})
	require.NoError(t, err)
	every := func(string) bool { return true }
	options := fetch.Options{
		Registries: func() (*remote.Registries, error) {
			return &remote.Registries{PlainHTTP: every, Credentials: remote.DockerConfig(config)}, nil
		},
		Git: func() git.Fetcher {
			return git.Fetcher{PlainHTTP: every, Binary: git.FindBinary(), UserEnv: os.Environ()}
		},
		Store: func() (*cache.Store, error) { return store, nil },
	}
	o := options
	o.GitHosts = fetch.Mounted(hosts)
	for name, c := range map[string]struct{ kind, ref string }{
		"git over http": {"git", plain + "/web.git?branch=main"},
		"git over ssh":  {"git", ssh.URL("web.git") + "?commit=" + repo.Hash("main")},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := rendered(t, using(t, c.kind, c.ref), o)
			require.NoError(t, err)
			require.NotContains(t, fmt.Sprint(result.Sources), canary)
		})
	}
	// The registry lets the login in, and has nothing.
	_, err = rendered(t, using(t, "oci", "oci://"+registry.Host+"/nothing:v1"), o)
	require.ErrorIs(t, err, source.ErrAbsent)
	require.NotContains(t, err.Error(), canary)
	wrong := t.TempDir()
	mount(t, filepath.Join(wrong, strings.TrimPrefix(plain, "http://")), password(canary+"x"))
	o.GitHosts, o.Scope = fetch.Mounted(wrong), "other"
	_, err = rendered(t, using(t, "git", plain+"/web.git?branch=main"), o)
	require.ErrorIs(t, err, source.ErrUnauthorized)
	require.NotContains(t, err.Error(), canary)
	nowhere(t, dir)
}

// Two tenants share everything but their Secrets.
func TestAHitIsNoAuthorisation(t *testing.T) {
	root := t.TempDir()
	repo := servers.NewGit(t, filepath.Join(root, "web.git"))
	commit := repo.Commit(module(), "a module")
	base := servers.GitHTTP(t, root, servers.WithGitAuth("alice", canary))
	secrets, dir := t.TempDir(), t.TempDir()
	mount(t, filepath.Join(secrets, "good", "git"), password(canary))
	mount(t, filepath.Join(secrets, "wrong", "git"), password(canary+"-wrong"))
	store, err := cache.Open(dir, cache.StoreOptions{})
	require.NoError(t, err)
	for _, query := range []string{"commit=" + commit, "branch=main"} {
		for _, scope := range []bool{true, false} { // with the same scope too
			fetching := func(project, secret string) error {
				o := fetch.Options{
					Git:     func() git.Fetcher { return git.Fetcher{PlainHTTP: func(string) bool { return true }} },
					Store:   func() (*cache.Store, error) { return store, nil },
					Secrets: fetch.Mounted(secrets).Of(project),
				}
				if scope {
					o.Scope = project
				}
				project = write(t, t.TempDir(), map[string]string{"web.yaml": spec(fmt.Sprintf("{type: git, ref: %q%s}", base+"/web.git?"+query, secret))})
				_, err := rendered(t, project, o)
				if err != nil {
					require.NotContains(t, err.Error(), canary)
				}
				return err
			}
			const named = ", pullSecretRef: {name: git}"
			require.NoError(t, fetching("good", named))
			require.NoError(t, fetching("good", named))
			require.ErrorIs(t, fetching("wrong", named), source.ErrUnauthorized, query)
			require.ErrorIs(t, fetching("none", named), source.ErrNotFound, query)
			require.True(t, errors.Is(fetching("none", ""), source.ErrUnauthorized), query)
			require.ErrorIs(t, fetching("wrong", ", pullSecretRef: {name: ../good/git}"), source.ErrNotFound)
		}
	}
	nowhere(t, dir)
}
