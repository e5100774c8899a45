// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"sync"
	"time"
)

// How much processor time an evaluation may take before its worker runs behind
// all others. It is counted by the processor and not by the clock, because a busy
// machine makes nobody greedy.
const (
	courtesy = 200 * time.Millisecond
	// longestCourtesy bounds what a module gets that has ended well before.
	longestCourtesy = time.Second
	// maxKnownSlow is how many such modules are remembered; the one that came first
	// is forgotten first.
	maxKnownSlow = 256
)

// watch looks after one evaluation: a worker that takes long while others want the
// processor runs behind them from then on. Its fields are written under the lock
// of the pool, but for those that never change.
type watch struct {
	pool  *Pool
	proc  *process
	began time.Duration // of processor time
	may   time.Duration
	timer *time.Timer

	over  bool // it has taken more than it may
	last  bool // it runs behind all others, and nothing makes it run as before
	ended bool
}

// watch begins to look after an evaluation of s; nil where nothing can be done
// about one.
func (p *Pool) watch(s *slot, m Module) *watch {
	began, ok := s.proc.processorTime()
	if !ok {
		return nil
	}
	w := &watch{pool: p, proc: s.proc, began: began, may: p.slow.allowance(m.Digest)}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.watch = w
	w.timer = time.AfterFunc(w.may, w.look)
	return w
}

// look comes back until the evaluation has had what it may.
func (w *watch) look() {
	w.pool.mu.Lock()
	defer w.pool.mu.Unlock()
	used, ok := w.proc.processorTime()
	if w.ended || !ok {
		return
	}
	if left := w.may - (used - w.began); left > 0 {
		w.timer.Reset(max(left, courtesy/8))
		return
	}
	w.over = true
	if w.pool.contended() {
		w.last = w.proc.runLast()
	}
}

// end is called when the evaluation is over, and reports whether its worker is to
// be replaced. An evaluation that went well says how long its module needs.
func (w *watch) end(m Module, well bool) (replace bool) {
	if w == nil {
		return false
	}
	w.timer.Stop()
	w.pool.mu.Lock()
	defer w.pool.mu.Unlock()
	w.ended = true
	if used, ok := w.proc.processorTime(); ok && well {
		w.pool.slow.learn(m.Digest, used-w.began)
	}
	return w.last
}

// contended reports whether a call beside that of one slot wants the processor. The
// lock is held.
func (p *Pool) contended() bool {
	busy := len(p.waiting)
	for _, s := range p.slots {
		if s.busy {
			busy++
		}
	}
	return busy > 1
}

// makeWay puts those behind a new call that have taken more than they may. The lock
// is held.
func (p *Pool) makeWay() {
	for _, s := range p.slots {
		if w := s.watch; w != nil && w.over && !w.ended && !w.last {
			w.last = w.proc.runLast()
		}
	}
}

// knownSlow remembers modules whose evaluations take long and end well, so that
// they do not cost a worker each time.
type knownSlow struct {
	mu    sync.Mutex
	took  map[string]time.Duration // by digest
	order []string
}

// allowance is how much a module may take: twice of what it was seen to need.
func (k *knownSlow) allowance(digest string) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return min(longestCourtesy, max(courtesy, 2*k.took[digest]))
}

// learn notes what a module needed, where that is worth it.
func (k *knownSlow) learn(digest string, took time.Duration) {
	if took <= courtesy/2 || digest == "" {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, known := k.took[digest]; !known {
		if k.took == nil {
			k.took = map[string]time.Duration{}
		}
		if len(k.order) >= maxKnownSlow {
			delete(k.took, k.order[0])
			k.order = k.order[1:]
		}
		k.order = append(k.order, digest)
	}
	k.took[digest] = max(k.took[digest], took)
}
