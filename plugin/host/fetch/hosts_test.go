// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package fetch_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/host/fetch"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/git"
	"github.com/ropewalk/ropewalk/test/servers"
)

func TestWhatAHostsCredentialsHadIsGoneWithThem(t *testing.T) {
	root := t.TempDir()
	repo := servers.NewGit(t, filepath.Join(root, "web.git"))
	commit := repo.Commit(module(), "a module")
	base := servers.GitHTTP(t, root, servers.WithGitAuth("alice", canary))
	hosts := t.TempDir()
	folder := filepath.Join(hosts, strings.TrimPrefix(base, "http://"))
	for _, query := range []string{"commit=" + commit, "branch=main"} {
		options := cached(t)
		options.Git = func() git.Fetcher { return git.Fetcher{PlainHTTP: func(string) bool { return true }} }
		options.GitHosts = fetch.Mounted(hosts)
		render := func() error {
			_, err := rendered(t, using(t, "git", base+"/web.git?"+query), options)
			return err
		}
		write := func(value string) {
			require.NoError(t, os.RemoveAll(folder))
			mount(t, folder, password(value))
		}
		write(canary)
		require.NoError(t, render(), query)

		// The server would not have it any more.
		require.NoError(t, os.Rename(filepath.Join(root, "web.git"), filepath.Join(root, "away")))
		require.NoError(t, render(), "it is in the cache")
		require.NoError(t, os.Rename(filepath.Join(root, "away"), filepath.Join(root, "web.git")))

		require.NoError(t, os.RemoveAll(folder))
		require.ErrorIs(t, render(), source.ErrUnauthorized, query)
		write(canary + "-wrong")
		require.ErrorIs(t, render(), source.ErrUnauthorized, query)
		write(canary)
		require.NoError(t, render(), query)
	}
}

func TestAMountedSecretSaysWhenItChanged(t *testing.T) {
	dir := t.TempDir()
	mount(t, filepath.Join(dir, "git"), password(canary))
	m := fetch.Mounted(dir)
	change := func() string {
		t.Helper()
		out, err := m.Change(t.Context(), "git")
		require.NoError(t, err)
		require.Len(t, out, 32)
		return out
	}
	first := change()
	require.Equal(t, first, change())
	name := filepath.Join(dir, "git", "password")
	later := time.Now().Add(time.Hour)
	require.NoError(t, os.Chtimes(name, later, later))
	second := change()
	require.NotEqual(t, first, second)
	require.NoError(t, os.Remove(name))
	require.NotEqual(t, second, change())
	for _, missing := range []string{"", "..", "other", "../git"} {
		_, err := m.Change(t.Context(), missing)
		require.ErrorIs(t, err, source.ErrNotFound, missing)
	}
}
