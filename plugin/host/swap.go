// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// parked ends the name of what was at the target while nothing is.
const parked = "-old"

// swap is exchange for file systems that cannot: for a moment nothing is at the target.
// What was there is locked and beside it then, and who is killed in that moment has it put
// back by the next write. Afterwards it is gone.
func swap(dir, target string) error {
	held, err := os.Open(target) //nolint:gosec // the user chose the directory
	if err != nil {
		return err
	}
	defer func() { _ = held.Close() }()
	if !tryLock(held) && canLock {
		return errReplaced // Another one is at it.
	}
	old := dir + parked
	if err := os.Rename(target, old); err != nil {
		return err
	}
	if !isSame(held, old) {
		// Another one came first. What is there now is whole, or not locked by us.
		return errors.Join(errReplaced, os.Rename(old, target))
	}
	if err := os.Rename(dir, target); err != nil {
		if back := os.Rename(old, target); back != nil && !errors.Is(back, fs.ErrExist) {
			return errors.Join(err, back)
		}
		_ = os.RemoveAll(old) // Another render stands there, whole.
		if errors.Is(err, fs.ErrExist) {
			return errReplaced
		}
		return err
	}
	_ = os.RemoveAll(old)
	return nil
}

// isSame reports whether an open directory has a name.
func isSame(held *os.File, name string) bool {
	info, err := held.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(name)
	return err == nil && os.SameFile(info, now)
}

// restore puts back what a killed swap has left beside a target that is not there.
func restore(target string) bool {
	entries, err := os.ReadDir(filepath.Dir(target))
	if err != nil {
		return false
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix(target)) || !strings.HasSuffix(e.Name(), parked) {
			continue
		}
		name := filepath.Join(filepath.Dir(target), e.Name())
		held, err := os.Open(name) //nolint:gosec // a directory of ours
		if err != nil {
			continue
		}
		free := tryLock(held)
		if free {
			free = os.Rename(name, target) == nil
		}
		_ = held.Close()
		if free {
			return true
		}
	}
	return false
}
