// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	lockFile   = ".ropewalk.lock"
	tempPrefix = ".tmp-"
	// lockWait is how long another process may have the layout.
	lockWait = time.Minute
)

// OpenLayout opens the image layout in a folder. Where create is true, a folder
// that is empty or not there becomes one. A folder that holds files of others is
// refused (ErrNotLayout), so that a name that was mistyped harms nothing.
func OpenLayout(dir string, create bool) (*Layout, error) {
	fresh := false
	if create {
		_, err := os.Lstat(dir)
		fresh = errors.Is(err, fs.ErrNotExist)
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // the umask decides
			return nil, err
		}
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, refuse(ErrNotFound, "there is no image layout %q", dir)
	}
	if err != nil {
		return nil, err
	}
	d := &layoutDir{root: root, name: dir, fresh: fresh, wrote: map[string]bool{}}
	if err := d.check(create); err != nil {
		_ = root.Close() // the error before counts
		return nil, err
	}
	return &Layout{files: d, subjects: map[string]*subjectOf{}}, nil
}

// layoutDir is a layout in a folder. Files appear by rename, whole and synced.
type layoutDir struct {
	root *os.Root
	name string
	// fresh says that the folder was made for this layout.
	fresh bool

	mu    sync.Mutex
	wrote map[string]bool // the digests of blobs, where fresh
}

// check wants nothing but a layout.
func (d *layoutDir) check(create bool) error {
	entries, err := fs.ReadDir(d.root.FS(), ".")
	if err != nil {
		return err
	}
	marked := false
	for _, e := range entries {
		switch name := e.Name(); {
		case name == layoutFile:
			marked = true
		case name == indexFile, name == blobsDir, name == lockFile, strings.HasPrefix(name, tempPrefix):
		default:
			return refuse(ErrNotLayout, "%q holds %q, which belongs to no image layout: choose another folder", d.name, name)
		}
	}
	if !marked {
		if !create {
			return refuse(ErrNotLayout, "%q is no image layout: it has no %q", d.name, layoutFile)
		}
		return d.replace(layoutFile, strings.NewReader(layoutContent))
	}
	data, err := readBounded(d.root, layoutFile, 4096)
	if err != nil {
		return err
	}
	if !strings.Contains(string(data), `"1.`) {
		return refuse(ErrNotLayout, "%q is an image layout of another version than 1", d.name)
	}
	return nil
}

// regular says whether there is a file. What is none, such as a pipe, may have
// nobody at its other end, and opening it never ends.
func regular(root *os.Root, name string) (bool, error) {
	info, err := root.Stat(name)
	return err == nil && info.Mode().IsRegular(), err
}

func readBounded(root *os.Root, name string, limit int64) ([]byte, error) {
	if file, err := regular(root, name); err != nil || !file {
		return nil, cmpError(err, refuse(ErrNotLayout, "%s is no regular file", name))
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was read only
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, refuse(ErrLimit, "%s is larger than %d bytes", name, limit)
	}
	return data, err
}

func blobPath(digest string) string {
	return path.Join(blobsDir, "sha256", strings.TrimPrefix(digest, "sha256:"))
}

func (d *layoutDir) open(digest string) (io.ReadCloser, error) {
	name := blobPath(digest)
	file, err := regular(d.root, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, refuse(ErrNotFound, "the layout %q has no %s", d.name, digest)
	case err != nil:
		return nil, err
	case !file:
		return nil, refuse(ErrNotFound, "the layout %q has no %s: %s is no regular file", d.name, digest, name)
	}
	f, err := d.root.Open(name)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (d *layoutDir) has(digest string, size int64) (bool, error) {
	info, err := d.root.Stat(blobPath(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	// One of another size was altered; it is written again.
	return err == nil && info.Size() == size && info.Mode().IsRegular(), err
}

func (d *layoutDir) write(_ context.Context, digest string, content io.Reader) error {
	if err := d.root.MkdirAll(path.Join(blobsDir, "sha256"), 0o755); err != nil {
		return err
	}
	if d.fresh {
		d.mu.Lock()
		d.wrote[digest] = true
		d.mu.Unlock()
	}
	return d.replace(blobPath(digest), content)
}

func (d *layoutDir) index() ([]byte, error) {
	data, err := readBounded(d.root, indexFile, maxIndex)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

func (d *layoutDir) remove(digest string) error { return d.root.Remove(blobPath(digest)) }

func (d *layoutDir) close() error { return d.root.Close() }

func (d *layoutDir) update(ctx context.Context, change func([]byte) ([]byte, func() error, error)) error {
	unlock, err := d.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	d.clean()
	old, err := d.index()
	if err != nil {
		return err
	}
	data, after, err := change(old)
	if err != nil {
		return err
	}
	if string(data) != string(old) {
		if err := d.replace(indexFile, strings.NewReader(string(data))); err != nil {
			return err
		}
	}
	if after == nil {
		return nil
	}
	return after()
}

// lock has the layout for this process alone. The lock ends with the process.
func (d *layoutDir) lock(ctx context.Context) (unlock func(), _ error) {
	return lockFor(ctx, lockWait, func() (*os.File, error) {
		return d.root.OpenFile(lockFile, os.O_CREATE|os.O_RDWR, 0o644)
	}, func() (fs.FileInfo, error) { return d.root.Lstat(lockFile) }, func() {}, d.name)
}

// clean removes temporary files whose writers were killed: those that nobody has
// locked. Where there are no locks they stay.
func (d *layoutDir) clean() {
	if !canLock {
		return
	}
	entries, err := fs.ReadDir(d.root.FS(), ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tempPrefix) || !e.Type().IsRegular() {
			continue
		}
		f, err := d.root.Open(e.Name())
		if err != nil {
			continue
		}
		if tryLock(f) {
			_ = d.root.Remove(e.Name()) // it stays for the next one
		}
		_ = f.Close() // nothing was written
	}
}

// replace writes a file: beside, synced, and then by rename.
func (d *layoutDir) replace(name string, content io.Reader) (err error) {
	f, temp, err := d.temp()
	if err != nil {
		return err
	}
	defer func() {
		_ = f.Close() // it is synced by then, or of no use
		if err != nil {
			_ = d.root.Remove(temp)
		}
	}()
	if _, err = io.Copy(f, content); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = d.root.Rename(temp, name); err != nil {
		return err
	}
	return d.sync(path.Dir(name))
}

// temp is a new file that is locked. Another process may take it for one that
// was left behind in the moment before it is locked; then there is a next one.
func (d *layoutDir) temp() (*os.File, string, error) {
	for {
		name := tempPrefix + rand.Text()
		f, err := d.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
		if err != nil {
			return nil, "", err
		}
		if !canLock {
			return f, name, nil
		}
		if tryLock(f) {
			if _, err := d.root.Lstat(name); err == nil {
				return f, name, nil
			}
		}
		_ = f.Close() // nothing was written
	}
}

// sync has a rename in a folder outlive the machine.
func (d *layoutDir) sync(dir string) error {
	f, err := d.root.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrInvalid) {
		return nil // some file systems cannot, and need not
	}
	return err
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
