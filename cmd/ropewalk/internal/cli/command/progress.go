// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Progress is shown from this many specs on, or from this long a run on, and
// not more often than a terminal can be read.
const (
	progressSpecs = 25
	progressAfter = time.Second
	progressEvery = 100 * time.Millisecond
)

// progress is one line on a terminal that says how far a run is.
type progress struct {
	out   io.Writer
	width int
	now   func() time.Time

	mu    sync.Mutex
	start time.Time
	last  time.Time
	shown bool
	done  bool
}

// newProgress is a line on s; nil where s is no terminal.
func newProgress(s Streams) *progress {
	if s.Width == 0 {
		return nil
	}
	return &progress{out: s.Err, width: s.Width, now: time.Now, start: time.Now()}
}

// update says that done specs of all are evaluated. It is safe for concurrent
// use, and so may be called out of order.
func (p *progress) update(done, all int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if p.done || now.Sub(p.last) < progressEvery {
		return
	}
	if all < progressSpecs && now.Sub(p.start) < progressAfter {
		return
	}
	p.last, p.shown = now, true
	text := fmt.Sprintf("rendering %d of %d specs", done, all)
	if len(text) >= p.width {
		text = text[:max(0, p.width-1)]
	}
	_, _ = fmt.Fprintf(p.out, "\r\x1b[K%s", text)
}

// Clear takes the line away; nothing is shown after it.
func (p *progress) Clear() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = true
	if p.shown {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K")
	}
}
