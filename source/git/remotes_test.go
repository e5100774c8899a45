// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git_test

import (
	"os"
	"path/filepath"
	"testing"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/source/git"
)

func TestRemotesHaveNoUserAndNoPassword(t *testing.T) {
	dir := t.TempDir()
	repo, err := gogit.PlainInit(dir, false)
	require.NoError(t, err)
	for name, url := range map[string]string{
		"origin": "https://me:secret@git.example.com/me/fleet.git", "upstream": "git@git.example.com:acme/fleet.git", "ssh": "ssh://git@git.example.com/acme/fleet",
	} {
		_, err := repo.CreateRemote(&config.RemoteConfig{Name: name, URLs: []string{url}})
		require.NoError(t, err)
	}
	inside := filepath.Join(dir, "clusters")
	require.NoError(t, os.Mkdir(inside, 0o700))
	want := []string{"git@git.example.com:acme/fleet.git", "https://git.example.com/me/fleet.git", "ssh://git.example.com/acme/fleet"}
	require.Equal(t, want, git.Remotes(dir))
	require.Equal(t, want, git.Remotes(inside), "a folder of the repository")
}

func TestAFolderWithoutARepositoryHasNoRemotes(t *testing.T) {
	require.Empty(t, git.Remotes(t.TempDir()))
}
