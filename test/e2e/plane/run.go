// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// Run stands in for a test that lasts as long as all tests of a run, so that what
// is started by a test, such as the servers of test/servers, can outlive it. It
// has what such starts need of a test; the rest of testing.TB is nil. A failure
// is a panic with a Failure, which Attempt makes an error of.
type Run struct {
	testing.TB

	ctx    context.Context //nolint:containedctx // it is that of a test
	cancel context.CancelFunc
	dir    string

	mu       sync.Mutex
	cleanups []func()
	dirs     int
}

// Failure is why a start failed.
type Failure struct {
	text string
	skip bool
}

// Skips reports that the reason is something that is not installed.
func (f Failure) Skips() bool { return f.skip }

// Error is the text.
func (f Failure) Error() string { return f.text }

// NewRun is a run whose temporary folders are below dir.
func NewRun(dir string) *Run {
	ctx, cancel := context.WithCancel(context.Background())
	return &Run{ctx: ctx, cancel: cancel, dir: dir}
}

// Attempt calls do, and gives the failure that ended it.
func Attempt(do func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(Failure)
			if !ok {
				panic(r)
			}
			err = f
		}
	}()
	do()
	return nil
}

// End undoes all that was started, the last first.
func (r *Run) End() {
	r.cancel()
	for {
		r.mu.Lock()
		n := len(r.cleanups)
		if n == 0 {
			r.mu.Unlock()
			return
		}
		last := r.cleanups[n-1]
		r.cleanups = r.cleanups[:n-1]
		r.mu.Unlock()
		last()
	}
}

// Cleanup keeps f for the end of the run.
func (r *Run) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}

// TempDir is a new folder below that of the run.
func (r *Run) TempDir() string {
	r.mu.Lock()
	r.dirs++
	dir := filepath.Join(r.dir, "tmp", strconv.Itoa(r.dirs))
	r.mu.Unlock()
	if err := os.MkdirAll(dir, 0o750); err != nil {
		r.Fatal(err)
	}
	return dir
}

// Context ends with the run.
func (r *Run) Context() context.Context { return r.ctx }

// Helper does nothing.
func (r *Run) Helper() {}

// Name is that of the run.
func (r *Run) Name() string { return "run" }

// Failed is false: a failure is a panic.
func (r *Run) Failed() bool { return false }

// Log says nothing: what matters is in the failure.
func (r *Run) Log(...any) {}

// Logf is Log.
func (r *Run) Logf(string, ...any) {}

// Errorf ends the start, as nothing here goes on after an error.
func (r *Run) Errorf(format string, args ...any) { panic(Failure{text: fmt.Sprintf(format, args...)}) }

// Fatalf is Errorf.
func (r *Run) Fatalf(format string, args ...any) { r.Errorf(format, args...) }

// Error is Errorf.
func (r *Run) Error(args ...any) { panic(Failure{text: fmt.Sprint(args...)}) }

// Fatal is Errorf.
func (r *Run) Fatal(args ...any) { r.Error(args...) }

// Fail is Errorf.
func (r *Run) Fail() { r.Error("failed") }

// FailNow is Errorf.
func (r *Run) FailNow() { r.Error("failed") }

// Skip ends the start for a reason that is no failure.
func (r *Run) Skip(args ...any) { panic(Failure{text: fmt.Sprint(args...), skip: true}) }

// Skipf is Skip.
func (r *Run) Skipf(format string, args ...any) { r.Skip(fmt.Sprintf(format, args...)) }
