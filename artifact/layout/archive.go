// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/ropewalk/ropewalk/artifact/manifest"
)

// maxArchive is how large an archive may be, which is in memory as a whole.
const maxArchive = 512 << 20

// OpenArchive opens the image layout in a tar file. Where create is true, a file
// that is not there becomes one. It is held in memory, and written, if something
// was changed, by [Layout.Close] and only then: as a whole and by rename. What
// others have written to it by then stays, and a tag that they moved too moves
// once more: of those who write at once nobody is lost. The same content gives
// the same file.
func OpenArchive(file string, create bool) (*Layout, error) {
	a := &archive{file: file, blobs: map[string][]byte{}, written: map[string][]byte{}}
	if err := a.load(); err != nil {
		return nil, err
	}
	if a.was == nil && !create {
		return nil, manifest.Refuse(manifest.ErrNotFound, "there is no archive %q", file)
	}
	return &Layout{files: a, name: file, subjects: map[string]*subjectOf{}}, nil
}

// load reads the file, where there is one.
func (a *archive) load() error {
	// What is no file may have nobody at its other end, and opening it never ends.
	info, err := os.Stat(a.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return manifest.Refuse(manifest.ErrNotLayout, "%q is no regular file, and so no archive of an image layout", a.file)
	}
	f, err := os.Open(a.file) //nolint:gosec // the caller says which file
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was read only
	if a.was, err = f.Stat(); err != nil {
		return err
	}
	if a.was.Size() > maxArchive {
		return manifest.Refuse(manifest.ErrLimit, "%q has %d bytes, and archives of at most %d are read: use a folder (oci-layout:DIR)", a.file, a.was.Size(), maxArchive)
	}
	return a.read(f)
}

// archive is a layout in a tar file, in memory.
type archive struct {
	file string
	was  fs.FileInfo // nil where there was no file

	// updates has one goroutine at a time change the index.
	updates sync.Mutex

	mu      sync.Mutex
	blobs   map[string][]byte // by digest
	listing []byte            // index.json
	changed bool
	closed  bool
	// written are the blobs that are new, and changes what was done to the index,
	// in that order: both are done again to a file that others have changed.
	written map[string][]byte
	changes []indexChange
}

// read reads the tar. Its blobs are checked when they are used.
func (a *archive) read(r io.Reader) error {
	notOne := func(why string) error {
		return manifest.Refuse(manifest.ErrNotLayout, "%q is no archive of an image layout: %s", a.file, why)
	}
	t, marked := tar.NewReader(io.LimitReader(r, maxArchive)), false
	for {
		header, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return notOne("it is no tar, or is cut short")
		}
		name := strings.TrimSuffix(strings.TrimPrefix(header.Name, "./"), "/")
		if header.Typeflag == tar.TypeDir && (name == "" || name == "." || name == ocispec.ImageBlobsDir || name == blobsDir) {
			continue
		}
		if header.Typeflag != tar.TypeReg {
			return notOne("it holds something that is no file")
		}
		data, err := io.ReadAll(t)
		if err != nil {
			return notOne("it is cut short")
		}
		digest := "sha256:" + strings.TrimPrefix(name, blobsDir+"/")
		switch {
		case name == ocispec.ImageLayoutFile:
			marked = true
		case name == ocispec.ImageIndexFile:
			a.listing = data
		case manifest.IsDigest(digest):
			a.blobs[digest] = data
		default:
			return notOne("it holds a file that belongs to none: " + name)
		}
	}
	if !marked {
		return notOne("it has no " + ocispec.ImageLayoutFile)
	}
	return nil
}

