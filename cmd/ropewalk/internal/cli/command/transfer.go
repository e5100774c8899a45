// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"sync/atomic"
	"time"
)

// Transfer is one line on a terminal that says how much was sent or read. It
// is shown once a transfer takes a while.
type Transfer struct {
	bar   *progress
	verb  string
	bytes atomic.Int64
}

// NewTransfer is a line on s, which shows nothing where s is no terminal.
func NewTransfer(s Streams, verb string) *Transfer {
	return &Transfer{bar: newProgress(s), verb: verb}
}

// Add says that more bytes went through. It is safe for concurrent use.
func (t *Transfer) Add(bytes int64) {
	sum := t.bytes.Add(bytes)
	if t.bar == nil {
		return
	}
	p := t.bar
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if p.done || now.Sub(p.start) < progressAfter || now.Sub(p.last) < progressEvery {
		return
	}
	p.last, p.shown = now, true
	speed := float64(sum) / max(now.Sub(p.start), time.Millisecond).Seconds()
	_, _ = fmt.Fprintf(p.out, "\r\x1b[K%s %s, %s/s", t.verb, BytesText(sum), BytesText(int64(speed)))
}

// Clear takes the line away.
func (t *Transfer) Clear() {
	if t.bar != nil {
		t.bar.Clear()
	}
}
