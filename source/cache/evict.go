// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// An eviction leaves 1/headroom of the limit free, so that not every write has
	// to evict.
	headroom = 10
	// scanPart is the part of the limit that a process writes between two scans, because other
	// processes write too.
	scanPart = 100
	// future limits how far the last use of an entry may lie ahead before it counts as unknown: the
	// clock was wrong, and the entry would stay for ever.
	future = time.Hour
	// staleAfter is the age of temporary files of killed processes.
	staleAfter = time.Hour
)

// file is the file of an entry, as a directory lists it.
type file struct {
	kind, name string // name is the path below the directory
	size       int64
	used       time.Time
}

// scan lists the files of all entries by path. Files that are removed meanwhile are left out.
func (s *Store) scan(ctx context.Context) ([]file, error) {
	kinds, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []file
	for _, kind := range kinds {
		if !kind.IsDir() || !isKind(kind.Name()) {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(s.dir, kind.Name()))
		if err := errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
		for _, e := range entries {
			info, err := e.Info()
			if err == nil && info.Mode().IsRegular() && isEntry(e.Name()) {
				out = append(out, file{kind: kind.Name(), name: path.Join(kind.Name(), e.Name()), size: info.Size(), used: info.ModTime()})
			}
		}
	}
	return out, err
}

// evict counts what was written, and holds the limit. It scans the directory at the first
// write of the process, where the limit is passed, and from time to time for what other
// processes write. The entry is in its place already, so an error here is no error of the
// write.
func (s *Store) evict(ctx context.Context, size int64) {
	if s.max < 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.written >= 0 {
		s.written += size
		if s.written < s.max/scanPart && s.size+s.written <= s.max {
			return
		}
	}
	files, err := s.scan(ctx)
	if err != nil {
		return
	}
	s.sweep()
	s.size, s.written = total(files), 0
	if s.size > s.max {
		gone, _ := s.delete(oldest(s.resetFutureUses(files), s.max-s.max/headroom))
		s.size -= gone.Bytes
	}
}

func total(files []file) (bytes int64) {
	for _, f := range files {
		bytes += f.size
	}
	return bytes
}

// resetFutureUses sets the use of files to unknown where it lies in the future.
func (s *Store) resetFutureUses(files []file) []file {
	for i, f := range files {
		if f.used.Sub(s.now()) > future {
			files[i].used = time.Time{}
		}
	}
	return files
}

// oldest returns the least recently used files: so many that the others have at most keep
// bytes.
func oldest(files []file, keep int64) []file {
	slices.SortFunc(files, func(a, b file) int {
		return cmp.Or(a.used.Compare(b.used), strings.Compare(a.name, b.name))
	})
	left := total(files)
	for i, f := range files {
		if left <= keep {
			return files[:i]
		}
		left -= f.size
	}
	return files
}

