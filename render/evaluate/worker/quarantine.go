// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"crypto/sha256"
	"errors"
	"slices"
	"sync"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
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
func (q *quarantine) check(req evaluate.Request) error {
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
	return diagnose.Because(errors.Join(evaluate.ErrQuarantined, s.cause),
		"the module was stopped %d times with this input and is refused for now: %s", s.stopped, s.cause)
}

// strike notes that req was stopped.
func (q *quarantine) strike(req evaluate.Request, cause error) {
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
func (q *quarantine) absolve(req evaluate.Request) {
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

// fingerprint identifies what the cost of a request depends on: all of it but its
// name and the positions.
func fingerprint(req evaluate.Request) [sha256.Size]byte {
	nowhere := func(m evaluate.Module) evaluate.Module {
		m.Label, m.Sources, m.Pos = "", nil, object.Pos{}
		return m
	}
	text := func(v object.Value) object.Value { return object.Value{Text: string(v.JSON())} }
	req.Spec, req.Pos, req.InputPath = "", object.Pos{}, nil
	req.Module, req.Input = nowhere(req.Module), text(req.Input)
	req.Policies = slices.Clone(req.Policies)
	for i, p := range req.Policies {
		req.Policies[i] = evaluate.Policy{Module: nowhere(p.Module), Input: text(p.Input)}
	}
	// A request always encodes: it holds text, numbers and lists of them.
	sum, _, _ := Sum(req)
	return sum
}
