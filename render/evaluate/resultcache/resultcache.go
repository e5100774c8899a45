// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package resultcache keeps results of evaluations in memory: a process that renders a
// project again and again evaluates only the specs that have changed in between.
//
// # Invariants
//
// The key is the whole request but its limits, positions too, so that an error or a
// trace always names the right line. Only successes are kept. The objects of nodes are
// shared between results and must not be changed; nodes themselves are not.
package resultcache

import (
	"context"
	"crypto/sha256"
	"slices"

	"github.com/ropewalk/ropewalk/internal/lru"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/worker"
	"github.com/ropewalk/ropewalk/render/object"
)

// Results are kept by the sum of their request. They cost their encoded size.
type Results = lru.Cache[[sha256.Size]byte, evaluate.Result]

// New returns a cache of at most limit bytes.
func New(limit int64) *Results { return lru.New[[sha256.Size]byte, evaluate.Result](limit) }

// Evaluator is an evaluator with a cache before it.
type Evaluator struct {
	Next evaluate.Evaluator
	// Results may be shared by evaluators that give equal results; nil caches nothing.
	Results *Results
}

var _ evaluate.Evaluator = Evaluator{}

// Evaluate implements evaluate.Evaluator.
func (e Evaluator) Evaluate(ctx context.Context, req evaluate.Request) (evaluate.Result, error) {
	if e.Results == nil || !identified(req) {
		return e.Next.Evaluate(ctx, req)
	}
	keyed := req
	keyed.Limits = evaluate.Limits{}
	key, _, err := worker.Sum(keyed)
	if err != nil {
		return e.Next.Evaluate(ctx, req)
	}
	if result, ok := e.Results.Get(key); ok {
		return withOwnNodes(result), ctx.Err()
	}
	result, err := e.Next.Evaluate(ctx, req)
	if err != nil {
		return result, err
	}
	if _, size, err := worker.Sum(result); err == nil {
		e.Results.Put(key, withOwnNodes(result), size)
	}
	return result, nil
}

// Trace implements evaluate.Evaluator; origins are not cached.
func (e Evaluator) Trace(ctx context.Context, req evaluate.Request, queries []evaluate.Query) ([]evaluate.Origin, error) {
	return e.Next.Trace(ctx, req, queries)
}

// identified reports whether the digests of a request identify all of its files.
func identified(req evaluate.Request) bool {
	return req.Module.Digest != "" &&
		!slices.ContainsFunc(req.Policies, func(p evaluate.Policy) bool { return p.Module.Digest == "" })
}

// withOwnNodes returns a result with nodes of its own, because later stages fill them in.
func withOwnNodes(r evaluate.Result) evaluate.Result {
	r.Nodes = ownNodes(r.Nodes)
	if r.Provisioned != nil {
		provisioned := make(map[string]evaluate.Provisioned, len(r.Provisioned))
		for key, p := range r.Provisioned {
			p.Nodes = ownNodes(p.Nodes)
			provisioned[key] = p
		}
		r.Provisioned = provisioned
	}
	r.Violations = slices.Clone(r.Violations)
	r.Undecided = slices.Clone(r.Undecided)
	r.Warnings = slices.Clone(r.Warnings)
	return r
}

func ownNodes(nodes []*object.Node) []*object.Node {
	copies := slices.Clone(nodes)
	for i, n := range copies {
		copied := *n
		copies[i] = &copied
	}
	return copies
}
