// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/errdef"

	"github.com/ropewalk/ropewalk/artifact/manifest"
	"github.com/ropewalk/ropewalk/internal/flock"
)

const (
	tempPrefix = ".tmp-"
	indexTemp  = tempPrefix + "index"
	// ingestDir holds the blobs of oras-go before it renames them.
	ingestDir = "ingest"
	// staleIngest is the age of a file there whose writer was killed.
	staleIngest = time.Hour
	// lockWait limits the wait for another process that holds the lock of a layout.
	lockWait = time.Minute
)

// errNotRegular is the error of a pipe or a device, which may block for ever.
var errNotRegular = errors.New("it is not a regular file")

// Open opens the image layout in a directory. With create, a directory that is empty or missing
// becomes a layout. A directory with files that belong to no layout is refused
// (manifest.ErrNotLayout), so that a mistyped name harms nothing.
func Open(dir string, create bool) (*Layout, error) { return open(dir, dir, create) }

// open works as [Open] does, for a directory that errors call by another name.
func open(dir, name string, create bool) (*Layout, error) {
	fresh := false
	if create {
		_, err := os.Lstat(dir)
		fresh = errors.Is(err, fs.ErrNotExist)
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // the umask decides
			return nil, err
		}
	}

	// Blobs are read through the root, which follows no link out of the layout.
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, manifest.Refuse(manifest.ErrNotFound, "there is no image layout %q", dir)
	}
	if err != nil {
		return nil, err
	}
	storage, err := oci.NewStorage(dir)
	if err != nil {
		_ = root.Close() // the error before counts
		return nil, err
	}
	d := &directory{
		root:    root,
		storage: storage,
		read:    oci.NewStorageFromFS(regularFS{root}),
		path:    dir,
		name:    name,
		fresh:   fresh,
	}
	if err := d.check(create); err != nil {
		_ = root.Close() // the error before counts
		return nil, err
	}
	return &Layout{directory: d, subjects: map[string]*subjectOf{}}, nil
}

// Close ends the use of the layout. An archive is written only now.
func (l *Layout) Close() error {
	var err error
	if l.archive != nil {
		err = l.archive.close(l)
	}
	if l.changed.Load() {
		_ = l.root.Remove(ingestDir) // it is not empty while another process writes
	}
	if closeErr := l.root.Close(); err == nil {
		err = closeErr
	}
	return err
}

// Abandon cleans up after a failed command: a directory that [Open] created is removed if
// no manifest was completed in it, and an archive is not written. Close is still to be
// called.
func (l *Layout) Abandon(ctx context.Context) error {
	if l.archive != nil {
		l.archive.abandoned = true
		return nil
	}
	return l.abandon(ctx)
}

// directory stores a layout.
type directory struct {
	root    *os.Root
	read    *oci.ReadOnlyStorage
	storage *oci.Storage
	path    string
	// name names the layout in errors.
	name string
	// fresh reports that the directory was created for this layout.
	fresh bool

	updates sync.Mutex // between goroutines, where the platform has no locks
	// temporary reports that nothing needs to last.
	temporary bool

	// changed reports that something was written.
	changed atomic.Bool
}

// regularFS opens regular files only.
type regularFS struct{ root *os.Root }

// Open opens a file.
func (f regularFS) Open(name string) (fs.File, error) {
	info, err := f.root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errNotRegular}
	}
	return f.root.Open(name)
}

// check refuses a directory that is no layout. With create, it turns an empty directory into a
// layout.
func (d *directory) check(create bool) error {
	entries, err := fs.ReadDir(d.root.FS(), ".")
	if err != nil {
		return err
	}

	// A file that belongs to no layout shows that the directory is used for something else.
	marked := false
	for _, e := range entries {
		switch name := e.Name(); {
		case name == ocispec.ImageLayoutFile:
			marked = true
		case name == ocispec.ImageIndexFile, name == ocispec.ImageBlobsDir, name == ingestDir,
			name == ".ropewalk.lock", strings.HasPrefix(name, tempPrefix):
		default:
			return manifest.Refuse(manifest.ErrNotLayout, "%q contains %q, which is not part of an image layout: choose another directory",
				d.name, name)
		}
	}

	// The mark of a layout is missing in a new directory, and in no other.
	if !marked {
		if !create {
			return manifest.Refuse(manifest.ErrNotLayout, "%q is not an image layout: it has no %q", d.name, ocispec.ImageLayoutFile)
		}
		release, err := lock(context.Background(), d.path, d.name)
		if err != nil {
			return err
		}
		defer release()
		return d.replace(ocispec.ImageLayoutFile, []byte(layoutContent))
	}

	// The file says the version of the layout; 1.x is read.
	data, err := d.readBounded(ocispec.ImageLayoutFile, 4096)
	if err != nil {
		return err
	}
	if !strings.Contains(string(data), `"1.`) {
		return manifest.Refuse(manifest.ErrNotLayout, "%q is an image layout of an unsupported version: only version 1 is supported", d.name)
	}
	return nil
}

