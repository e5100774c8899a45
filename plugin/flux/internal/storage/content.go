// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/internal/digests"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/tarball"
)

// Stored is an artifact in the storage.
type Stored struct {
	// Digest is the digest of the archive, sha256:<hex>.
	Digest string
	// Tree is the tree digest of its files, as package artifact has it.
	Tree string
	// Size of the archive in bytes, and the Time at which it was written.
	Size int64
	Time time.Time
	// New says that it did not exist before.
	New bool
}

// Put stores files as an artifact of a Transform. They lie at its root, whatever folder they are
// in: two files of one name are refused. The same files have the same digest, and are not written
// again.
func (s *Storage) Put(owner types.NamespacedName, files []emit.File) (Stored, error) {
	packed, err := s.pack(files)
	if err != nil {
		return Stored{}, err
	}

	// It is written only if it does not exist yet.
	out := Stored{Digest: packed.Layer.Digest.String(), Tree: packed.Tree, Size: packed.Layer.Size}
	name, err := file(owner, out.Digest, archiveSuffix)
	if err != nil {
		return Stored{}, err
	}
	exists, err := s.useExisting(name, out.Size)
	if err == nil && !exists {
		out.New = true
		err = s.write(name, packed.Content)
	}
	if err != nil {
		return Stored{}, err
	}
	info, err := s.root.Lstat(name)
	if err != nil {
		return Stored{}, err
	}
	out.Time = info.ModTime()
	return out, nil
}

// pack packs files in the same way as for a registry, so that the same render has the same tree
// digest in both.
func (s *Storage) pack(files []emit.File) (*artifact.Artifact, error) {
	builder := source.Builder{Limits: source.Limits{Files: s.limits.Files, Bytes: s.limits.Bytes}}
	for _, f := range files {
		if err := builder.Add(path.Base(f.Path), f.Data); err != nil {
			return nil, err
		}
	}
	tree, err := builder.Tree("render", "")
	if err != nil {
		return nil, err
	}
	// An empty render comes only from a Transform that allows it.
	return artifact.Pack(tree.FS, artifact.Options{Empty: true, Limits: s.limits})
}

// Stat describes an artifact without reading it. The error is delivery.ErrGone if it does not exist.
func (s *Storage) Stat(owner types.NamespacedName, digest string) (Stored, error) {
	name, err := file(owner, digest, archiveSuffix)
	if err != nil {
		return Stored{}, err
	}
	info, err := s.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return Stored{}, gone(owner, digest)
	}
	if err != nil {
		return Stored{}, err
	}
	return Stored{Digest: digest, Size: info.Size(), Time: info.ModTime()}, nil
}

// Files returns the files of an artifact, sorted by path. The error is delivery.ErrGone if it does
// not exist, or does not have its digest.
func (s *Storage) Files(ctx context.Context, owner types.NamespacedName, digest string) ([]emit.File, error) {
	// An archive that is damaged counts as missing.
	name, err := file(owner, digest, archiveSuffix)
	if err != nil {
		return nil, err
	}
	data, err := s.read(name)
	if err == nil && digests.Of(data) != digest {
		err = fs.ErrNotExist
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, gone(owner, digest)
	}
	if err != nil {
		return nil, err
	}

	// Reading is bounded as packing is.
	builder := source.Builder{Limits: source.Limits{Files: s.limits.Files, Bytes: s.limits.Bytes}}
	if err := tarball.Gzip(ctx, bytes.NewReader(data), &builder, tarball.Options{}); err != nil {
		return nil, err
	}
	tree, err := builder.Tree("storage", "")
	if err != nil {
		return nil, err
	}
	var files []emit.File
	err = fs.WalkDir(tree.FS, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(tree.FS, name)
		files = append(files, emit.File{Path: name, Data: data})
		return err
	})
	return files, err
}

// read reads a file of a size that an artifact may have.
func (s *Storage) read(name string) ([]byte, error) {
	f, err := s.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()                            //nolint:errcheck // it was read only
	limit := s.limits.Bytes + s.limits.Bytes/8 // Files that do not compress get a little larger.
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, fmt.Errorf("%w: %q in the storage", artifact.ErrLimit, name)
	}
	return data, err
}

// gone returns the error of an artifact that does not exist any more.
func gone(owner types.NamespacedName, digest string) error {
	return fmt.Errorf("%w: %s of Transform %q is not in the storage of the controller", delivery.ErrGone, digest, owner.String())
}
