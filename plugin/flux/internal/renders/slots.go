// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package renders

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/internal/limiter"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// Retry is the time after which a render that found no slot is tried again.
const Retry = time.Second

// slotWait bounds the wait of a reconciliation for a slot while its namespace uses others. It is
// short, because a reconciliation that waits keeps the queue from reaching Transforms of other
// namespaces.
const slotWait = 250 * time.Millisecond

// A render that ends with one of these errors is tried again; nothing is wrong with it.
var (
	ErrNoSlot     = errors.New("waiting for a free render slot: other Transforms use all that --concurrent gives to this namespace")
	ErrSuperseded = errors.New("the spec has changed: rendering it again")
)

// IsPostponed reports whether an error only says that a render has to wait, or was ended for a
// newer one.
func IsPostponed(err error) bool { return errors.Is(err, ErrNoSlot) || errors.Is(err, ErrSuperseded) }

// Slots limit the Transforms that are fetched and rendered at once, with the namespace as the
// tenant: see package limiter. There are twice as many reconciliations as slots, for Transforms that
// need no slot.
type Slots struct {
	limiter *limiter.Limiter

	mu sync.Mutex
	// renders are the renders that run or wait for a slot.
	renders map[types.UID]running
}

// running is the generation of a render, and the function that ends it.
type running struct {
	generation int64
	cancel     context.CancelCauseFunc
}

// NewSlots returns n slots for renders.
func NewSlots(n int) *Slots {
	return &Slots{limiter: limiter.New(limiter.Options{Slots: n}), renders: map[types.UID]running{}}
}

// Run renders in a slot of the Transform's namespace. The error is ErrNoSlot if all slots are taken.
// A namespace that uses no slot waits until a slot is free. The cause of the context of render is
// ErrSuperseded if Supersede has ended it.
func (s *Slots) Run(ctx context.Context, t *v1alpha1.Transform, render func(ctx context.Context) error) error {
	// A newer generation can end the render.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.set(t.UID, &running{generation: t.Generation, cancel: cancel})
	defer s.set(t.UID, nil)

	// The wait for a slot is short if the namespace has a slot already.
	waiting := ctx
	stop := context.CancelFunc(func() {})
	if s.limiter.Running(t.Namespace) > 0 {
		waiting, stop = context.WithTimeoutCause(ctx, slotWait, ErrNoSlot)
	}
	defer stop()
	release, err := s.limiter.Acquire(waiting, t.Namespace)
	if err != nil {
		return context.Cause(waiting)
	}
	defer release()
	return render(ctx)
}

// set replaces the running render of a Transform; nil removes it.
func (s *Slots) set(uid types.UID, r *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.renders, uid)
	if r != nil {
		s.renders[uid] = *r
	}
}

// Supersede ends the render of an earlier generation of a Transform.
func (s *Slots) Supersede(uid types.UID, generation int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.renders[uid]; ok && r.generation < generation {
		r.cancel(ErrSuperseded)
	}
}
