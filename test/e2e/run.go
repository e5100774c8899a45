// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// run stands in for a test that lasts as long as all tests of a run, so that what
// is started by a test, such as the servers of test/servers, can outlive it. It
// has what such starts need of a test; the rest of testing.TB is nil. A failure
// is a panic with a failure, which attempt makes an error of.
type run struct {
	testing.TB

	ctx    context.Context //nolint:containedctx // it is that of a test
	cancel context.CancelFunc
	dir    string

	mu       sync.Mutex
	cleanups []func()
	dirs     int
}

// failure is why a start failed; skip is that something is not installed.
type failure struct {
	text string
	skip bool
}

// Error is the text.
func (f failure) Error() string { return f.text }

func newRun(dir string) *run {
	ctx, cancel := context.WithCancel(context.Background())
	return &run{ctx: ctx, cancel: cancel, dir: dir}
}

// attempt calls do, and gives the failure that ended it.
func attempt(do func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(failure)
			if !ok {
				panic(r)
			}
			err = f
		}
	}()
	do()
	return nil
}

// end undoes all that was started, the last first.
func (r *run) end() {
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
func (r *run) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}

// TempDir is a new folder below that of the run.
func (r *run) TempDir() string {
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
func (r *run) Context() context.Context { return r.ctx }

// Helper does nothing.
func (r *run) Helper() {}

// Name is that of the run.
func (r *run) Name() string { return "run" }

// Failed is false: a failure is a panic.
func (r *run) Failed() bool { return false }

// Log says nothing: what matters is in the failure.
func (r *run) Log(...any) {}

// Logf is Log.
func (r *run) Logf(string, ...any) {}

// Errorf ends the start, as nothing here goes on after an error.
func (r *run) Errorf(format string, args ...any) { panic(failure{text: fmt.Sprintf(format, args...)}) }

// Fatalf is Errorf.
func (r *run) Fatalf(format string, args ...any) { r.Errorf(format, args...) }

// Error is Errorf.
func (r *run) Error(args ...any) { panic(failure{text: fmt.Sprint(args...)}) }

// Fatal is Errorf.
func (r *run) Fatal(args ...any) { r.Error(args...) }

// Fail is Errorf.
func (r *run) Fail() { r.Error("failed") }

// FailNow is Errorf.
func (r *run) FailNow() { r.Error("failed") }

// Skip ends the start for a reason that is no failure.
func (r *run) Skip(args ...any) { panic(failure{text: fmt.Sprint(args...), skip: true}) }

// Skipf is Skip.
func (r *run) Skipf(format string, args ...any) { r.Skip(fmt.Sprintf(format, args...)) }
