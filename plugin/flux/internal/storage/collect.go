// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/internal/digests"
)

// halfWritten is the age at which no process writes an unfinished file any more.
const halfWritten = 10 * time.Minute

// Retain keeps of a Transform the complete artifacts with their plans, the layers that these plans
// name, and the digests that objects in the cluster name (others). It marks all other files as not
// needed since now, and removes files that were not needed for longer than the TTL. It returns the
// names of the removed files.
func (s *Storage) Retain(owner types.NamespacedName, complete, others []string, now time.Time) ([]string, error) {
	dir, err := folder(owner)
	if err != nil {
		return nil, err
	}

	// Files are kept by their sums.
	keep := map[string]bool{}
	add := func(digest string) {
		if sum, err := encoded(digest); err == nil {
			keep[sum] = true
		}
	}
	for _, digest := range complete {
		add(digest)
		plan, err := s.Plan(owner, digest)
		if err != nil {
			continue // There is no rollback to it: its layers are not needed.
		}
		for _, layer := range plan.digests() {
			add(layer)
		}
	}
	for _, digest := range others {
		add(digest)
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	return s.collect(dir, keep, now)
}

// collect marks and removes the files that are not in keep. The caller holds mu.
func (s *Storage) collect(dir string, keep map[string]bool, now time.Time) ([]string, error) {
	// A folder that does not exist has nothing to remove.
	present, err := s.sums(dir)
	if err != nil || len(present) == 0 {
		return nil, err
	}
	var (
		removed []string
		errs    []error
	)

	// Each sum has a mark, or goes when its mark is old enough.
	for _, sum := range present {
		mark := path.Join(dir, sum+markSuffix)
		if keep[sum] {
			errs = append(errs, ignore(s.root.Remove(mark), fs.ErrNotExist))
			continue
		}
		info, err := s.root.Lstat(mark)
		if errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, s.writeMark(mark, now))
			continue
		}
		if err != nil || now.Sub(info.ModTime()) < s.ttl {
			errs = append(errs, err)
			continue
		}
		// The mark goes last: a process that is killed in between finds it again.
		for _, suffix := range []string{archiveSuffix, planSuffix, markSuffix} {
			err := s.root.Remove(path.Join(dir, sum+suffix))
			if err == nil && suffix != markSuffix {
				removed = append(removed, path.Join(dir, sum+suffix))
			}
			errs = append(errs, ignore(err, fs.ErrNotExist))
		}
	}
	s.removeEmpty(dir)
	return removed, errors.Join(errs...)
}

// Clear removes unfinished files of a process that was killed. Another process may have been the
// leader just before, but no process writes a file for longer than a few minutes.
func (s *Storage) Clear(now time.Time) error {
	entries, err := fs.ReadDir(s.root.FS(), incoming)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && now.Sub(info.ModTime()) >= halfWritten {
			err = s.root.RemoveAll(path.Join(incoming, e.Name()))
		}
		errs = append(errs, ignore(err, fs.ErrNotExist))
	}
	return errors.Join(errs...)
}

// writeMark makes the empty file whose time says since when the other files are not needed.
func (s *Storage) writeMark(name string, now time.Time) error {
	f, err := s.root.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), s.root.Chtimes(name, now, now))
}

// sums returns the sums in the names of files of this package in a folder, sorted, each once.
func (s *Storage) sums(dir string) ([]string, error) {
	entries, err := fs.ReadDir(s.root.FS(), dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		sum, suffix, _ := strings.Cut(e.Name(), ".")
		isOurs := isSum(sum) && slices.Contains([]string{archiveSuffix, planSuffix, markSuffix}, "."+suffix)
		isNew := len(out) == 0 || out[len(out)-1] != sum
		if isOurs && isNew {
			out = append(out, sum)
		}
	}
	return out, nil
}

// removeEmpty removes the folder of a Transform, and the folder of its namespace, if they are empty.
func (s *Storage) removeEmpty(dir string) {
	for range 2 {
		if s.root.Remove(dir) != nil {
			return // It is not empty: a folder with files in it stays.
		}
		dir = path.Dir(dir)
	}
}

// Owners returns the Transforms that have files here, sorted.
func (s *Storage) Owners() ([]types.NamespacedName, error) {
	dirs, err := fs.Glob(s.root.FS(), kind+"/*/*")
	if err != nil {
		return nil, err
	}
	var out []types.NamespacedName
	for _, dir := range dirs {
		owner := types.NamespacedName{Namespace: path.Base(path.Dir(dir)), Name: path.Base(dir)}
		if _, err := folder(owner); err != nil {
			continue
		}
		if info, err := s.root.Lstat(dir); err == nil && info.IsDir() {
			out = append(out, owner)
		}
	}
	return out, nil
}

// Verify reads the archives of a Transform, removes archives that do not have the digest of their
// names, and returns these digests. The next reconciliation makes a damaged file again, if it is
// still rendered.
func (s *Storage) Verify(ctx context.Context, owner types.NamespacedName) ([]string, error) {
	dir, err := folder(owner)
	if err != nil {
		return nil, err
	}
	present, err := s.sums(dir)
	if err != nil {
		return nil, err
	}

	// A damaged archive is removed, whatever it is.
	var bad []string
	for _, sum := range present {
		if err := ctx.Err(); err != nil {
			return bad, err
		}
		name := path.Join(dir, sum+archiveSuffix)
		right, err := s.hasDigest(name, sum)
		if err != nil {
			return bad, err
		}
		if right {
			continue
		}
		bad = append(bad, "sha256:"+sum)
		if err := ignore(s.root.RemoveAll(name), fs.ErrNotExist); err != nil {
			return bad, err
		}
	}
	return bad, nil
}

// hasDigest reports whether an archive has the digest of its name. An archive that does not exist
// is not wrong.
func (s *Storage) hasDigest(name, want string) (bool, error) {
	info, err := s.root.Lstat(name)
	if err != nil {
		return true, ignore(err, fs.ErrNotExist)
	}
	if !info.Mode().IsRegular() {
		return false, nil
	}
	data, err := s.read(name)
	if err != nil {
		return true, ignore(err, fs.ErrNotExist)
	}
	return digests.Of(data) == "sha256:"+want, nil
}
