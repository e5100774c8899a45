// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// maxArchive is how large an archive may be, which is in memory as a whole.
const maxArchive = 512 << 20

// OpenArchive opens the image layout in a tar file. Where create is true, a file
// that is not there becomes one. It is held in memory, and written, if something
// was changed, by [Layout.Close] and only then: as a whole and by rename. Where
// another process has changed it by then, that is ErrBusy and nothing is written.
// The same content gives the same file.
func OpenArchive(file string, create bool) (*Layout, error) {
	a := &layoutArchive{file: file, blobs: map[string][]byte{}}
	f, err := os.Open(file) //nolint:gosec // the caller says which file
	switch {
	case errors.Is(err, fs.ErrNotExist) && create:
		return &Layout{files: a, subjects: map[string]*subjectOf{}}, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, refuse(ErrNotFound, "there is no archive %q", file)
	case err != nil:
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was read only
	if a.was, err = f.Stat(); err != nil {
		return nil, err
	}
	if a.was.Size() > maxArchive {
		return nil, refuse(ErrLimit, "%q has %d bytes, and archives of at most %d are read: use a folder (oci-layout:DIR)", file, a.was.Size(), maxArchive)
	}
	if err := a.read(f); err != nil {
		return nil, err
	}
	return &Layout{files: a, subjects: map[string]*subjectOf{}}, nil
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
}

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
	a.blobs[digest] = data
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
	a.changed = true
	return nil
}

// close writes the archive.
func (a *layoutArchive) close() (err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.changed || a.closed {
		return nil
	}
	a.closed = true
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
	if now, statErr := os.Stat(a.file); !a.unchanged(now, statErr) {
		return refuse(ErrBusy, "%q was changed by another process meanwhile: try again; nothing was written", a.file)
	}
	return os.Rename(temp, a.file)
}

// unchanged says whether the file is the one that was read.
func (a *layoutArchive) unchanged(now fs.FileInfo, err error) bool {
	if a.was == nil || err != nil {
		return a.was == nil && errors.Is(err, fs.ErrNotExist)
	}
	return os.SameFile(a.was, now) && a.was.Size() == now.Size() && a.was.ModTime().Equal(now.ModTime())
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
