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

// How long a server that is away may be back before a Transform that waits for it asks
// again: a part of the time that it was away for, and at least so long.
const (
	outagePart  = 8
	outageLeast = 5 * time.Second
)

// outages is a rate limiter that lets nobody wait long for a server that was away for a
// short time. A delay that doubles is about as long as all that has passed before it:
// after a minute without a registry, everybody would wait for most of another one.
type outages struct {
	workqueue.TypedRateLimiter[reconcile.Request]

	now func() time.Time

	mu sync.Mutex
	// since has when a Transform found first that a server is away, and later those that
	// are put off.
	since map[types.NamespacedName]time.Time
	later map[types.NamespacedName]bool
}

var _ workqueue.TypedRateLimiter[reconcile.Request] = (*outages)(nil)

// note says how a reconciliation of a Transform has failed.
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

// putOff says of a Transform that it comes back later, and that nothing is known of how it
// fares: what failed before has not passed.
func (o *outages) putOff(name types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.later == nil {
		o.later = map[types.NamespacedName]bool{}
	}
	o.later[name] = true
}

// wasPutOff reports whether a Transform was put off, once.
func (o *outages) wasPutOff(name types.NamespacedName) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	was := o.later[name]
	delete(o.later, name)
	return was
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

// Forget is for a Transform that did not fail, or is gone. The queue forgets whatever is
// to come back at a given time.
func (o *outages) Forget(item reconcile.Request) {
	if o.wasPutOff(item.NamespacedName) {
		return
	}
	o.TypedRateLimiter.Forget(item)
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.since, item.NamespacedName)
}
