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

// Progress is a line on a terminal that says how far a run is. A nil Progress shows
// nothing. It is safe for concurrent use.
type Progress struct {
	out   io.Writer
	verb  string
	width int
	now   func() time.Time

	mu    sync.Mutex
	start time.Time
	last  time.Time
	bytes int64
	shown bool
	done  bool
}

// NewProgress returns a line on s that begins with a verb, such as pulling. It returns nil if s is not
// a terminal.
func NewProgress(s Streams, verb string) *Progress {
	if s.Width == 0 {
		return nil
	}
	return &Progress{out: s.Err, verb: verb, width: s.Width, now: time.Now, start: time.Now()}
}

// Specs reports that done of total specs are evaluated; calls may be out of order.
func (p *Progress) Specs(done, total int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.show(total >= progressSpecs, func(time.Duration) string { return fmt.Sprintf("%s %d of %d specs", p.verb, done, total) })
}

// Bytes reports that n further bytes were transferred.
func (p *Progress) Bytes(n int64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes += n
	p.show(false, func(took time.Duration) string {
		return fmt.Sprintf("%s %s, %s/s", p.verb, BytesText(p.bytes), BytesText(int64(float64(p.bytes)/took.Seconds())))
	})
}

// Say shows what the run waits for.
func (p *Progress) Say(what string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = time.Time{} // There may be nothing after it for long.
	p.show(true, func(time.Duration) string { return p.verb + " " + OneLine(what) })
}

// show writes the line, unless it is too early for it. The argument soon is true for a run that
// takes long.
func (p *Progress) show(soon bool, line func(took time.Duration) string) {
	now := p.now()
	took := now.Sub(p.start)
	tooEarly := !soon && took < progressAfter
	if p.done || tooEarly || now.Sub(p.last) < progressEvery {
		return
	}
	p.last = now
	p.shown = true
	text := line(took)
	_, _ = fmt.Fprintf(p.out, "\r\x1b[K%s", text[:min(len(text), max(0, p.width-1))])
}

// Clear takes the line away; nothing is shown after it.
func (p *Progress) Clear() {
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
