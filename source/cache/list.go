// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
)

// Ls lists the entries, sorted by file, from their headers: the content is not
// read. An error ends the list.
func (s *Store) Ls(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := s.each(ctx, false, func(e Entry) bool { return yield(e, nil) }); err != nil {
			yield(Entry{}, err)
		}
	}
}

// errStop says that the caller has seen enough.
var errStop = errors.New("stop")

// each gives every entry to f until that is false.
func (s *Store) each(ctx context.Context, whole bool, f func(Entry) bool) error {
	root, err := os.OpenRoot(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	files, err := s.scan(ctx, root)
	if err != nil {
		return err
	}
	for _, one := range files {
		err := ctx.Err()
		if err == nil {
			err = look(root, one, whole, f)
		}
		switch {
		case errors.Is(err, errStop):
			return nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	return nil
}

// look gives one entry to f.
func look(root *os.Root, one file, whole bool, f func(Entry) bool) error {
	opened, err := root.Open(one.name)
	if err != nil {
		return err
	}
	defer func() { _ = opened.Close() }()
	e := inspect(opened, one.name, whole)
	e.Size, e.Used = one.size, one.used
	if !f(e) {
		return errStop
	}
	return nil
}

// VerifyOptions are those of [Store.Verify].
type VerifyOptions struct {
	// Remove takes away what is bad or stale; without it nothing is changed.
	Remove bool
}

// Report is what [Store.Verify] found.
type Report struct {
	// Entries and Bytes are those that are well.
	Entries int
	Bytes   int64
	// Bad are entries that are not what they were when they were put, with what
	// is wrong.
	Bad []Entry
	// Stale are temporary files of processes that are gone, by path below the
	// directory.
	Stale []string
}

// Verify reads every entry in full and compares it with its digest. It needs no
// lock: what is written meanwhile is whole, and what is evicted meanwhile does
// not count.
func (s *Store) Verify(ctx context.Context, opts VerifyOptions) (Report, error) {
	var report Report
	err := s.each(ctx, true, func(e Entry) bool {
		if e.Bad != "" {
			report.Bad = append(report.Bad, e)
		} else {
			report.Entries++
			report.Bytes += e.Size
		}
		return true
	})
	if err != nil {
		return report, err
	}
	root, err := os.OpenRoot(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return report, nil
	}
	if err != nil {
		return report, err
	}
	defer func() { _ = root.Close() }()
	s.stale(root, func(name string) { report.Stale = append(report.Stale, name) })
	if !opts.Remove {
		return report, nil
	}
	s.sweep(root)
	var errs []error
	for _, e := range report.Bad {
		s.count(e.Kind).corrupt.Add(1)
		if err := root.Remove(e.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return report, errors.Join(errs...)
}