// readBounded reads a file of at most limit bytes.
func (d *directory) readBounded(name string, limit int64) ([]byte, error) {
	f, err := regularFS{d.root}.Open(name)
	if errors.Is(err, errNotRegular) {
		return nil, manifest.Refuse(manifest.ErrNotLayout, "%s in %q: %v", name, d.name, errNotRegular)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was read only
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, manifest.OverLimit("%s is larger than %d bytes", name, limit)
	}
	return data, err
}

func blobPath(digest string) string {
	return path.Join(blobsDir, strings.TrimPrefix(digest, "sha256:"))
}

func (d *directory) size(digest string) (int64, bool) {
	info, err := d.root.Stat(blobPath(digest))
	switch {
	case err != nil:
		return 0, false
	case !info.Mode().IsRegular():
		return -1, true
	}
	return info.Size(), true
}

// store writes a blob, which is verified while it is read.
func (d *directory) store(ctx context.Context, target ocispec.Descriptor, content io.Reader) error {
	d.changed.Store(true)
	err := d.storage.Push(ctx, target, content)
	if errors.Is(err, fs.ErrNotExist) { // another process removed the empty directory of ingest
		err = d.storage.Push(ctx, target, content)
	}
	if err != nil && !errors.Is(err, errdef.ErrAlreadyExists) {
		return err
	}
	// index.json must not name what a crash of the machine would lose.
	if err := d.sync(blobPath(target.Digest.String())); err != nil {
		return err
	}
	return d.sync(blobsDir)
}

func (d *directory) remove(digest string) error { return d.root.Remove(blobPath(digest)) }

// readIndex reads index.json, which may be missing.
func (d *directory) readIndex() (index, error) {
	data, err := d.readBounded(ocispec.ImageIndexFile, maxIndex)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return index{}, err
	}
	return parseIndex(data)
}

// change changes index.json under the lock of the directory, so that no other process changes
// it meanwhile.
func (d *directory) change(ctx context.Context, change indexChange) error {
	release, err := lock(ctx, d.path, d.name)
	if err != nil {
		return err
	}
	defer release()
	d.updates.Lock()
	defer d.updates.Unlock()

	// The index is read under the lock: it may have changed since it was read last.
	d.clean()
	x, err := d.readIndex()
	if err != nil {
		return err
	}
	after, err := change(&x)
	if err != nil {
		return err
	}
	data, err := x.encode()
	if err != nil {
		return err
	}

	// An index that stays the same is not written, and does not count as a change.
	if old, err := d.readBounded(ocispec.ImageIndexFile, maxIndex); err != nil || string(data) != string(old) {
		if err := d.replace(ocispec.ImageIndexFile, data); err != nil {
			return err
		}
		d.changed.Store(true)
	}

	// What follows a change, such as removing blobs, still happens under the lock.
	if after == nil {
		return nil
	}
	return after()
}

// clean removes what killed writers left, once it is older than staleIngest.
func (d *directory) clean() {
	entries, err := fs.ReadDir(d.root.FS(), ingestDir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > staleIngest {
			_ = d.root.Remove(path.Join(ingestDir, e.Name())) // it stays for the next cleanup
		}
	}
}

// replace writes a file beside the old file, syncs it and renames it. The lock is held.
func (d *directory) replace(name string, data []byte) error {
	f, err := d.root.OpenFile(indexTemp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	if err := d.root.Rename(indexTemp, name); err != nil {
		return err
	}
	return d.sync(".")
}

// sync writes a file or a directory to the disk.
func (d *directory) sync(name string) error {
	if d.temporary {
		return nil
	}
	f, err := d.root.Open(name)
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

// abandon removes a directory that was created for this layout and has no index yet.
func (d *directory) abandon(ctx context.Context) error {
	if !d.fresh {
		return nil
	}
	// A command that was interrupted cleans up all the same.
	release, err := lock(context.WithoutCancel(ctx), d.path, d.name)
	if err != nil {
		return err
	}
	defer release()
	if _, err := d.root.Lstat(ocispec.ImageIndexFile); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range []string{ocispec.ImageBlobsDir, ingestDir, ocispec.ImageLayoutFile} {
		if err := d.root.RemoveAll(name); err != nil {
			return err
		}
	}
	_ = os.Remove(d.path) // another process may have put something there
	return nil
}

// lock locks a directory for one process; errors name it by layout.
func lock(ctx context.Context, dir, layout string) (release func(), _ error) {
	inner, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	release, err := flock.Lock(inner, dir)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, manifest.Refuse(manifest.ErrBusy, "another process has locked the layout %q for more than %s: try again", layout, lockWait)
	}
	if err != nil {
		return nil, fmt.Errorf("lock %q: %w", dir, err)
	}
	return release, nil
}
