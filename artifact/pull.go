// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/ropewalk/ropewalk/artifact/manifest"
	"github.com/ropewalk/ropewalk/internal/memfs"
)

// PullOptions say how to pull. The zero value has the default limits.
type PullOptions struct {
	// Limits bound the tree; the compressed layer may have as many bytes.
	Limits Limits
	// Layer is the name of the barrier layer to pull in place of the complete artifact; ""
	// is the latter.
	Layer string
	// Progress is called with the bytes that were read. It may be nil.
	Progress func(bytes int64)
}

// File is a file of an artifact.
type File struct {
	// Path is relative and slash-separated.
	Path string
	Data []byte
}

// Pulled is an artifact with its files.
type Pulled struct {
	// Digest identifies the manifest.
	Digest string
	// Tree is the tree digest, of the canonical tar of the files.
	Tree string
	// Annotations come from the manifest.
	Annotations map[string]string
	// Layers are the barrier layers of a complete artifact.
	Layers []LayerRef
	// Files are sorted by path.
	Files []File
	// FS has the same files.
	FS fs.FS
}

// Pull reads an artifact of Ropewalk, or of `flux push artifact`, into memory. The layer is
// unpacked while it comes in; none of it is returned before its digest and its tree digest
// are known to be right.
//
// The error is ErrNotFound, ErrDigest, ErrShape or ErrLimit, or comes from the store.
func Pull(ctx context.Context, src Store, reference string, opts PullOptions) (Pulled, error) {
	if err := checkReference(reference); err != nil {
		return Pulled{}, err
	}
	located, err := lookUp(ctx, src, reference)
	if err != nil {
		return Pulled{}, err
	}
	if opts.Layer != "" {
		located, err = located.readBarrier(ctx, src, reference, opts.Layer)
		if err != nil {
			return Pulled{}, err
		}
	}
	out, err := located.pull(ctx, src, opts)
	return out, manifest.About(reference, err)
}

// readBarrier returns the manifest of a barrier layer of a complete artifact.
func (f found) readBarrier(ctx context.Context, src Store, reference, name string) (found, error) {
	refs, err := layerRefs(f.Manifest)
	if err != nil {
		return found{}, manifest.About(reference, err)
	}
	i := slices.IndexFunc(refs, func(r LayerRef) bool { return r.Name == name })
	if i < 0 {
		names := make([]string, 0, len(refs))
		for _, r := range refs {
			names = append(names, r.Name)
		}
		if len(names) == 0 {
			return found{}, manifest.Refuse(ErrNotFound, "%.200q has no barrier layers, and so no %.100q: leave the layer out", reference, name)
		}
		return found{}, manifest.Refuse(ErrNotFound, "%.200q has no layer %.100q: it has %q", reference, name, names)
	}
	return lookUp(ctx, src, refs[i].Digest)
}

func (f found) pull(ctx context.Context, src Reader, opts PullOptions) (Pulled, error) {
	layer, err := contentLayer(f.Manifest)
	if err != nil {
		return Pulled{}, err
	}
	refs, err := layerRefs(f.Manifest)
	if err != nil {
		return Pulled{}, err
	}
	files, err := pullFiles(ctx, src, layer, opts)
	if err != nil {
		return Pulled{}, err
	}

	// The annotation was written from the same files.
	digest, err := treeDigest(files)
	if err != nil {
		return Pulled{}, err
	}
	if want := f.Annotations[AnnotationTree]; want != "" && want != digest {
		return Pulled{}, manifest.Refuse(ErrDigest, "its files have the tree digest %s, and its annotation says %.100q: "+
			"it was not packed by this program, or altered", digest, want)
	}

	tree, err := memfs.New(contents(files))
	if err != nil {
		return Pulled{}, err
	}
	return Pulled{
		Digest: f.desc.Digest.String(), Tree: digest, Annotations: f.Annotations, Layers: refs,
		Files: files, FS: tree,
	}, nil
}

func contents(files []File) map[string][]byte {
	out := make(map[string][]byte, len(files))
	for _, f := range files {
		out[f.Path] = f.Data
	}
	return out
}

// pullFiles reads and unpacks a layer.
func pullFiles(ctx context.Context, src Reader, layer ocispec.Descriptor, opts PullOptions) ([]File, error) {
	limits := opts.Limits.withDefaults()
	if layer.Size > limits.Bytes {
		return nil, manifest.OverLimit("its layer has %d bytes, and at most %d are read", layer.Size, limits.Bytes)
	}
	rc, err := manifest.Open(ctx, src, layer)
	if err != nil {
		return nil, err
	}
	defer rc.Close() //nolint:errcheck // it was read only
	counted := &counting{Reader: rc, progress: opts.Progress}
	files, err := unpack(counted, limits)
	// What comes after the tar counts for the digest too, and a wrong digest says
	// more than the nonsense that it made of the tar.
	_, rest := io.Copy(io.Discard, counted)
	if errors.Is(rest, ErrDigest) || err == nil {
		err = rest
	}
	if err != nil {
		return nil, err
	}
	return files, nil
}

// counting reports progress.
type counting struct {
	io.Reader
	progress func(int64)
	failed   error
}

