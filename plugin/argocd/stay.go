// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ropewalk/ropewalk/plugin/argocd/internal/unpack"
	"github.com/ropewalk/ropewalk/plugin/host/turn"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/source"
)

// patience is how long a request waits for a registry, or for a worker, before it
// gives its places to others.
const patience = 250 * time.Millisecond

// What a tree takes of the memory for those that wait, beside its files: its request
// and what was loaded of it, and each entry.
const (
	stayCost  = 64 << 10
	entryCost = 256
)

// errStays says that too much is kept for requests that wait for others.
var errStays = errors.New("too many requests wait for registries and Git servers that do not answer")

// stay is what a request holds while it is worked on: a place among those that are
// unpacked, and one among those that are rendered. Whoever waits for a registry gives
// both away, and the memory of their archive counts against the budget for that. Its
// methods are safe for concurrent use.
type stay struct {
	server *Server
	name   turn.Name
	// task is one with the evaluations of the request.
	task turn.Task

	mu sync.Mutex
	// intake gives the place of the archive back, of so many bytes; nil where it has
	// none.
	intake func()
	size   int64
	// budget gives the memory back; nil while the place of the archive is held.
	budget func()
	// render gives the place of a render back; nil where none is held.
	render func()
	// elsewhere says that something was fetched, so that the answer does not follow
	// from the archive alone.
	elsewhere bool
	// away is how many wait for others; attempting says that a render goes on.
	away       int
	attempting bool
}

// stayKey finds the stay of a request in its context.
type stayKey struct{}

func stayOf(ctx context.Context) *stay {
	s, _ := ctx.Value(stayKey{}).(*stay)
	return s
}

// stay begins the stay of a request. The caller ends it.
func (s *Server) stay(r request) *stay { return &stay{server: s, name: r.turn()} }

// unpacked notes the archive of the request, which holds a place.
func (s *stay) unpacked(done func(), tree *unpack.Tree) {
	stats := tree.Stats()
	s.intake, s.size = done, stats.Memory+int64(stats.Entries)*entryCost
}

// end gives back all that is held.
func (s *stay) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, back := range []func(){s.intake, s.budget, s.render} {
		if back != nil {
			back()
		}
	}
	s.intake, s.budget, s.render = nil, nil, nil
}

// park gives the place of the archive away; it is false where there is no memory for
// one more that waits, which keeps its place then.
func (s *stay) park() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parked()
}

func (s *stay) parked() bool {
	if s.budget != nil {
		return true
	}
	budget, ok := s.server.parked.Take(s.name.Tenant, s.size+stayCost)
	if !ok {
		return false
	}
	if s.budget = budget; s.intake != nil {
		s.intake()
		s.intake = nil
	}
	return true
}

// begin takes a place for a render, which finish gives back.
func (s *stay) begin(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	done, err := s.server.renders.Wait(ctx, s.name)
	s.render, s.attempting = done, err == nil
	return err
}

func (s *stay) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attempting = false; s.render != nil {
		s.render()
		s.render = nil
	}
}

// leave gives the places away; it is false where there is no memory for one more that
// waits.
func (s *stay) leave() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away++
	// Who comes late has nothing to give away any more.
	if !s.attempting || s.away <= 0 {
		return true
	}
	if s.render != nil {
		s.render()
		s.render = nil
	}
	return s.parked()
}

// back waits for the place of a render again, once nobody is away any more.
func (s *stay) back(ctx context.Context) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away--; s.away == 0 && s.render == nil && s.attempting {
		s.render, err = s.server.renders.Wait(ctx, s.name)
	}
	return err
}

// outside does work that waits for others: where that takes long, the places are
// given away meanwhile. Full is called where that cannot be.
func (s *stay) outside(ctx context.Context, full func(), work func() error) error {
	if s == nil {
		return work()
	}
	timer := time.AfterFunc(patience, func() {
		if !s.leave() {
			full()
		}
	})
	err := work()
	if !timer.Stop() {
		if late := s.back(ctx); err == nil {
			err = late
		}
	}
	return err
}

// away fetches from elsewhere, outside of the places of a request.
func away(ctx context.Context, fetch func(context.Context) (source.Tree, error)) (tree source.Tree, err error) {
	inner, end := context.WithCancelCause(ctx)
	defer end(nil)
	err = stayOf(ctx).outside(ctx, func() { end(errStays) }, func() (err error) {
		tree, err = fetch(inner)
		return err
	})
	if err != nil && errors.Is(context.Cause(inner), errStays) {
		err = errStays
	}
	return tree, err
}

// fetched notes that the answer depends on what is elsewhere.
func (s *stay) fetched() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.elsewhere = true
}

// alone says that the answer follows from the archive and the variables of the request.
func (s *stay) alone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.elsewhere
}

// patient fetches from elsewhere.
type patient struct{ next source.Fetcher }

// Fetch gets a tree.
func (p patient) Fetch(ctx context.Context, ref source.Ref) (source.Tree, error) {
	if ref.Type != source.TypeEmbedded { // which is part of the program
		stayOf(ctx).fetched()
	}
	tree, err := away(ctx, func(ctx context.Context) (source.Tree, error) { return p.next.Fetch(ctx, ref) })
	if errors.Is(err, errStays) {
		err = fmt.Errorf("%s: %w", ref.Ref, err)
	}
	return tree, err
}

// Turns has applications take turns at an evaluator that does size evaluations at
// once. One that goes on for long while others wait ends and is begun again when its
// turn comes; such evaluations take no more than half of the places from then on, so
// that modules without end, of however many applications, hold up no others.
func Turns(e evaluate.Evaluator, size int) evaluate.Evaluator {
	queue := turn.NewYielding(size)
	return turn.Evaluator{Next: e, Run: func(ctx context.Context, work func(ctx context.Context) error) error {
		s := stayOf(ctx)
		if s == nil {
			s = &stay{}
		}
		return s.outside(ctx, func() {}, func() error { return queue.Run(ctx, s.name, &s.task, work) })
	}}
}