// delete removes entries.
func (s *Store) delete(files []file) (Pruned, error) {
	var gone Pruned
	var errs []error
	for _, f := range files {
		if err := os.Remove(filepath.Join(s.dir, f.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
			continue
		}
		s.step("evicted")
		gone.Entries++
		gone.Bytes += f.size
	}
	return gone, errors.Join(errs...)
}

// listStale lists what killed processes left, by path below the directory.
func (s *Store) listStale() []string {
	entries, _ := os.ReadDir(filepath.Join(s.dir, tempDir)) // a directory that cannot be read has no entries
	var out []string
	for _, e := range entries {
		info, err := e.Info()
		isOurs := err == nil && info.Mode().IsRegular() && strings.HasSuffix(e.Name(), suffix)
		if isOurs && s.now().Sub(info.ModTime()) > staleAfter {
			out = append(out, path.Join(tempDir, e.Name()))
		}
	}
	return out
}

// sweep removes what killed processes left, and returns the number of files.
func (s *Store) sweep() (gone int) {
	for _, name := range s.listStale() {
		if os.Remove(filepath.Join(s.dir, name)) == nil {
			gone++
		}
	}
	return gone
}

// PruneOptions select the entries that [Store.Prune] removes. The zero value removes what is over
// the limit of the store.
type PruneOptions struct {
	// Kind bounds everything else to entries of one kind; "" means all.
	Kind string
	// All removes every entry.
	All bool
	// OlderThan removes entries that were not used for longer; zero keeps them.
	OlderThan time.Duration
	// MaxBytes removes the least recently used entries until the rest is no larger;
	// the limit of the store if zero.
	MaxBytes int64
}

// Pruned counts the removed entries.
type Pruned struct {
	Entries int
	// Bytes counts the content of the removed files.
	Bytes int64
	// Stale counts the temporary files of killed processes, which are removed too.
	Stale int
}

// Prune removes entries, and what killed processes left. Readers are not disturbed.
// The error names the files that could not be removed, or is ErrEntry for an invalid
// kind.
func (s *Store) Prune(ctx context.Context, opts PruneOptions) (Pruned, error) {
	if opts.Kind != "" && !isKind(opts.Kind) {
		return Pruned{}, errInvalidKind(opts.Kind)
	}
	files, err := s.scan(ctx)
	if err != nil {
		return Pruned{}, err
	}
	stale := s.sweep()
	gone, err := s.delete(opts.choose(s.resetFutureUses(files), s.max, s.now()))
	gone.Stale = stale
	return gone, err
}

// choose returns the files that the options remove.
func (o PruneOptions) choose(files []file, limit int64, now time.Time) []file {
	var removed, kept []file
	for _, f := range files {
		switch {
		case o.Kind != "" && f.kind != o.Kind:
		case o.All, o.OlderThan > 0 && now.Sub(f.used) > o.OlderThan:
			removed = append(removed, f)
		default:
			kept = append(kept, f)
		}
	}
	limit = cmp.Or(o.MaxBytes, limit)
	if limit > 0 {
		removed = append(removed, oldest(kept, limit)...)
	}
	return removed
}

// Ls lists the entries, sorted by file, from their headers: the content is not
// read. An error ends the list.
func (s *Store) Ls(ctx context.Context) iter.Seq2[Entry, error] { return s.each(ctx, false) }

func (s *Store) each(ctx context.Context, verify bool) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		files, err := s.scan(ctx)
		for _, listed := range files {
			err = ctx.Err()
			if err != nil {
				break
			}

			// Another process may have removed the entry since the scan.
			f, failed := os.Open(filepath.Join(s.dir, listed.name))
			if errors.Is(failed, fs.ErrNotExist) {
				continue
			}
			err = failed
			if err != nil {
				break
			}

			e := inspect(f, listed.name, verify)
			_ = f.Close() // it was only read
			e.Size, e.Used = listed.size, listed.used
			if !yield(e, nil) {
				return
			}
		}
		if err != nil {
			yield(Entry{}, err)
		}
	}
}

// VerifyOptions configure [Store.Verify].
type VerifyOptions struct {
	// Remove removes what is bad or stale; without it nothing is changed.
	Remove bool
}

// Report is the result of [Store.Verify].
type Report struct {
	// Entries and Bytes are those that match their headers.
	Entries int
	Bytes   int64
	// Bad are the others, with what is wrong.
	Bad []Entry
	// Stale are temporary files of killed processes, by path below the directory.
	Stale []string
}

// Verify reads every entry completely and compares it with its digest.
func (s *Store) Verify(ctx context.Context, opts VerifyOptions) (Report, error) {
	report := Report{Stale: s.listStale()}
	for e, err := range s.each(ctx, true) {
		switch {
		case err != nil:
			return report, err
		case e.Bad != "":
			report.Bad = append(report.Bad, e)
		default:
			report.Entries++
			report.Bytes += e.Size
		}
	}
	if !opts.Remove {
		return report, nil
	}
	s.sweep()
	var errs []error
	for _, e := range report.Bad {
		s.countersOf(e.Kind).corrupt.Add(1)
		if err := os.Remove(filepath.Join(s.dir, e.File)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return report, errors.Join(errs...)
}