func (a *archive) fetch(_ context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	data, ok := a.blobs[d.Digest.String()]
	if !ok {
		return nil, manifest.ErrNotFound
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

func (a *archive) size(digest string) (int64, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	data, ok := a.blobs[digest]
	return int64(len(data)), ok
}

func (a *archive) push(_ context.Context, d ocispec.Descriptor, content io.Reader) error {
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changed = true
	a.blobs[d.Digest.String()], a.written[d.Digest.String()] = data, data
	return nil
}

func (a *archive) index() ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.listing, nil
}

func (a *archive) update(_ context.Context, change indexChange) error {
	// change reads blobs, so that mu cannot be held meanwhile.
	a.updates.Lock()
	defer a.updates.Unlock()
	if err := a.apply(change); err != nil {
		return err
	}
	a.changes = append(a.changes, change)
	return nil
}

// apply changes the index in memory.
func (a *archive) apply(change indexChange) error {
	old, err := a.index()
	if err != nil {
		return err
	}
	data, after, err := change(old)
	if err != nil {
		return err
	}
	a.replace(data)
	if after == nil {
		return nil
	}
	return after()
}

func (a *archive) replace(data []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changed = a.changed || !bytes.Equal(a.listing, data)
	a.listing = data
}

func (a *archive) remove(digest string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.blobs, digest)
	delete(a.written, digest)
	a.changed = true
	return nil
}

func (a *archive) writeTar(w io.Writer) error {
	x, err := parseIndex(a.listing)
	if err != nil {
		return err
	}
	listing, err := x.bytes()
	if err != nil {
		return err
	}
	t := tar.NewWriter(w)
	write := func(name string, data []byte) error {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: 0o644, ModTime: time.Unix(0, 0)}
		if err := t.WriteHeader(header); err != nil {
			return err
		}
		_, err := t.Write(data)
		return err
	}
	if err := write(ocispec.ImageLayoutFile, []byte(layoutContent)); err != nil {
		return err
	}
	if err := write(ocispec.ImageIndexFile, listing); err != nil {
		return err
	}
	for _, digest := range slices.Sorted(maps.Keys(a.blobs)) {
		if err := write(blobPath(digest), a.blobs[digest]); err != nil {
			return err
		}
	}
	return t.Close()
}

// close writes the archive, where something was changed. Those who write at once
// do so one after the other: who looks at the file and then renames another one
// over it would else lose what came between.
func (a *archive) close() error {
	a.updates.Lock()
	defer a.updates.Unlock()
	if !a.pending() {
		return nil
	}
	release, err := lock(context.Background(), filepath.Dir(a.file), a.file)
	if err != nil {
		return err
	}
	defer release()
	if now, err := os.Stat(a.file); !a.unchanged(now, err) {
		if err := a.redo(); err != nil {
			return err
		}
	}
	return a.save()
}

// pending says whether there is something to write, once.
func (a *archive) pending() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	pending := a.changed && !a.closed
	a.closed = a.closed || pending
	return pending
}

// abandon forgets what was changed.
func (a *archive) abandon(context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	return nil
}

// unchanged says whether the file is the one that was read.
func (a *archive) unchanged(now fs.FileInfo, err error) bool {
	if a.was == nil || err != nil {
		return a.was == nil && errors.Is(err, fs.ErrNotExist)
	}
	return os.SameFile(a.was, now) && a.was.Size() == now.Size() && a.was.ModTime().Equal(now.ModTime())
}

// redo reads what others have written meanwhile, and does to that what was done
// to the file as it was.
func (a *archive) redo() error {
	written := maps.Clone(a.written)
	a.was, a.listing = nil, nil
	clear(a.blobs)
	if err := a.load(); err != nil {
		return err
	}
	maps.Copy(a.blobs, written)
	for _, change := range a.changes {
		if err := a.apply(change); err != nil {
			return manifest.Refuse(manifest.ErrBusy, "%q was changed by another process meanwhile (%s): try again; nothing was written", a.file, err)
		}
	}
	return nil
}

// save writes the file: beside, synced, and then by rename.
func (a *archive) save() (err error) {
	dir, base := filepath.Split(a.file)
	temp := filepath.Join(dir, "."+base+tempPrefix+rand.Text())
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) //nolint:gosec // the umask decides
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()       // the error before counts
			_ = os.Remove(temp) // as above
		}
	}()
	if err = a.writeTar(f); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(temp, a.file)
}
