// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"hash/fnv"
	"time"

	"github.com/ropewalk/ropewalk/render/evaluate"
)

// slot is one worker. Only the holder of a slot (busy) uses its
// process; the fields are written under the lock of the pool.
type slot struct {
	busy bool
	proc *process // nil where none runs
}

// acquire returns a slot, and waits for a free slot if all are busy.
func (p *Pool) acquire(ctx context.Context, req evaluate.Request) (*slot, error) {
	for admitted := false; !admitted; {
		var late <-chan time.Time
		if p.opts.patience > 0 {
			late = time.After(p.opts.patience)
		}
		select {
		case p.running <- struct{}{}:
			admitted = true
		case <-late:
			p.open()
		case <-p.closing:
			return nil, evaluate.ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}

	// A module goes to the worker that it went to before, if that is free.
	p.mu.Lock()
	defer p.mu.Unlock()
	var preferred *slot
	if req.Component == nil { // What builds a component keeps nothing of it.
		preferred = p.preferred(req.Module.Digest)
	}
	s := p.idle(preferred, req)
	s.busy = true
	return s, nil
}

// open takes a slot out of the reserve, unless the reserve is empty.
func (p *Pool) open() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reserve > 0 {
		p.reserve--
		<-p.running
	}
}

// release makes s free for another call.
func (p *Pool) release(s *slot) {
	p.mu.Lock()
	s.busy = false
	p.mu.Unlock()
	<-p.running
}

// preferred returns the slot that a module belongs to.
func (p *Pool) preferred(digest string) *slot {
	h := fnv.New32a()
	_, _ = h.Write([]byte(digest)) // a hash never fails
	return p.slots[int(h.Sum32())%len(p.slots)]
}

// idle returns the best slot that is not busy: the preferred slot, then a slot whose worker knows
// the module, then a slot whose worker runs, then any slot.
func (p *Pool) idle(preferred *slot, req evaluate.Request) *slot {
	var best *slot
	bestScore := -1
	for _, s := range p.slots {
		score := 0
		switch {
		case s.busy:
			continue
		case s == preferred:
			score = 3
		case s.proc != nil && s.proc.memory == req.Limits.Memory && s.proc.knows(req.Module):
			score = 2
		case s.proc != nil && s.proc.memory == req.Limits.Memory:
			score = 1
		}
		if score > bestScore {
			best, bestScore = s, score
		}
	}
	return best
}

// try does j once, in the time that is left. With fresh it does so on a worker
// that has done nothing before.
func (p *Pool) try(ctx context.Context, j job, remaining time.Duration, fresh bool) (*reply, *loss) {
	s, err := p.acquire(ctx, j.req)
	if err != nil {
		return nil, &loss{cause: err}
	}
	defer p.release(s)

	// A process that does not suit the request is replaced.
	if proc := s.proc; proc != nil {
		tooUsed := fresh && proc.used
		if tooUsed || proc.ended() || proc.memory != j.req.Limits.Memory {
			p.drop(s, errRecycled)
		}
	}
	if s.proc == nil {
		if err := p.start(s, j.req.Limits.Memory); err != nil {
			return nil, &loss{cause: err}
		}
	}

	// A worker that was lost, or that asks for it, is not used again.
	r, lost := s.proc.call(ctx, j, remaining)
	switch {
	case lost != nil && lost.unsent:
	case lost != nil:
		p.drop(s, lost.cause)
	case r.Retire:
		p.drop(s, errRecycled)
	}
	if r != nil {
		p.count(func(st *Stats) { st.LiveHeap = r.Live })
	}
	return r, lost
}

// start puts a new process into s.
func (p *Pool) start(s *slot, memory int64) error {
	proc, err := startProcess(p.opts, p.codec, memory)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.proc = proc
	p.stats.Started++
	p.reapers.Go(func() {
		peak := proc.reap()
		p.count(func(st *Stats) { st.PeakMemory = max(st.PeakMemory, peak) })
	})
	if p.closed {
		proc.kill(evaluate.ErrClosed)
	}
	return nil
}

// drop ends the process of s, if s has a process.
func (p *Pool) drop(s *slot, why error) {
	p.mu.Lock()
	proc := s.proc
	s.proc = nil
	switch {
	case proc == nil, errors.Is(why, evaluate.ErrClosed):
	case errors.Is(why, errRecycled):
		p.stats.Recycled++
	default:
		p.stats.Killed++
	}
	p.mu.Unlock()
	if proc != nil {
		proc.kill(why)
		proc.close()
	}
}
