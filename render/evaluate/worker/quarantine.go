// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"crypto/sha256"
	"errors"
	"slices"
	"sync"

	"github.com/ropewalk/ropewalk/internal/lru"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/object"
)

// maxSuspects bounds the requests that a quarantine knows.
const maxSuspects = 1024

// quarantine knows the requests that their limits stopped.
type quarantine struct {
	strikes, refusals int

	mu       sync.Mutex
	suspects *lru.Cache[[sha256.Size]byte, *suspect]
}

func newQuarantine(strikes, refusals int) *quarantine {
	return &quarantine{strikes: strikes, refusals: refusals, suspects: lru.New[[sha256.Size]byte, *suspect](maxSuspects)}
}

// suspect counts how often a request was stopped and refused.
type suspect struct {
	stopped int // times
	refused int // times since it was stopped last
	cause   error
}

// empty reports whether nothing is suspect, so that no request need be hashed.
func (q *quarantine) empty() bool { return q.suspects.Stats().Entries == 0 }

// check refuses a request that was stopped too often.
func (q *quarantine) check(req evaluate.Request) error {
	if q.empty() {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	s, known := q.suspects.Get(fingerprint(req))
	if !known || s.stopped < q.strikes || s.refused >= q.refusals {
		return nil
	}
	s.refused++
	return diagnose.Because(errors.Join(evaluate.ErrQuarantined, s.cause),
		"the module was stopped %d times with this input and is refused for now: %s", s.stopped, s.cause)
}

// strike notes that req was stopped.
func (q *quarantine) strike(req evaluate.Request, cause error) {
	if q.strikes < 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	key := fingerprint(req)
	s, known := q.suspects.Get(key)
	if !known {
		s = &suspect{}
		q.suspects.Put(key, s, 1)
	}
	s.stopped++
	s.refused = 0
	s.cause = cause
}

// absolve forgets req, because it went well.
func (q *quarantine) absolve(req evaluate.Request) {
	if !q.empty() {
		q.suspects.Delete(fingerprint(req))
	}
}

// fingerprint identifies what the cost of a request depends on: everything but its
// name and the positions.
func fingerprint(req evaluate.Request) [sha256.Size]byte {
	nowhere := func(m evaluate.Module) evaluate.Module {
		m.Label = ""
		m.Sources = nil
		m.Pos = object.Pos{}
		return m
	}
	text := func(v object.Value) object.Value { return object.Value{Text: string(v.JSON())} }

	// Names and positions change no cost.
	req.Spec = ""
	req.Pos = object.Pos{}
	req.InputPath = nil
	req.Module = nowhere(req.Module)

	// Inputs and policies count without their positions, too.
	req.Input = text(req.Input)
	req.Layers = slices.Clone(req.Layers)
	for i, layer := range req.Layers {
		req.Layers[i] = text(layer)
	}
	req.Policies = slices.Clone(req.Policies)
	for i, p := range req.Policies {
		req.Policies[i] = evaluate.Policy{Module: nowhere(p.Module), Input: text(p.Input)}
	}
	// A request always encodes: it holds text, numbers and lists of them.
	sum, _, _ := Sum(req)
	return sum
}
