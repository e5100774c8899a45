// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// attempts are when the modules of each Transform were resolved last, and which render
// failed. It is lost with the process, which costs a render each.
type attempts struct {
	byUID sync.Map // types.UID -> lastAttempt
}

type lastAttempt struct {
	at time.Time
	// key is that of what could not be rendered, and err why.
	key string
	err error
}

// since returns how long ago the modules of a Transform were resolved. A Transform that this
// process has not seen counts from now on: a restart must not resolve the modules of all.
func (a *attempts) since(uid types.UID, now time.Time) time.Duration {
	v, _ := a.byUID.LoadOrStore(uid, lastAttempt{at: now})
	last, _ := v.(lastAttempt)
	return now.Sub(last.at)
}

// record keeps that the modules of a Transform were resolved, and the error of the render that has
// this key.
func (a *attempts) record(uid types.UID, now time.Time, key string, err error) {
	a.byUID.Store(uid, lastAttempt{at: now, key: key, err: err})
}

// failed returns why the render that has this key failed. It returns nil if the render was not
// tried, or did not fail.
func (a *attempts) failed(uid types.UID, key string) error {
	v, _ := a.byUID.Load(uid)
	if last, ok := v.(lastAttempt); ok && last.key == key {
		return last.err
	}
	return nil
}

// forget removes what is kept of a Transform that is gone.
func (a *attempts) forget(uid types.UID) { a.byUID.Delete(uid) }
