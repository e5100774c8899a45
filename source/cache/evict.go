// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ropewalk/ropewalk/source"
)

const (
	lockFile = "lock"
	// placeWait is how long a write waits for the lock before it goes on without
	// counting: an entry is worth no more than a process that was stopped while
	// it held the lock.
	placeWait = 2 * time.Second
	// keepPart of the limit stays when it was passed, so that not every write
	// has to scan.
	keepPart = 10
	// future is how far the last use of an entry may lie ahead before it counts
	// as unknown: the clock was wrong, and the entry would stay for ever.
	future = time.Hour
)

// guard is the lock of a store, and the count of its bytes, which is the text
// of the file that is locked.
type guard struct{ file *os.File }

// guard waits for the lock: as long as ctx where wait is zero.
func (s *Store) guard(ctx context.Context, root *os.Root, wait time.Duration) (guard, error) {
	if wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, wait)
		defer cancel()
	}
	f, err := root.OpenFile(lockFile, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return guard{}, err
	}
	const longest = 50 * time.Millisecond
	for delay := time.Millisecond; !tryLock(f); delay = min(2*delay, longest) {
		select {
		case <-ctx.Done():
			_ = f.Close()
			return guard{}, fmt.Errorf("another process holds the lock of the cache: %w", ctx.Err())
		case <-time.After(delay):
		}
	}
	return guard{file: f}, nil
}

// free gives the lock back.
func (g guard) free() { _ = g.file.Close() }

// digits is the length of the count, which has leading zeros, so that a new
// one replaces an old one by one write.
const digits = 19

// add adds bytes to the count and is the sum; -1 where the count is not
// legible, and so a scan is needed.
func (g guard) add(n int64) int64 {
	text := make([]byte, digits)
	if read, _ := g.file.ReadAt(text, 0); read != digits {
		return -1
	}
	total, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || total < 0 {
		return -1
	}
	g.set(total + n)
	return total + n
}

// set writes the count. Where it cannot be written the next write scans, or
// the limit is found out later: neither is an error of an entry.
func (g guard) set(n int64) {
	_, _ = g.file.WriteAt(fmt.Appendf(nil, "%0*d\n", digits, n), 0)
}

// file is the file of an entry, seen from outside.
type file struct {
	kind, name string // name is the path below the directory
	size       int64
	used       time.Time
}

// scan is every entry by path. What goes away while it looks was none.
func (s *Store) scan(ctx context.Context, root *os.Root) ([]file, error) {
	kinds, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var out []file
	for _, kind := range kinds {
		if !kind.IsDir() || !isKind(kind.Name()) {
			continue
		}
		entries, err := fs.ReadDir(root.FS(), kind.Name())
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			name := path.Join(kind.Name(), e.Name())
			info, err := root.Lstat(name)
			if err == nil && info.Mode().IsRegular() && isEntry(e.Name()) {
				out = append(out, file{kind: kind.Name(), name: name, size: info.Size(), used: info.ModTime()})
			}
		}
	}
	return out, nil
}

// sum is the bytes of files.
func sum(files []file) int64 {
	var total int64
	for _, f := range files {
		total += f.size
	}
	return total
}

// over are the files that have to go where files are more than limit bytes:
// those used longest ago, until a tenth of the limit is free.
func over(files []file, limit int64) []file {
	if limit < 0 || sum(files) <= limit {
		return nil
	}
	return oldest(files, limit-limit/keepPart)
}

// oldest are the files used longest ago, so many that the others have at most
// keep bytes.
func oldest(files []file, keep int64) []file {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b file) int {
		return cmp.Or(a.used.Compare(b.used), strings.Compare(a.name, b.name))
	})
	total := sum(files)
	for i, f := range files {
		if total <= keep {
			return files[:i]
		}
		total -= f.size
	}
	return files
}

// shrink removes the entries that choose names, and corrects the count. The
// lock is held.
func (s *Store) shrink(ctx context.Context, root *os.Root, g guard, choose func([]file) []file) (Pruned, error) {
	files, err := s.scan(ctx, root)
	if err != nil {
		return Pruned{}, err
	}
	for i, f := range files {
		if f.used.Sub(s.now()) > future {
			files[i].used = time.Time{}
		}
	}
	var (
		gone  Pruned
		total = sum(files)
		errs  []error
	)
	for _, f := range choose(files) {
		if err := root.Remove(f.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
			continue
		}
		s.step("evicted")
		c := s.count(f.kind)
		c.evictions.Add(1)
		c.evicted.Add(f.size)
		gone.Entries++
		gone.Bytes += f.size
	}
	g.set(total - gone.Bytes)
	s.step("count corrected")
	return gone, errors.Join(errs...)
}

// PruneOptions say what [Store.Prune] removes. The zero value removes what is
// over the limit of the store.
type PruneOptions struct {
	// Kind bounds everything else to entries of one kind; "" means all.
	Kind string
	// All removes every entry.
	All bool
	// OlderThan removes what was not used for longer; zero removes nothing.
	OlderThan time.Duration
	// MaxBytes removes what was used longest ago until the rest is no larger;
	// the limit of the store where zero.
	MaxBytes int64
}

// Pruned is what was removed.
type Pruned struct {
	Entries int
	// Bytes are those of the files.
	Bytes int64
	// Stale is how many temporary files of killed processes went too.
	Stale int
}

// Prune removes entries, and what killed processes left behind. It waits for
// the lock as long as ctx allows; readers are not disturbed. An error says
// which files could not be removed, or which kind cannot be (ErrEntry).
func (s *Store) Prune(ctx context.Context, opts PruneOptions) (Pruned, error) {
	if opts.Kind != "" && !isKind(opts.Kind) {
		return Pruned{}, source.Refuse(ErrEntry, fmt.Sprintf("%q is no kind of entry: use lower-case letters", opts.Kind))
	}
	root, err := os.OpenRoot(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Pruned{}, nil
	}
	if err != nil {
		return Pruned{}, err
	}
	defer func() { _ = root.Close() }()
	g, err := s.guard(ctx, root, 0)
	if err != nil {
		return Pruned{}, err
	}
	defer g.free()
	stale := s.sweep(root)
	gone, err := s.shrink(ctx, root, g, func(files []file) []file { return opts.choose(files, s.max, s.now()) })
	gone.Stale = stale
	return gone, err
}

// choose are the files that the options remove.
func (o PruneOptions) choose(files []file, limit int64, now time.Time) []file {
	var out, rest []file
	for _, f := range files {
		switch {
		case o.Kind != "" && f.kind != o.Kind:
		case o.All, o.OlderThan > 0 && now.Sub(f.used) > o.OlderThan:
			out = append(out, f)
		default:
			rest = append(rest, f)
		}
	}
	if o.MaxBytes != 0 {
		limit = o.MaxBytes
	}
	if limit > 0 {
		out = append(out, oldest(rest, limit)...)
	}
	return out
}