// Read reads, and returns the first error again for later calls.
func (c *counting) Read(p []byte) (int, error) {
	if c.failed != nil {
		return 0, c.failed
	}
	n, err := c.Reader.Read(p)
	if n > 0 && c.progress != nil {
		c.progress(int64(n))
	}
	c.failed = err
	return n, err
}

// unpack reads the files of a tar.gz: regular files, and folders as Flux writes them.
// Anything else is refused.
func unpack(r io.Reader, limits Limits) ([]File, error) {
	zipped, err := gzip.NewReader(bufio.NewReader(r))
	if err != nil {
		return nil, asLayerError(err)
	}
	defer zipped.Close() //nolint:errcheck // it was read only
	u := &unpacker{limits: limits, seen: map[string]bool{}}
	// The blocks of a tar are room enough for headers; a folder costs one and a
	// file two at most, and as many again for long names.
	budget := &io.LimitedReader{R: zipped, N: limits.Bytes + int64(limits.Files)*4096 + 1<<20}
	t := tar.NewReader(budget)

	// The error that the limit causes looks like a stream that is cut short, so the limit is
	// checked first.
	for {
		header, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = u.add(header, t)
		}
		if budget.N <= 0 {
			return nil, manifest.OverLimit("its layer unpacks to more than %d bytes", limits.Bytes)
		}
		if err != nil {
			return nil, asLayerError(err)
		}
	}

	// What follows the tar would be a place to hide content.
	if err := u.checkEnd(budget); err != nil {
		return nil, err
	}
	slices.SortFunc(u.files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return u.files, checkFolders(u.files)
}

// asLayerError returns an error of gzip or tar as ErrShape; other errors stay as they are.
func asLayerError(err error) error {
	switch {
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, tar.ErrHeader),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return manifest.Refuse(ErrShape, "its layer is not a tar.gz, or is cut short")
	}
	return err
}

type unpacker struct {
	limits  Limits
	files   []File
	seen    map[string]bool
	entries int
	bytes   int64
}

func (u *unpacker) add(header *tar.Header, r io.Reader) error {
	u.entries++
	if u.entries > 2*u.limits.Files+16 {
		return manifest.OverLimit("its layer has more than %d entries", u.limits.Files)
	}

	// Folders carry nothing: their names are checked, and they come again with their files.
	name := strings.TrimPrefix(header.Name, "./")
	switch header.Typeflag {
	case tar.TypeDir:
		name = strings.TrimSuffix(name, "/")
		if name == "" || name == "." {
			return nil
		}
		return checkPath(name)
	case tar.TypeReg:
	default:
		return manifest.Refuse(ErrShape, "%.200q in its layer is not a regular file", header.Name)
	}

	// The limits hold before the content is read.
	if err := checkPath(name); err != nil {
		return err
	}
	switch {
	case u.seen[name]:
		return manifest.Refuse(ErrShape, "%.200q is in its layer twice", name)
	case len(u.files) >= u.limits.Files:
		return manifest.OverLimit("its layer has more than %d files", u.limits.Files)
	case header.Size > u.limits.Bytes-u.bytes:
		return manifest.OverLimit("the files of its layer are larger than %d bytes, at %.200q", u.limits.Bytes, name)
	}
	// A header may promise what never comes: room is made for what came.
	data, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	u.seen[name] = true
	u.bytes += int64(len(data))
	u.files = append(u.files, File{Path: name, Data: slices.Clip(data)})
	return nil
}

// checkEnd refuses anything but zeros after the tar.
func (u *unpacker) checkEnd(r *io.LimitedReader) error {
	block := make([]byte, 4096)
	for {
		n, err := r.Read(block)
		if len(bytes.Trim(block[:n], "\x00")) > 0 {
			return manifest.Refuse(ErrShape, "its layer has data after the end of the tar")
		}
		if r.N <= 0 {
			return manifest.OverLimit("its layer unpacks to more than %d bytes", u.limits.Bytes)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return asLayerError(err)
		}
	}
}

// checkPath refuses a name that is no path, or that leaves its root.
func checkPath(name string) error {
	isControl := func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }
	isText := utf8.ValidString(name) && len(name) <= 4096 && !strings.ContainsFunc(name, isControl)
	isInside := fs.ValidPath(name) && name != "."
	if !isText || !isInside {
		return manifest.Refuse(ErrShape, "%.200q in its layer is not a valid path: it must be relative, clean and inside the root", name)
	}
	return nil
}

// checkFolders refuses a path that is a file and a folder. The files are sorted.
func checkFolders(files []File) error {
	folders := make(map[string]bool, len(files))
	for _, f := range files {
		folders[f.Path] = true
	}
	for _, f := range files {
		for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
			if folders[dir] {
				return manifest.Refuse(ErrShape, "%.200q in its layer is a file and a folder", dir)
			}
		}
	}
	return nil
}

// treeDigest returns the digest of the canonical tar of sorted files.
func treeDigest(files []File) (string, error) {
	hash := sha256.New()
	t := tar.NewWriter(hash)
	for _, f := range files {
		if err := writeEntry(t, f.Path, f.Data); err != nil {
			return "", err
		}
	}
	if err := t.Close(); err != nil {
		return "", err
	}
	return sum(hash), nil
}
