// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package renders

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Attempts are when the modules of each Transform were resolved last, and which render
// failed. It is lost with the process, which costs a render each. The zero value is empty.
type Attempts struct {
	byUID sync.Map // types.UID -> lastAttempt
}

type lastAttempt struct {
	at time.Time
	// key is that of what could not be rendered, and err why.
	key string
	err error
}

// IsDue reports whether the modules of a Transform were resolved an interval ago. A Transform that
// this process has not seen counts from now on: a restart must not resolve the modules of all.
func (a *Attempts) IsDue(uid types.UID, now time.Time, interval time.Duration) bool {
	v, _ := a.byUID.LoadOrStore(uid, lastAttempt{at: now})
	last, _ := v.(lastAttempt)
	return now.Sub(last.at) >= interval
}

// Record keeps that the modules of a Transform were resolved, and the error of the render that has
// this key.
func (a *Attempts) Record(uid types.UID, now time.Time, key string, err error) {
	a.byUID.Store(uid, lastAttempt{at: now, key: key, err: err})
}

// Failed returns why the render that has this key failed. It returns nil if the render was not
// tried, or did not fail.
func (a *Attempts) Failed(uid types.UID, key string) error {
	v, _ := a.byUID.Load(uid)
	if last, ok := v.(lastAttempt); ok && last.key == key {
		return last.err
	}
	return nil
}

// Forget removes what is kept of a Transform that is gone.
func (a *Attempts) Forget(uid types.UID) { a.byUID.Delete(uid) }
