// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/ropewalk/ropewalk/test/servers"
)

// Repository is a Git repository that the Git server of the cluster serves over
// http, whose branch is main.
type Repository struct {
	// URL is where it is served.
	URL string
	// Git is the repository, for branches, tags and all else that git does.
	Git *servers.Git
}

// Git makes an empty repository.
func (c *Cluster) Git(t testing.TB) *Repository {
	t.Helper()
	c.mu.Lock()
	c.repositories++
	name := fmt.Sprintf("repository-%d.git", c.repositories)
	c.mu.Unlock()
	return &Repository{URL: c.GitURL(name), Git: servers.NewGit(t, filepath.Join(c.gitRoot, name))}
}

// Commit puts files, by path, over those of the branch and gives the hash.
func (r *Repository) Commit(files map[string]string) string { return r.Git.Commit(files, "change") }
