// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package output writes renders into directories of the user.
//
// # Invariants
//
// A directory is replaced as a unit, or left as it was: the files are written and
// synced beside it, then two renames put them in its place. A write that was killed
// between these leaves the earlier output beside the directory, and the next write
// puts it back. Of several writers at once the last one wins.
//
// Only output of an earlier render is replaced. Files of others, and those that were
// changed after the render, are refused by name ([ErrForeign]); a marker file in the
// directory lists what a render wrote.
package output

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/ropewalk/ropewalk/internal/flock"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source"
)

// Options say how a directory is written. The zero value refuses whatever an earlier
// render did not write.
type Options struct {
	// Force replaces files of an earlier render that were changed since; files of
	// others are refused all the same.
	Force bool
}

// Write makes files the content of dir, and nothing else: what an earlier render wrote there is
// removed. The directory is created if it is missing, and a symbolic link to it is followed. Write
// waits for other writers until ctx ends.
func Write(ctx context.Context, dir string, files []emit.File, opts Options) error {
	// What cannot be written is refused before anything is.
	content, err := contents(files)
	if err != nil {
		return err
	}
	target, err := resolve(dir)
	if err != nil {
		return err
	}
	parent := filepath.Dir(target)
	if err := os.MkdirAll(parent, 0o755); err != nil { //nolint:gosec // the umask decides
		return err
	}

	// Writers of one directory follow each other, and clean up after one that was killed.
	release, err := flock.Lock(ctx, parent)
	if err != nil {
		return err
	}
	defer release()
	r := replacement{target: target, next: beside(target, "new"), old: beside(target, "old")}
	if err := r.recover(); err != nil {
		return err
	}

	// Nothing of others is replaced, and the new directory takes its place at once.
	mode, err := inspect(dir, target, opts.Force)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(r.next) }()
	if err := r.fill(mode, content); err != nil {
		return fmt.Errorf("write %q: %w; nothing was changed", dir, err)
	}
	return r.replace()
}

// inspect returns the mode of the directory that is replaced, or that of a new one. It refuses a
// directory with files of others.
func inspect(dir, target string, force bool) (fs.FileMode, error) {
	info, err := os.Stat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0o755, nil
	case err != nil:
		return 0, err
	case !info.IsDir():
		return 0, fmt.Errorf("%q is a file; expected a directory", dir)
	}
	return info.Mode().Perm(), refuseForeign(dir, target, force)
}

// contents returns the files by path, with the marker.
func contents(files []emit.File) (map[string][]byte, error) {
	out := make(map[string][]byte, len(files)+1)
	for _, f := range files {
		if err := source.CheckPath(f.Path); err != nil {
			return nil, err
		}
		if _, twice := out[f.Path]; twice || f.Path == MarkerFile {
			return nil, fmt.Errorf("two files are named %q", f.Path)
		}
		out[f.Path] = f.Data
	}
	data, err := newMarker(out).bytes()
	out[MarkerFile] = data
	return out, err
}

// resolve returns the absolute path of a directory, with links followed.
func resolve(dir string) (string, error) {
	target, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(target)
	if err == nil {
		return real, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if info, err := os.Lstat(target); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return "", fmt.Errorf("%q is a symbolic link to a directory that does not exist", dir)
	}
	return target, nil
}

// replacement is a directory on its way into the place of target. The lock of the
// parent directory is held, so its names are fixed.
type replacement struct{ target, next, old string }

// beside returns the path of a directory beside the target.
func beside(target, what string) string {
	return filepath.Join(filepath.Dir(target), ".ropewalk-"+filepath.Base(target)+"-"+what)
}

// recover cleans up after a writer that was killed.
func (r replacement) recover() error {
	if _, err := os.Lstat(r.target); errors.Is(err, fs.ErrNotExist) {
		if err := os.Rename(r.old, r.target); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return errors.Join(os.RemoveAll(r.old), os.RemoveAll(r.next))
}

// fill writes the files and syncs them to the disk.
func (r replacement) fill(mode fs.FileMode, content map[string][]byte) error {
	if err := os.Mkdir(r.next, mode); err != nil {
		return err
	}
	for _, name := range object.SortedKeys(content) {
		full := filepath.Join(r.next, filepath.FromSlash(name))
		if path.Dir(name) != "." {
			if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil { //nolint:gosec // the umask decides
				return withoutPath(err)
			}
		}
		if err := os.WriteFile(full, content[name], 0o644); err != nil { //nolint:gosec // manifests hold no secrets, and the umask decides
			return fmt.Errorf("%s: %w", name, withoutPath(err))
		}
	}
	return sync(r.next, syncAll)
}

// replace renames the target aside and the new directory into its place.
func (r replacement) replace() error {
	if err := os.Rename(r.target, r.old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(r.next, r.target); err != nil {
		return errors.Join(err, r.recover())
	}
	// Some file systems cannot sync a directory; the rename is done all the same.
	_ = sync(filepath.Dir(r.target), (*os.File).Sync)
	return os.RemoveAll(r.old)
}

// sync opens a directory and syncs it.
func sync(dir string, do func(*os.File) error) error {
	f, err := os.Open(dir) //nolint:gosec // a directory of ours, or that of the target
	if err != nil {
		return err
	}
	return errors.Join(do(f), f.Close())
}

// withoutPath returns an error of the file system without its path, which is that of a directory
// beside the user's.
func withoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
