// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/lock"
	"github.com/ropewalk/ropewalk/source/rootfs"
)

// maxLock is how many bytes ropewalk.lock may have.
const maxLock = 8 << 20

// host is what fetches the modules of a request.
func (s *Server) host(r request, files fs.FS) (host.Host, error) {
	locked, err := readLock(files, path.Join(r.Path, lock.Name))
	if err != nil {
		return host.Host{}, err
	}
	to := Connection{
		Lock: locked, Mode: lock.Prefer, Scope: r.Scope, Project: r.project, Refused: s.metrics.refused, Source: s.source(r),
	}
	free, err := s.opts.Connect(to)
	if err != nil || s.opts.AllowUnlocked {
		return free, err
	}
	to.Mode = lock.Frozen
	strict, err := s.opts.Connect(to)
	if err != nil {
		return host.Host{}, err
	}
	for kind, f := range strict.Fetchers {
		if other, ok := free.Fetchers[kind]; ok {
			strict.Fetchers[kind] = pinned{strict: f, free: other}
		}
	}
	return strict, nil
}

// source is where a request comes from, with its credentials, if those are offered.
func (s *Server) source(r request) *Source {
	if r.nonce == "" || r.repository == "" || s.opts.AskPass == "" {
		return nil
	}
	return &Source{Repository: r.repository, Credentials: func(ctx context.Context) (user, password string, err error) {
		return s.opts.AskPass.Credentials(ctx, r.nonce)
	}}
}

// readLock is the lock of a project; an empty one if there is none.
func readLock(files fs.FS, name string) (lock.File, error) {
	root, err := rootfs.Of(files, ".")
	if err != nil {
		return lock.File{}, err
	}
	info, err := root.Stat(name)
	if err != nil {
		if link, lstat := root.Lstat(name); lstat == nil && link.Mode()&fs.ModeSymlink != 0 {
			return lock.File{}, fmt.Errorf("%s: a symbolic link that leads to no file of the repository: commit the file itself", name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return lock.File{}, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxLock {
		return lock.File{}, fmt.Errorf("%s: not a regular file of at most %d MiB", name, maxLock>>20)
	}
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return lock.File{}, err
	}
	return lock.Parse(name, data)
}

// pinned fetches pinned references without a lock.
type pinned struct{ strict, free source.Fetcher }

// Fetch gets a tree.
func (p pinned) Fetch(ctx context.Context, ref source.Ref) (source.Tree, error) {
	if isPinned(ref) {
		return p.free.Fetch(ctx, ref)
	}
	return p.strict.Fetch(ctx, ref)
}

// isPinned reports whether a reference resolves to one revision only: an OCI reference
// with a digest, and a commit of Git.
func isPinned(ref source.Ref) bool {
	switch ref.Type {
	case source.TypeOCI:
		return strings.Contains(ref.Ref, "@sha256:") || strings.Contains(ref.Ref, "@sha512:")
	case source.TypeGit:
		_, query, _ := strings.Cut(ref.Ref, "?")
		for option := range strings.SplitSeq(query, "&") {
			if strings.HasPrefix(option, "commit=") {
				return true
			}
		}
	}
	return false
}
