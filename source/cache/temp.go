// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// tempDir is the folder of what is being written. It lies on the file system of
// the entries, and has so few files that every write can look through it.
const tempDir = "tmp"

// staleAfter is when a temporary file counts as left behind where locks cannot
// tell.
const staleAfter = time.Hour

// temp is an entry that is being written.
type temp struct {
	root *os.Root
	name string
	file *os.File
	now  time.Time
	step func(string)
}

// newTemp is a new temporary file, locked. Another process may take it for one
// that was left behind in the moment before it is locked; then there is a next
// one.
func (s *Store) newTemp(root *os.Root) (*temp, error) {
	const attempts = 10
	for range attempts {
		random := make([]byte, 16)
		_, _ = rand.Read(random) // it never fails
		t := &temp{root: root, name: path.Join(tempDir, hex.EncodeToString(random)+suffix), now: s.now(), step: s.step}
		var err error
		if t.file, err = root.OpenFile(t.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return nil, err
		}
		s.step("temporary file made")
		if tryLock(t.file) && t.stands() {
			return t, nil
		}
		t.discard()
	}
	return nil, fmt.Errorf("too many processes write to %q at once", root.Name())
}

// stands reports whether the file still has its name.
func (t *temp) stands() bool {
	_, err := t.root.Lstat(t.name)
	return err == nil
}

// fill writes the entry and makes sure that it is on the disk.
func (t *temp) fill(head, data []byte) error {
	if _, err := t.file.Write(head); err != nil {
		return plain(err)
	}
	t.step("header written")
	if _, err := t.file.Write(data); err != nil {
		return plain(err)
	}
	t.step("content written")
	if err := t.root.Chtimes(t.name, t.now, t.now); err != nil {
		return plain(err)
	}
	if err := t.file.Sync(); err != nil {
		return plain(err)
	}
	t.step("synced")
	return nil
}

// plain is an error without the random name of the file in it.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s: %w", p.Op, p.Err)
	}
	return err
}

// rename gives the entry its name. The file is still open and locked then, so
// that no sweep comes between; where there are no locks, an open file may not
// be renamed.
func (t *temp) rename(name string) error {
	if !canLock {
		_ = t.file.Close()
	}
	if err := t.root.Rename(t.name, name); err != nil {
		return err
	}
	t.name = ""
	t.step("renamed")
	return nil
}

// discard closes the file, and takes it away unless it has become an entry.
func (t *temp) discard() {
	if t.name != "" {
		_ = t.root.Remove(t.name)
	}
	_ = t.file.Close()
}

// stale gives f every temporary file whose writer is gone, by its path. Its
// lock is held meanwhile, so that no writer that is about to lock a new file
// loses it afterwards.
func (s *Store) stale(root *os.Root, f func(name string)) {
	entries, err := fs.ReadDir(root.FS(), tempDir)
	if err != nil {
		return
	}
	for _, e := range entries {
		name := path.Join(tempDir, e.Name())
		if !e.Type().IsRegular() || !strings.HasSuffix(name, suffix) {
			continue
		}
		if file, err := root.Open(name); err == nil {
			if s.abandoned(file) {
				f(name)
			}
			_ = file.Close()
		}
	}
}

// abandoned reports whether nobody writes a temporary file any more, and locks
// it where that can be.
func (s *Store) abandoned(f *os.File) bool {
	if canLock {
		return tryLock(f)
	}
	info, err := f.Stat()
	return err == nil && s.now().Sub(info.ModTime()) > staleAfter
}

// sweep takes away what killed writes left behind, and says how many files.
func (s *Store) sweep(root *os.Root) int {
	gone := 0
	s.stale(root, func(name string) {
		if root.Remove(name) == nil {
			gone++
		}
		s.step("swept")
	})
	return gone
}
