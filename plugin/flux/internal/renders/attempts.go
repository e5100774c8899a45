// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package renders

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Attempts records for each Transform the time at which its modules were resolved last, and the
// render that failed. It is lost with the process, which costs a render each. The zero value is
// empty.
type Attempts struct {
	byUID sync.Map // types.UID -> lastAttempt
}

type lastAttempt struct {
	resolvedAt time.Time
	// key is the key of the inputs that could not be rendered, and err the reason.
	key string
	err error
}

// IsDue reports whether the modules of a Transform were resolved an interval ago. A Transform that
// this process has not seen counts from now on: a restart must not resolve the modules of all.
func (a *Attempts) IsDue(uid types.UID, now time.Time, interval time.Duration) bool {
	v, _ := a.byUID.LoadOrStore(uid, lastAttempt{resolvedAt: now})
	last, _ := v.(lastAttempt)
	return now.Sub(last.resolvedAt) >= interval
}

// Record keeps that the modules of a Transform were resolved, and the error of the render that has
// this key.
func (a *Attempts) Record(uid types.UID, now time.Time, key string, err error) {
	a.byUID.Store(uid, lastAttempt{resolvedAt: now, key: key, err: err})
}

// Failed returns the error of the render that has this key. It returns nil if the render was not
// tried, or did not fail.
func (a *Attempts) Failed(uid types.UID, key string) error {
	v, _ := a.byUID.Load(uid)
	if last, ok := v.(lastAttempt); ok && last.key == key {
		return last.err
	}
	return nil
}

// Forget removes the record of a Transform that is gone.
func (a *Attempts) Forget(uid types.UID) { a.byUID.Delete(uid) }
