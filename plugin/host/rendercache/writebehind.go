// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rendercache

import (
	"context"
	"sync"
	"sync/atomic"
)

// WriteBehind is a store in front of a slow one, such as a disk that syncs every entry:
// entries are written after Put has returned, one after the other, in their order. Get
// does not find an entry that is still pending; a [MemoryStore] in front of it does.
type WriteBehind struct {
	// Next is the slow store.
	Next Store
	// MaxPending is how many bytes may be pending. An entry over it is written by Put.
	MaxPending int
	// Failed, where set, is called with the error of an entry that was not written.
	Failed func(error)

	pending atomic.Int64 // bytes
	writing sync.Mutex   // one entry at a time
	writers sync.WaitGroup
}

var _ Store = (*WriteBehind)(nil)

// Get reads the slow store.
func (b *WriteBehind) Get(ctx context.Context, kind, key string) ([]byte, bool, error) {
	return b.Next.Get(ctx, kind, key)
}

// Put returns before the entry is written, which happens even if ctx ends. Its error is that of an
// entry over MaxPending.
func (b *WriteBehind) Put(ctx context.Context, kind, key string, data []byte) error {
	size := int64(len(data))
	if b.pending.Add(size) > int64(b.MaxPending) {
		b.pending.Add(-size)
		return b.Next.Put(ctx, kind, key, data)
	}
	ctx = context.WithoutCancel(ctx)
	b.writers.Go(func() {
		defer b.pending.Add(-size)
		b.writing.Lock()
		defer b.writing.Unlock()
		if err := b.Next.Put(ctx, kind, key, data); err != nil && b.Failed != nil {
			b.Failed(err)
		}
	})
	return nil
}

// Wait returns when everything is written. Nothing may be put meanwhile.
func (b *WriteBehind) Wait() { b.writers.Wait() }
