// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package flock is an exclusive lock on a file or a directory, between processes and
// between the open files of one process. The kernel releases it when its holder ends,
// however that happens.
//
// Where the platform has no flock ([Supported] is false), every lock is granted at
// once: callers stay correct by rename and by atomic writes, and use the lock to save
// work or to keep a second writer waiting.
package flock

import (
	"context"
	"os"
	"time"
)

// poll is the time between two attempts of Lock: flock itself cannot be cancelled.
const poll = 10 * time.Millisecond

// Try locks an open file, until Unlock or until the file is closed; false if another
// holder has the lock.
func Try(f *os.File) bool { return tryLock(f) }

// Unlock releases the lock of an open file. Closing the file does so as well.
func Unlock(f *os.File) { unlock(f) }

// Lock opens path, a file (created if missing) or a directory, and locks it. It waits for another
// holder until ctx ends. The caller calls release once. Errors come from os.OpenFile and ctx.
func Lock(ctx context.Context, path string) (release func(), err error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for !tryLock(f) {
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, ctx.Err()
		case <-ticker.C:
		}
	}
	return func() { _ = f.Close() }, nil
}

func open(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return os.Open(path) //nolint:gosec // the path is the caller's
	}
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the path is the caller's
}
