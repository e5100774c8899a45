// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/render/object"
)

// Pauses between two attempts at what may pass by itself: each is twice the one
// before it, but no more than half of the time that is left, and there is none that
// would leave less than leastAttempt. An attempt may be short: the time that a response
// takes is not part of what is left.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = 8 * time.Second
	leastAttempt = 100 * time.Millisecond
)

// maxNameless limits the attempts for a host without an address: a new name is known within
// seconds, and a misspelt name never.
const maxNameless = 2

// render returns the manifests of a request, in the order in which they are to be applied. It
// retries transient failures within the deadline.
func (s *Server) render(ctx context.Context, r request, files fs.FS) ([]string, error) {
	h, err := s.host(r, files)
	if err != nil {
		return nil, err
	}
	var last error
	wait := firstPause
	for attempts := 1; ; attempts++ {
		// An error that cannot pass by itself is final.
		out, err := s.attempt(ctx, r, h, files)
		if last != nil && err != nil && ctx.Err() != nil {
			return nil, last // There was no time for more, and this says why.
		}
		err = r.explainMissing(r.from.atParameters(err))
		isFinal := !isTransient(err) || (isNameless(err) && attempts >= maxNameless)
		if err == nil || isFinal {
			return out, err
		}

		// The pause doubles, unless a server has requested a longer one or the deadline is near.
		last = err
		pause := wait
		wait = min(2*wait, longestPause)
		deadline, bounded := ctx.Deadline()
		if bounded {
			pause = min(pause, time.Until(deadline)/2)
		}
		pause = max(pause, retryAfter(err))
		if bounded && time.Until(deadline) < pause+leastAttempt {
			return nil, err
		}
		s.metrics.retries.Add(1)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// retryAfter returns the longest pause that a server has requested.
func retryAfter(err error) (wait time.Duration) {
	var mistakes object.Errors
	if !errors.As(err, &mistakes) {
		return 0
	}
	for _, m := range mistakes.Failures() {
		if later := (*remote.Later)(nil); errors.As(m, &later) {
			wait = max(wait, later.After)
		}
	}
	return wait
}

// attempt renders once.
func (s *Server) attempt(ctx context.Context, r request, h host.Host, files fs.FS) ([]string, error) {
	// Requests of one tenant share what they may use.
	session := s.service.Open(r.tenant(), r.Scope)
	defer session.Close()
	opts := r.options(files, s.opts.Limits)
	opts.Emit.HealthConfigured = s.opts.HealthConfigured
	loaded, err := session.Load(ctx, h, opts)
	if isAll(err, host.ErrNoSpec) {
		return nil, fmt.Errorf("%v; %w", err, errEmpty) //nolint:errorlint // one text for both
	}
	if err != nil {
		return nil, err
	}

	// An error that passes by itself ends the attempt before anything is rendered.
	// Nothing else is rendered in vain.
	if err := loaded.Request.Mistakes.Err(); isTransient(err) {
		return nil, err
	}
	loaded.Request.Parallel = s.opts.Parallel
	outcome, err := session.Render(ctx, loaded.Request)
	if err != nil {
		return nil, err
	}

	// Metrics and warnings are of renders that succeeded.
	s.metrics.countRender(outcome.Plan == nil)
	s.warn(r, outcome.Warnings)
	out := make([]string, len(outcome.Files))
	for i, f := range outcome.Files {
		out[i] = string(f.Data)
	}
	if len(out) == 0 && !r.AllowEmpty {
		return nil, errEmpty
	}
	return out, nil
}
