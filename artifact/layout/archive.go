// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"archive/tar"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/ropewalk/ropewalk/artifact/manifest"
	"github.com/ropewalk/ropewalk/internal/digests"
)

// maxArchive is the size up to which archives are read, and what they unpack to.
const maxArchive = 512 << 20

// OpenArchive opens the image layout in a tar file. With create, a missing file becomes an
// empty layout. The tar is unpacked into a temporary directory. If something was changed,
// [Layout.Close] writes a new tar beside the file and renames it. If another process has
// changed the file by then, nothing is written (manifest.ErrBusy). The same content gives the
// same file.
func OpenArchive(file string, create bool) (*Layout, error) {
	temp, err := os.MkdirTemp("", "ropewalk-layout-")
	if err != nil {
		//nolint:errorlint // a caller would take it for an error of the file
		return nil, fmt.Errorf("%q cannot be unpacked: %v: set TMPDIR to a directory that can be written", file, err)
	}
	a := &archive{file: file, temp: temp}
	l, err := a.open(create)
	if err != nil {
		_ = os.RemoveAll(temp) // the error before counts
		return nil, err
	}
	return l, nil
}

// archive is the tar file of a layout that is in a temporary directory.
type archive struct {
	file, temp string
	was        fs.FileInfo // nil if there was no file
	abandoned  bool
}

func (a *archive) open(create bool) (*Layout, error) {
	if err := a.unpack(); err != nil {
		return nil, err
	}
	if a.was == nil && !create {
		return nil, manifest.Refuse(manifest.ErrNotFound, "there is no archive %q", a.file)
	}
	l, err := open(a.temp, a.file, true)
	if err != nil {
		return nil, err
	}
	l.archive, l.temporary = a, true
	return l, nil
}

// unpack unpacks the file, if it exists, into the temporary directory.
func (a *archive) unpack() error {
	// To open a pipe would block.
	info, err := os.Stat(a.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return manifest.Refuse(manifest.ErrNotLayout, "%q is not a regular file: an image layout archive is a tar file", a.file)
	case info.Size() > maxArchive:
		return manifest.OverLimit("%q has %d bytes, and archives of at most %d are read: use a folder (oci-layout:DIR)",
			a.file, info.Size(), maxArchive)
	}

	// The state of the file is kept, so that a change by another process is seen at the end.
	f, err := os.Open(a.file) //nolint:gosec // the caller says which file
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was read only
	a.was, err = f.Stat()
	if err != nil {
		return err
	}
	why, err := a.extract(tar.NewReader(f))
	if why != "" {
		return manifest.Refuse(manifest.ErrNotLayout, "%q is not an archive of an image layout: %s", a.file, why)
	}
	return err
}

// extract writes the files of a tar, and returns why the tar is no layout; "" for a layout. Blobs
// are verified when they are used.
func (a *archive) extract(t *tar.Reader) (why string, _ error) {
	if err := os.MkdirAll(filepath.Join(a.temp, blobsDir), 0o700); err != nil {
		return "", err
	}
	marked := false
	room := int64(maxArchive)
	for {
		header, err := t.Next()
		switch {
		case errors.Is(err, io.EOF) && !marked:
			return "it has no " + ocispec.ImageLayoutFile, nil
		case errors.Is(err, io.EOF):
			return "", nil
		case err != nil:
			return "it is not a tar file, or is cut short", nil //nolint:nilerr // the reason is the text
		}

		// Folders are made already, so the folders of a layout are skipped.
		name := strings.TrimSuffix(strings.TrimPrefix(header.Name, "./"), "/")
		layoutFolders := []string{"", ".", ocispec.ImageBlobsDir, blobsDir}
		if header.Typeflag == tar.TypeDir && slices.Contains(layoutFolders, name) {
			continue
		}

		// Only the names that a layout has are written, so that no path can leave the directory.
		switch {
		case header.Typeflag != tar.TypeReg:
			return "it contains something that is not a file", nil
		case name == ocispec.ImageLayoutFile, name == ocispec.ImageIndexFile:
			marked = marked || name == ocispec.ImageLayoutFile
		case digests.Is("sha256:" + strings.TrimPrefix(name, blobsDir+"/")):
		default:
			return "it contains a file that belongs to no layout: " + name, nil
		}
		room -= header.Size
		if room < 0 {
			return "", manifest.OverLimit("%q unpacks to more than %d bytes", a.file, maxArchive)
		}
		if err := writeFile(filepath.Join(a.temp, name), t); errors.Is(err, io.ErrUnexpectedEOF) {
			return "it is cut short", nil
		} else if err != nil {
			return "", err
		}
	}
}

// writeFile writes a file of the temporary directory.
func writeFile(name string, r io.Reader) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) //nolint:gosec // the name is one of a layout
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// close writes the archive if the layout was changed, under a lock of its directory: otherwise a
// process could rename its file over the file of another process.
func (a *archive) close(l *Layout) error {
	defer os.RemoveAll(a.temp) //nolint:errcheck // it is only temporary
	if a.abandoned || !l.changed.Load() {
		return nil
	}
	release, err := lock(context.Background(), filepath.Dir(a.file), a.file)
	if err != nil {
		return err
	}
	defer release()
	if !a.unchanged() {
		return manifest.Refuse(manifest.ErrBusy, "%q was changed by another process meanwhile: try again; nothing was written", a.file)
	}
	if _, err := os.Lstat(filepath.Join(a.temp, ocispec.ImageIndexFile)); errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was completed
	}
	return a.save()
}

// unchanged reports whether the file is the one that was unpacked.
func (a *archive) unchanged() bool {
	now, err := os.Stat(a.file)
	if a.was == nil || err != nil {
		return a.was == nil && errors.Is(err, fs.ErrNotExist)
	}
	return os.SameFile(a.was, now) && a.was.Size() == now.Size() && a.was.ModTime().Equal(now.ModTime())
}

// save writes the tar beside the file, syncs it and renames it.
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

	// Readers see the old file or the new file, also after a crash.
	err = a.pack(f)
	if err != nil {
		return err
	}
	err = f.Sync()
	if err != nil {
		return err
	}
	err = f.Close()
	if err != nil {
		return err
	}
	return os.Rename(temp, a.file)
}

// pack writes the tar: the same content gives the same bytes.
func (a *archive) pack(w io.Writer) error {
	names := []string{ocispec.ImageLayoutFile, ocispec.ImageIndexFile}
	entries, err := os.ReadDir(filepath.Join(a.temp, blobsDir)) // sorted
	if err != nil {
		return err
	}
	for _, e := range entries {
		names = append(names, blobsDir+"/"+e.Name())
	}
	t := tar.NewWriter(w)
	for _, name := range names {
		if err := packFile(t, filepath.Join(a.temp, name), name); err != nil {
			return err
		}
	}
	return t.Close()
}

func packFile(t *tar.Writer, file, name string) error {
	f, err := os.Open(file) //nolint:gosec // it is in the temporary directory
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was read only
	info, err := f.Stat()
	if err != nil {
		return err
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: info.Size(), Mode: 0o644, ModTime: time.Unix(0, 0)}
	if err := t.WriteHeader(header); err != nil {
		return err
	}
	_, err = io.Copy(t, f)
	return err
}
