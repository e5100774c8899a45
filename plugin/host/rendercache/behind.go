// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rendercache

import (
	"context"
	"sync"
)

// Behind is a store in front of a slow one, such as a disk that makes sure of what it
// is given: entries are written after Put has returned, one after the other, in their
// order. An entry that waits is not found yet; a [Memory] before it has it.
type Behind struct {
	// Next is the slow store.
	Next Store
	// Room is how many bytes may wait. An entry that finds none is written by Put.
	Room int
	// Failed, where set, is told why an entry could not be written.
	Failed func(error)

	mu      sync.Mutex
	waiting []func()
	bytes   int
	writing sync.WaitGroup // the one goroutine that writes, while there is one
	runs    bool
}

var _ Store = (*Behind)(nil)

// Get asks the slow store.
func (b *Behind) Get(ctx context.Context, kind, key string) ([]byte, bool, error) {
	return b.Next.Get(ctx, kind, key)
}

// Put has an entry written, whatever becomes of ctx. Its error is that of an entry
// for which there was no room to wait.
func (b *Behind) Put(ctx context.Context, kind, key string, data []byte) error {
	ctx = context.WithoutCancel(ctx)
	b.mu.Lock()
	if b.bytes+len(data) > b.Room {
		b.mu.Unlock()
		return b.Next.Put(ctx, kind, key, data)
	}
	b.bytes += len(data)
	b.waiting = append(b.waiting, func() {
		if err := b.Next.Put(ctx, kind, key, data); err != nil && b.Failed != nil {
			b.Failed(err)
		}
		b.mu.Lock()
		b.bytes -= len(data)
		b.mu.Unlock()
	})
	if !b.runs {
		b.runs = true
		b.writing.Go(b.write)
	}
	b.mu.Unlock()
	return nil
}

// write writes until nothing waits.
func (b *Behind) write() {
	for {
		b.mu.Lock()
		if len(b.waiting) == 0 {
			b.runs = false
			b.mu.Unlock()
			return
		}
		next := b.waiting[0]
		b.waiting = b.waiting[1:]
		b.mu.Unlock()
		next()
	}
}

// Wait returns when everything is written. Nothing may be put meanwhile.
func (b *Behind) Wait() { b.writing.Wait() }
