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

// since is how long ago the modules of a Transform were resolved. One that this process
// has not seen counts from now on: a restart must not resolve the modules of all.
func (a *attempts) since(uid types.UID, now time.Time) time.Duration {
	v, _ := a.byUID.LoadOrStore(uid, lastAttempt{at: now})
	last, _ := v.(lastAttempt)
	return now.Sub(last.at)
}

// done records that the modules of a Transform were resolved, and the error of the render
// of what has this key.
func (a *attempts) done(uid types.UID, now time.Time, key string, err error) {
	a.byUID.Store(uid, lastAttempt{at: now, key: key, err: err})
}

// failed is why what has this key could not be rendered; nil where it was not tried, or
// could be.
func (a *attempts) failed(uid types.UID, key string) error {
	v, _ := a.byUID.Load(uid)
	if last, ok := v.(lastAttempt); ok && last.key == key {
		return last.err
	}
	return nil
}

func (a *attempts) forget(uid types.UID) { a.byUID.Delete(uid) }
