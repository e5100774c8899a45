// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"

	"github.com/ropewalk/ropewalk/internal/limiter"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/rendercache"
	"github.com/ropewalk/ropewalk/plugin/host/tracing"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/resultcache"
)

// Options are what a service shares among its tenants. Renderer and Slots are required.
type Options struct {
	// Renderer evaluates modules of tenants: its evaluator must stop what exceeds the limits of
	// a request.
	Renderer render.Renderer
	// Slots has a slot for each evaluation that runs at once.
	Slots *limiter.Limiter
	// Working is how many bytes documents, inputs, modules and objects of one render may take in
	// this process, roughly; no limit where zero.
	Working int64
	// Evaluations keep what evaluations return; nil keeps nothing.
	Evaluations *resultcache.Results
	// Stores keep finished renders, in this order: memory before disk; none is fine.
	Stores []rendercache.Store
	// Version identifies the program; with "" no render is kept.
	Version string
	// Report receives the errors of stores; nil discards them.
	Report func(error)
}

// Service renders. It is safe for concurrent use.
type Service struct {
	opts    Options
	budgets *Budgets
}

// New returns a service without any work.
func New(opts Options) *Service {
	return &Service{opts: opts, budgets: NewBudgets(opts.Working)}
}

// Waiting returns how many evaluations and large renders wait for others.
func (s *Service) Waiting() int { return s.opts.Slots.Stats().Waiting + s.budgets.Waiting() }

// Open begins a render for a tenant, a namespace or a project of Argo CD; the caller closes it.
// Finished renders are found again by those of the same scope, see [rendercache.Cache].
func (s *Service) Open(tenant, scope string) *Session {
	budget := s.budgets.Open(tenant)
	// What is kept needs no slot.
	limited := Limited{Next: s.opts.Renderer.Evaluator, Limiter: s.opts.Slots, Tenant: tenant}
	kept := resultcache.Evaluator{Next: limited, Results: s.opts.Evaluations}
	return &Session{of: s, scope: scope, budget: budget, Evaluator: budget.Evaluator(kept)}
}

// Session is one render. It is safe for concurrent use.
type Session struct {
	// Evaluator evaluates within the limits of the service.
	Evaluator evaluate.Evaluator

	of     *Service
	scope  string
	budget *Budget
}

// Close ends the render, so that the next large one goes on.
func (s *Session) Close() { s.budget.Close() }

// Charge counts bytes that the render takes, see [Budget.Charge].
func (s *Session) Charge(ctx context.Context, bytes int64) error { return s.budget.Charge(ctx, bytes) }

// Load loads what opts name within the limits of the service; the errors are those of
// [host.Host.Load].
func (s *Session) Load(ctx context.Context, h host.Host, opts host.Options) (loaded host.Loaded, err error) {
	ctx, end := tracing.Start(ctx, "load")
	defer func() { end(err) }()
	opts.Evaluator = s.Evaluator
	opts.Charge = s.Charge
	return h.Load(ctx, opts)
}

// Render renders a request, or finds it rendered: its Plan is nil then. The errors are those of
// [render.Renderer.Render].
func (s *Session) Render(ctx context.Context, req render.Request) (out rendercache.Outcome, err error) {
	ctx, end := tracing.Start(ctx, "render")
	defer func() {
		tracing.Set(ctx, tracing.Cached.Bool(err == nil && out.Plan == nil))
		end(err)
	}()
	renderer := s.of.opts.Renderer
	renderer.Evaluator = s.Evaluator
	cache := rendercache.Cache{
		Next: renderer, Stores: s.of.opts.Stores, Version: s.of.opts.Version, Scope: s.scope, Failed: s.of.opts.Report,
	}
	return cache.Render(ctx, req)
}
