// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ropewalk/ropewalk/source"
)

// DefaultMaxBytes is how large a store may grow where nobody says.
const DefaultMaxBytes = 1 << 30

// touchEvery is how exactly the last use of an entry is known.
const touchEvery = time.Minute

// StoreOptions are those of [Open]. The zero value works.
type StoreOptions struct {
	// MaxBytes is how large all entries may be together; [DefaultMaxBytes] where
	// zero, no limit where negative.
	MaxBytes int64
	// Now is the clock; time.Now where nil.
	Now func() time.Time
}

// Store keeps entries in a directory. It is safe for concurrent use, by any
// number of processes.
type Store struct {
	dir   string
	max   int64
	now   func() time.Time
	kinds sync.Map
	// owed are bytes that were written and not counted yet, because the lock was
	// held for too long.
	owed atomic.Int64
	// step is called at every point of a write where a crash would leave
	// something else behind; tests die there.
	step func(point string)
}

// Open is the store in a directory, which is made by the first Put. The error
// says that dir cannot be a directory.
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
	s := &Store{dir: absolute, max: opts.MaxBytes, now: opts.Now, step: func(string) {}}
	if s.max == 0 {
		s.max = DefaultMaxBytes
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s, nil
}

// Dir is the directory of the store.
func (s *Store) Dir() string { return s.dir }

// Get is the content under kind and key, which the caller may keep and change;
// false where there is none. An entry that is not what it was when it was put
// is removed and counts as none. An error is one of the file system, and of
// kinds and keys that cannot be (ErrEntry).
func (s *Store) Get(ctx context.Context, kind, key string) ([]byte, bool, error) {
	if err := check(ctx, kind, key); err != nil {
		return nil, false, err
	}
	data, err := s.get(kind, key)
	c := s.count(kind)
	switch {
	case err == nil:
		c.hits.Add(1)
		c.read.Add(int64(len(data)))
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

// errCorrupt says that an entry was not what it should be, and is gone.
var errCorrupt = errors.New("corrupt")

func (s *Store) get(kind, key string) ([]byte, error) {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	name := fileOf(kind, key)
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || s.max > 0 && info.Size() > s.max {
		drop(root, name, info)
		return nil, errCorrupt
	}
	raw := make([]byte, info.Size())
	if _, err := io.ReadFull(f, raw); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	data, ok := content(raw, kind, key)
	if !ok {
		drop(root, name, info)
		return nil, errCorrupt
	}
	s.touch(root, name, info)
	return data, nil
}

// drop removes a bad entry, unless a good one took its place meanwhile. Where
// it cannot be removed, the next reader finds it bad again.
func drop(root *os.Root, name string, bad fs.FileInfo) {
	if now, err := root.Lstat(name); err == nil && os.SameFile(now, bad) {
		_ = root.Remove(name)
	}
}

// touch notes that an entry was used. A directory that cannot be written keeps
// the order of the writes.
func (s *Store) touch(root *os.Root, name string, info fs.FileInfo) {
	now := s.now()
	if now.Sub(info.ModTime()).Abs() >= touchEvery {
		_ = root.Chtimes(name, now, now)
	}
}

// has reports whether something lies under kind and key, and notes its use; it
// is not verified.
func (s *Store) has(kind, key string) bool {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return false
	}
	defer func() { _ = root.Close() }()
	name := fileOf(kind, key)
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	s.touch(root, name, info)
	return true
}

// remove takes away what lies under kind and key, as well as that is possible.
func (s *Store) remove(kind, key string) {
	if root, err := os.OpenRoot(s.dir); err == nil {
		_ = root.Remove(fileOf(kind, key))
		_ = root.Close()
	}
}

// Put keeps data under kind and key and takes the place of what was there.
// Entries that were not used for longest go where there would be more than the
// store may hold. An error leaves the store as it was; it is one of the file
// system, or says that this can be no entry (ErrEntry).
func (s *Store) Put(ctx context.Context, kind, key string, data []byte) error {
	if err := check(ctx, kind, key); err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	head := header(kind, key, int64(len(data)), sum[:])
	size := int64(len(head)) + int64(len(data))
	if s.max > 0 && size > s.max {
		return source.Refuse(ErrEntry, fmt.Sprintf("an entry of %d bytes does not fit into a cache of %d", size, s.max))
	}
	c := s.count(kind)
	if err := s.put(ctx, kind, fileOf(kind, key), head, data); err != nil {
		c.failures.Add(1)
		return fmt.Errorf("cache %q: %w", s.dir, err)
	}
	c.puts.Add(1)
	c.written.Add(int64(len(data)))
	return nil
}

func (s *Store) put(ctx context.Context, kind, name string, head, data []byte) error {
	root, err := s.root(kind)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	s.sweep(root)
	temp, err := s.newTemp(root)
	if err != nil {
		return err
	}
	defer temp.discard()
	if err := temp.fill(head, data); err != nil {
		return err
	}
	if err := s.place(ctx, root, temp, name, int64(len(head)+len(data))); err != nil {
		return err
	}
	syncDir(root, kind)
	s.step("directory synced")
	return nil
}

// place counts an entry and gives it its name, and makes room for it where
// that is needed. The count comes first: a crash between the two makes it too
// high, which the next scan corrects, and never too low.
func (s *Store) place(ctx context.Context, root *os.Root, temp *temp, name string, size int64) error {
	g, err := s.guard(ctx, root, placeWait)
	if err != nil {
		s.owed.Add(size)
		return temp.rename(name)
	}
	defer g.free()
	s.step("locked")
	total := g.add(size + s.owed.Swap(0))
	s.step("counted")
	if err := temp.rename(name); err != nil {
		return err
	}
	if total < 0 || s.max > 0 && total > s.max {
		// The entry is in its place: what goes wrong here is no matter of its own.
		_, _ = s.shrink(ctx, root, g, func(files []file) []file { return over(files, s.max) })
	}
	return nil
}

// root is the directory of the store with the folder of a kind in it, both made
// where they are missing.
func (s *Store) root(kind string) (*os.Root, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{kind, tempDir} {
		err := root.Mkdir(dir, 0o700)
		if err == nil {
			s.step("folder made")
			syncDir(root, ".")
		} else if !errors.Is(err, fs.ErrExist) {
			_ = root.Close()
			return nil, err
		}
	}
	return root, nil
}

// syncDir makes the names in a folder last. Some file systems cannot; the
// rename is done all the same.
func syncDir(root *os.Root, dir string) {
	if f, err := root.Open(path.Clean(dir)); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}
