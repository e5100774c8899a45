// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"
)

// close writes the archive, where something was changed. Those who write at once
// do so one after the other: who looks at the file and then renames another one
// over it would else lose what came between.
func (a *layoutArchive) close() error {
	a.updates.Lock()
	defer a.updates.Unlock()
	if !a.pending() {
		return nil
	}
	unlock, err := a.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if now, err := os.Stat(a.file); !a.unchanged(now, err) {
		if err := a.redo(); err != nil {
			return err
		}
	}
	return a.save()
}

// pending says whether there is something to write, once.
func (a *layoutArchive) pending() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	pending := a.changed && !a.closed
	a.closed = a.closed || pending
	return pending
}

// abandon forgets what was changed.
func (a *layoutArchive) abandon(context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	return nil
}

// unchanged says whether the file is the one that was read.
func (a *layoutArchive) unchanged(now fs.FileInfo, err error) bool {
	if a.was == nil || err != nil {
		return a.was == nil && errors.Is(err, fs.ErrNotExist)
	}
	return os.SameFile(a.was, now) && a.was.Size() == now.Size() && a.was.ModTime().Equal(now.ModTime())
}

// redo reads what others have written meanwhile, and does to that what was done
// to the file as it was.
func (a *layoutArchive) redo() error {
	written := maps.Clone(a.written)
	a.was, a.listing = nil, nil
	clear(a.blobs)
	if err := a.load(); err != nil {
		return err
	}
	maps.Copy(a.blobs, written)
	for _, change := range a.changes {
		if err := a.apply(change); err != nil {
			return refuse(ErrBusy, "%q was changed by another process meanwhile (%s): try again; nothing was written", a.file, err)
		}
	}
	return nil
}

// save writes the file: beside, synced, and then by rename.
func (a *layoutArchive) save() (err error) {
	temp := a.beside(tempPrefix + rand.Text())
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) //nolint:gosec // the umask decides
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()       // the error before counts
			_ = os.Remove(temp) // as above
		}
	}()
	if err = a.writeTar(f); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(temp, a.file)
}

// beside is the name of a hidden file in the folder of the archive.
func (a *layoutArchive) beside(end string) string {
	dir, base := filepath.Split(a.file)
	return filepath.Join(dir, "."+base+end)
}

// lock has the archive for this process alone, by a file that is there meanwhile.
// Its holder removes it, so that who waited for it must look whether it still is
// the one that others see.
func (a *layoutArchive) lock() (unlock func(), _ error) {
	name := a.beside(".lock")
	return lockFor(context.Background(), lockWait, func() (*os.File, error) {
		return os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644) //nolint:gosec // it is empty
	}, func() (fs.FileInfo, error) { return os.Lstat(name) }, func() { _ = os.Remove(name) }, a.file)
}

// lockFor opens a file and locks it, until it has the one that is there. release
// is done before the lock ends.
func lockFor(ctx context.Context, wait time.Duration, open func() (*os.File, error), stat func() (fs.FileInfo, error), release func(), whole string) (unlock func(), _ error) {
	deadline := time.Now().Add(wait)
	for {
		f, err := open()
		if err != nil {
			return nil, err
		}
		for !tryLock(f) {
			select {
			case <-ctx.Done():
				_ = f.Close() // nothing was written
				return nil, ctx.Err()
			case <-time.After(5 * time.Millisecond):
			}
			if time.Now().After(deadline) {
				_ = f.Close() // nothing was written
				return nil, refuse(ErrBusy, "another process writes to the layout %q for more than %s: try again", whole, wait)
			}
		}
		mine, err := f.Stat()
		if err == nil {
			var now fs.FileInfo
			if now, err = stat(); err == nil && os.SameFile(mine, now) {
				return func() { release(); _ = f.Close() }, nil // nothing was written
			}
		}
		_ = f.Close() // nothing was written
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}
