// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"io/fs"

	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/source/lock"
)

// host returns the host that fetches the modules of a request.
func (s *Server) host(r request, files fs.FS) (host.Host, error) {
	locked, _, err := project.Lock(project.Options{FS: files, Args: []string{r.Path}})
	if err != nil {
		return host.Host{}, err
	}
	mode := lock.FrozenUnlessPinned
	if s.opts.AllowUnlocked {
		mode = lock.Prefer
	}
	return s.opts.Connect(Connection{
		Lock: locked, Mode: mode, Scope: r.Scope, Project: r.project, Refused: s.metrics.countRefusal, Source: s.source(r),
	})
}

// source returns where a request comes from, with its credentials, or nil if those are not
// offered.
func (s *Server) source(r request) *Source {
	if r.nonce == "" || r.repository == "" || s.opts.AskPass == "" {
		return nil
	}
	return &Source{Repository: r.repository, Credentials: func(ctx context.Context) (user, password string, err error) {
		return s.opts.AskPass.Credentials(ctx, r.nonce)
	}}
}
