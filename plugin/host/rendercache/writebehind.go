// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rendercache

import (
	"context"
	"sync"
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

	mu      sync.Mutex
	pending []func()
	bytes   int
	writer  sync.WaitGroup // the one goroutine that writes, while there is one
	running bool
}

var _ Store = (*WriteBehind)(nil)

// Get reads the slow store.
func (b *WriteBehind) Get(ctx context.Context, kind, key string) ([]byte, bool, error) {
	return b.Next.Get(ctx, kind, key)
}

// Put queues an entry, which is written even if ctx ends. Its error is that of an entry
// over MaxPending.
func (b *WriteBehind) Put(ctx context.Context, kind, key string, data []byte) error {
	ctx = context.WithoutCancel(ctx)
	b.mu.Lock()
	if b.bytes+len(data) > b.MaxPending {
		b.mu.Unlock()
		return b.Next.Put(ctx, kind, key, data)
	}
	b.bytes += len(data)
	b.pending = append(b.pending, func() {
		if err := b.Next.Put(ctx, kind, key, data); err != nil && b.Failed != nil {
			b.Failed(err)
		}
		b.mu.Lock()
		b.bytes -= len(data)
		b.mu.Unlock()
	})
	if !b.running {
		b.running = true
		b.writer.Go(b.write)
	}
	b.mu.Unlock()
	return nil
}

// write writes until nothing is pending.
func (b *WriteBehind) write() {
	for {
		b.mu.Lock()
		if len(b.pending) == 0 {
			b.running = false
			b.mu.Unlock()
			return
		}
		next := b.pending[0]
		b.pending = b.pending[1:]
		b.mu.Unlock()
		next()
	}
}

// Wait returns when everything is written. Nothing may be put meanwhile.
func (b *WriteBehind) Wait() { b.writer.Wait() }
