// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"crypto/sha256"
	"errors"
	"sync"

	"github.com/ropewalk/ropewalk/render/object"
)

// maxSuspects bounds how many requests a quarantine remembers; the one that
// came first is forgotten first.
const maxSuspects = 1024

// quarantine remembers requests that their limits stopped.
type quarantine struct {
	strikes, refusals int

	mu       sync.Mutex
	suspects map[[sha256.Size]byte]*suspect
	order    [][sha256.Size]byte
}

// suspect is what is held against a request.
type suspect struct {
	stopped int // times
	refused int // times since it was stopped last
	cause   error
}

// check refuses a request that was stopped too often. Nothing is hashed while
// nothing is suspect.
func (q *quarantine) check(req Request) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.suspects) == 0 || q.strikes < 0 {
		return nil
	}
	s := q.suspects[fingerprint(req)]
	if s == nil || s.stopped < q.strikes || s.refused >= q.refusals {
		return nil
	}
	s.refused++
	return because(errors.Join(ErrQuarantined, s.cause),
		"the module was stopped %d times with this input and is refused for now: %s", s.stopped, s.cause)
}

// strike notes that req was stopped.
func (q *quarantine) strike(req Request, cause error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.strikes < 0 {
		return
	}
	key := fingerprint(req)
	s := q.suspects[key]
	if s == nil {
		if q.suspects == nil {
			q.suspects = map[[sha256.Size]byte]*suspect{}
		}
		if len(q.order) >= maxSuspects {
			delete(q.suspects, q.order[0])
			q.order = q.order[1:]
		}
		s = &suspect{}
		q.suspects[key] = s
		q.order = append(q.order, key)
	}
	s.stopped++
	s.refused = 0
	s.cause = cause
}

// absolve forgets req, because it went well.
func (q *quarantine) absolve(req Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.suspects) == 0 {
		return
	}
	key := fingerprint(req)
	if q.suspects[key] == nil {
		return
	}
	delete(q.suspects, key)
	for i, k := range q.order {
		if k == key {
			q.order = append(q.order[:i:i], q.order[i+1:]...)
			break
		}
	}
}

// fingerprint identifies what the cost of a request depends on: modules,
// inputs, context and limits, but neither its name nor any position.
func fingerprint(req Request) [sha256.Size]byte {
	e := newEncoder()
	part := func(m Module, input object.Value) {
		e.text(m.Digest)
		e.text(m.Dir)
		encodeMap(e, m.Tags, e.text)
		e.text(string(input.JSON()))
	}
	part(req.Module, req.Input)
	for _, p := range req.Policies {
		part(p.Module, p.Input)
	}
	for _, s := range contextFields(&req.Context) {
		e.text(*s)
	}
	e.int64(int64(req.Limits.Timeout))
	e.int64(req.Limits.Memory)
	e.bool(req.Describe)
	return sha256.Sum256(e.buf)
}
