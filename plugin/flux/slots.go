// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/internal/limiter"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

const (
	// slotWait is how long a reconciliation waits for a slot while its namespace uses
	// others, and slotRetry is when it tries again. The wait is short, because what waits
	// keeps the queue from reaching Transforms of other namespaces.
	slotWait  = 250 * time.Millisecond
	slotRetry = time.Second
	// fetchTimeout bounds all that is fetched for one render. A slot is never taken back,
	// so that this and the timeout of evaluations bound how long others wait for it.
	fetchTimeout = 5 * time.Minute
)

// A render that ends with one of these is tried again; nothing is wrong with it.
var (
	errNoSlot     = errors.New("waiting for a free render slot: other Transforms use all that --concurrent gives to this namespace")
	errSuperseded = errors.New("the spec has changed: rendering it again")
)

// isPostponed reports whether an error only says that a render has to wait, or was ended for a
// newer one.
func isPostponed(err error) bool { return errors.Is(err, errNoSlot) || errors.Is(err, errSuperseded) }

// slots bound how many Transforms are fetched and rendered at once, with the namespace as
// the tenant: see package limiter. There are as many reconciliations again as there are
// slots, for those that need none.
type slots struct {
	limiter *limiter.Limiter

	mu sync.Mutex
	// renders are those that run or wait for a slot.
	renders map[types.UID]running
}

// running is the generation of a render, and what ends it.
type running struct {
	generation int64
	cancel     context.CancelCauseFunc
}

// newSlots returns n slots for renders.
func newSlots(n int) *slots {
	return &slots{limiter: limiter.New(limiter.Options{Slots: n}), renders: map[types.UID]running{}}
}

// run renders in a slot of the Transform's namespace. The error is errNoSlot if all are taken. A
// namespace that uses none waits until one is free. The cause of the context of render is
// errSuperseded if supersede has ended it.
func (s *slots) run(ctx context.Context, t *v1alpha1.Transform, render func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.set(t.UID, &running{generation: t.Generation, cancel: cancel})
	defer s.set(t.UID, nil)
	waiting := ctx
	stop := context.CancelFunc(func() {})
	if s.limiter.Running(t.Namespace) > 0 {
		waiting, stop = context.WithTimeoutCause(ctx, slotWait, errNoSlot)
	}
	defer stop()
	release, err := s.limiter.Acquire(waiting, t.Namespace)
	if err != nil {
		return context.Cause(waiting)
	}
	defer release()
	return render(ctx)
}

// set replaces the running render of a Transform; nil is none.
func (s *slots) set(uid types.UID, r *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.renders, uid)
	if r != nil {
		s.renders[uid] = *r
	}
}

// supersede ends the render of an earlier generation of a Transform.
func (s *slots) supersede(uid types.UID, generation int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.renders[uid]; ok && r.generation < generation {
		r.cancel(errSuperseded)
	}
}
