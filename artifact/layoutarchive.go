// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
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
	a := &layoutArchive{file: file, blobs: map[string][]byte{}, written: map[string][]byte{}}
	if err := a.load(); err != nil {
		return nil, err
	}
	if a.was == nil && !create {
		return nil, refuse(ErrNotFound, "there is no archive %q", file)
	}
	return &Layout{files: a, subjects: map[string]*subjectOf{}}, nil
}

// load reads the file, where there is one.
func (a *layoutArchive) load() error {
	// What is no file may have nobody at its other end, and opening it never ends.
	info, err := os.Stat(a.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return refuse(ErrNotLayout, "%q is no regular file, and so no archive of an image layout", a.file)
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
		return refuse(ErrLimit, "%q has %d bytes, and archives of at most %d are read: use a folder (oci-layout:DIR)", a.file, a.was.Size(), maxArchive)
	}
	return a.read(f)
}

// layoutArchive is a layout in a tar file, in memory.
type layoutArchive struct {
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

// indexChange makes a new index.json of an old one; see layoutFiles.
type indexChange func(old []byte) (data []byte, after func() error, err error)

// read reads the tar. Its blobs are checked when they are used.
func (a *layoutArchive) read(r io.Reader) error {
	notOne := func(why string) error {
		return refuse(ErrNotLayout, "%q is no archive of an image layout: %s", a.file, why)
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
		if header.Typeflag == tar.TypeDir && (name == "" || name == "." || name == blobsDir || name == blobsDir+"/sha256") {
			continue
		}
		if header.Typeflag != tar.TypeReg {
			return notOne("it holds something that is no file")
		}
		data, err := io.ReadAll(t)
		if err != nil {
			return notOne("it is cut short")
		}
		digest := "sha256:" + strings.TrimPrefix(name, blobsDir+"/sha256/")
		switch {
		case name == layoutFile:
			marked = true
		case name == indexFile:
			a.listing = data
		case isDigest(digest):
			a.blobs[digest] = data
		default:
			return notOne("it holds a file that belongs to none: " + name)
		}
	}
	if !marked {
		return notOne("it has no " + layoutFile)
	}
	return nil
}

func (a *layoutArchive) open(digest string) (io.ReadCloser, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	data, ok := a.blobs[digest]
	if !ok {
		return nil, refuse(ErrNotFound, "the archive %q has no %s", a.file, digest)
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

func (a *layoutArchive) has(digest string, size int64) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	data, ok := a.blobs[digest]
	return ok && int64(len(data)) == size, nil
}

func (a *layoutArchive) write(_ context.Context, digest string, content io.Reader) error {
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changed = a.changed || !bytes.Equal(a.blobs[digest], data)
	a.blobs[digest], a.written[digest] = data, data
	return nil
}

func (a *layoutArchive) index() ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.listing, nil
}

func (a *layoutArchive) update(_ context.Context, change func([]byte) ([]byte, func() error, error)) error {
	// change asks for blobs, so that mu cannot be held meanwhile.
	a.updates.Lock()
	defer a.updates.Unlock()
	if err := a.apply(change); err != nil {
		return err
	}
	a.changes = append(a.changes, change)
	return nil
}

// apply changes the index in memory.
func (a *layoutArchive) apply(change indexChange) error {
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

func (a *layoutArchive) replace(data []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changed = a.changed || !bytes.Equal(a.listing, data)
	a.listing = data
}

func (a *layoutArchive) remove(digest string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.blobs, digest)
	delete(a.written, digest)
	a.changed = true
	return nil
}

func (a *layoutArchive) writeTar(w io.Writer) error {
	t := tar.NewWriter(w)
	if err := writeEntry(t, layoutFile, []byte(layoutContent)); err != nil {
		return err
	}
	index, err := parseIndex(a.listing)
	if err != nil {
		return err
	}
	listing, err := index.bytes()
	if err != nil {
		return err
	}
	if err := writeEntry(t, indexFile, listing); err != nil {
		return err
	}
	for _, digest := range sortedKeys(a.blobs) {
		if err := writeEntry(t, blobPath(digest), a.blobs[digest]); err != nil {
			return err
		}
	}
	return t.Close()
}
