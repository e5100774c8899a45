// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ropewalk/ropewalk/source"
)

// DefaultMaxBytes is the default of StoreOptions.MaxBytes.
const DefaultMaxBytes = 1 << 30

// touchEvery is the precision of the last use of an entry.
const touchEvery = time.Minute

// tempDir is the directory of what is being written; oldLock is a file of former
// versions. Neither is a kind.
const (
	tempDir = "tmp"
	oldLock = "lock"
)

// StoreOptions configure [Open]. The zero value works.
type StoreOptions struct {
	// MaxBytes is the limit on the size of all entries; [DefaultMaxBytes] if zero,
	// no limit if negative.
	MaxBytes int64
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// Store keeps entries in a directory. It is safe for concurrent use, by any
// number of processes.
type Store struct {
	dir   string
	max   int64
	now   func() time.Time
	kinds sync.Map

	mu sync.Mutex
	// size counts the bytes of all entries at the last scan, and written what this process wrote
	// since; -1 before the first scan.
	size, written int64
	// step is called at every point of a write where a crash would leave
	// something else behind; tests kill the process there.
	step func(point string)
}

// Open returns the store in a directory, which is made by the first Put. It fails
// if dir is a file.
func Open(dir string, opts StoreOptions) (*Store, error) {
	if dir == "" {
		return nil, errors.New("the cache needs a directory")
	}
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(absolute); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%q is a file; expected the directory of the cache", dir)
	}
	s := &Store{dir: absolute, max: opts.MaxBytes, now: opts.Now, written: -1, step: func(string) {}}
	if s.max == 0 {
		s.max = DefaultMaxBytes
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s, nil
}

// Dir returns the directory of the store.
func (s *Store) Dir() string { return s.dir }

// path returns the file of an entry.
func (s *Store) path(kind, key string) string {
	return filepath.Join(s.dir, filepath.FromSlash(fileOf(kind, key)))
}

// Get returns the content under kind and key, which the caller may keep and change; false if there
// is no such entry. A corrupt entry is removed and is a miss. Errors come from the file system, or
// are ErrEntry for invalid kinds and keys.
func (s *Store) Get(ctx context.Context, kind, key string) ([]byte, bool, error) {
	if err := check(ctx, kind, key); err != nil {
		return nil, false, err
	}
	data, err := s.get(kind, key)
	c := s.countersOf(kind)
	switch {
	case err == nil:
		c.hits.Add(1)
		return data, true, nil
	case errors.Is(err, errCorrupt):
		c.corrupt.Add(1)
	case !errors.Is(err, fs.ErrNotExist):
		c.failures.Add(1)
		return nil, false, err
	}
	c.misses.Add(1)
	return nil, false, nil
}

// errCorrupt is the error of an entry that did not match its header and was removed.
var errCorrupt = errors.New("corrupt")

func (s *Store) get(kind, key string) ([]byte, error) {
	name := s.path(kind, key)
	f, err := os.Open(name) //nolint:gosec // the name is a hash below the directory of the store
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}

	// A file over the limit of the store was not written by a store.
	var data []byte
	ok := info.Mode().IsRegular() && (s.max < 0 || info.Size() <= s.max)
	if ok {
		raw := make([]byte, info.Size())
		if _, err := io.ReadFull(f, raw); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, err
		}
		data, ok = cutHeader(raw, kind, key)
	}
	if !ok {
		// Another process may have replaced the bad entry by a good entry.
		if now, err := os.Lstat(name); err == nil && os.SameFile(now, info) {
			_ = os.Remove(name)
		}
		return nil, errCorrupt
	}
	s.touch(name, info)
	return data, nil
}

// touch records the use of an entry. Without write access, entries keep the order in which they
// were written.
func (s *Store) touch(name string, info fs.FileInfo) {
	if now := s.now(); now.Sub(info.ModTime()).Abs() >= touchEvery {
		_ = os.Chtimes(name, now, now)
	}
}

// has reports whether there is an entry, which is not verified, and records its use.
func (s *Store) has(kind, key string) bool {
	name := s.path(kind, key)
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	s.touch(name, info)
	return true
}

// remove deletes an entry, if that is possible.
func (s *Store) remove(kind, key string) { _ = os.Remove(s.path(kind, key)) }

// Put keeps data under kind and key, in place of what was there. Then it evicts the least
// recently used entries that are over the limit. On an error the store is unchanged; the
// error is one of the file system, or ErrEntry.
func (s *Store) Put(ctx context.Context, kind, key string, data []byte) error {
	if err := check(ctx, kind, key); err != nil {
		return err
	}
	head := header(kind, key, data)
	size := int64(len(head)) + int64(len(data))
	if s.max > 0 && size > s.max {
		return source.Refuse(ErrEntry, fmt.Sprintf("an entry of %d bytes does not fit into a cache of %d", size, s.max))
	}
	if err := s.write(s.path(kind, key), head, data); err != nil {
		s.countersOf(kind).failures.Add(1)
		// The random name of the temporary file is left out.
		if p := (*fs.PathError)(nil); errors.As(err, &p) {
			err = fmt.Errorf("%s: %w", p.Op, p.Err)
		}
		return fmt.Errorf("cache %q: %w", s.dir, err)
	}
	s.evict(ctx, size)
	return nil
}

// write puts a file in its place completely or not at all.
func (s *Store) write(name string, head, data []byte) error {
	temp := filepath.Join(s.dir, tempDir)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.MkdirAll(temp, 0o700)); err != nil {
		return err
	}
	s.step("directories made")

	// Half a file is never seen under its name, also after a crash.
	f, err := os.CreateTemp(temp, "*"+suffix)
	if err != nil {
		return err
	}
	err = s.fill(f, head, data)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if now := s.now(); err == nil {
		err = os.Chtimes(f.Name(), now, now)
	}
	s.step("closed")
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	s.step("renamed")
	return nil
}

func (s *Store) fill(f *os.File, head, data []byte) error {
	s.step("temporary file made")
	if _, err := f.Write(head); err != nil {
		return err
	}
	s.step("header written")
	if _, err := f.Write(data); err != nil {
		return err
	}
	s.step("content written")
	return f.Sync()
}
