// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/ropewalk/ropewalk/source"
)

// The longest delay of a Transform whose server is away: a part of the time that the
// server has been away for, and at least so long.
const (
	outagePart  = 8
	outageLeast = 5 * time.Second
)

// outages is a rate limiter with shorter delays for Transforms whose server is away. A
// delay that doubles is about as long as all that has passed before it: after a minute
// without a registry, each Transform would wait for most of another one.
type outages struct {
	workqueue.TypedRateLimiter[reconcile.Request]

	now func() time.Time

	mu sync.Mutex
	// since has when a Transform found first that a server is away, and postponed those
	// that wait for a slot.
	since     map[types.NamespacedName]time.Time
	postponed map[types.NamespacedName]bool
}

var _ workqueue.TypedRateLimiter[reconcile.Request] = (*outages)(nil)

// note records how a reconciliation of a Transform has failed.
func (o *outages) note(name types.NamespacedName, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !errors.Is(err, source.ErrUnavailable) {
		delete(o.since, name)
		return
	}
	if o.since == nil {
		o.since = map[types.NamespacedName]time.Time{}
	}
	if o.since[name].IsZero() {
		o.since[name] = o.now()
	}
}

// postpone keeps what is known of a Transform at the next Forget: it waits for a slot, and
// what failed before has not passed.
func (o *outages) postpone(name types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.postponed == nil {
		o.postponed = map[types.NamespacedName]bool{}
	}
	o.postponed[name] = true
}

// When is how long a Transform waits after a failure.
func (o *outages) When(item reconcile.Request) time.Duration {
	usual := o.TypedRateLimiter.When(item)
	o.mu.Lock()
	defer o.mu.Unlock()
	since, ok := o.since[item.NamespacedName]
	if !ok {
		return usual
	}
	return min(usual, max(outageLeast, o.now().Sub(since)/outagePart))
}

// Forget resets the delay of a Transform that did not fail, or is gone. The queue calls it
// for all that is to come back at a given time.
func (o *outages) Forget(item reconcile.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.postponed[item.NamespacedName] {
		delete(o.postponed, item.NamespacedName)
		return
	}
	o.TypedRateLimiter.Forget(item)
	delete(o.since, item.NamespacedName)
}
