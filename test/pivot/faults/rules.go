// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Random has a share of all requests fail: errors of the API server, answers that are lost,
// and delays of up to 200 ms, at random by a seed. A conflict is only answered to writes,
// and the answer to a read cannot be a conflict on a real server either.
func Random(seed uint64, share float64) Rule {
	var mu sync.Mutex
	dice := rand.New(rand.NewPCG(seed, seed)) //nolint:gosec // a test that can be repeated
	return func(r Request) Fault {
		mu.Lock()
		defer mu.Unlock()
		if dice.Float64() >= share {
			return Fault{}
		}
		kinds := []Fault{
			{Status: http.StatusTooManyRequests}, {Status: http.StatusInternalServerError}, {Status: http.StatusServiceUnavailable},
			{Lose: true}, {Delay: time.Duration(dice.Int64N(int64(200 * time.Millisecond)))}, {Status: http.StatusConflict},
		}
		n := len(kinds)
		if r.Write == 0 {
			n--
		}
		return kinds[dice.IntN(n)]
	}
}

// Kill calls kill once, at the write with a number: before the server has it, or after the
// server has handled it. From then on no request is let through, as the client is dead, until
// the rule is replaced.
func Kill(write int, after bool, kill func()) Rule {
	return KillAt(func(r Request) bool { return r.Write == write }, after, kill)
}

// Together holds back the first write that is meant until there is a second one, of another
// client.
func Together(meant func(Request) bool) Rule {
	var seen atomic.Int32
	both := make(chan struct{})
	return func(r Request) Fault {
		if r.Write == 0 || !meant(r) {
			return Fault{}
		}
		switch seen.Add(1) {
		case 1:
			<-both
		case 2:
			close(both)
		}
		return Fault{}
	}
}

// KillAt is Kill at the first write that is meant.
func KillAt(at func(Request) bool, after bool, kill func()) Rule {
	var dead atomic.Bool
	die := func() {
		dead.Store(true)
		kill()
	}
	return func(r Request) Fault {
		switch {
		case dead.Load():
			return Fault{Before: func() {}}
		case r.Write == 0 || !at(r):
			return Fault{}
		case after:
			return Fault{After: die}
		default:
			return Fault{Before: die}
		}
	}
}
