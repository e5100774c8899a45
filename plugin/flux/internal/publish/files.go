// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"io/fs"
	"path"
	"strings"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/source"
)

// Flat returns the files of a render as an artifact has them: without folders, and without the
// objects of Flux that would deliver them, which the controller makes itself.
func Flat(files []emit.File) []emit.File {
	out := make([]emit.File, 0, len(files))
	for _, f := range files {
		if strings.HasPrefix(f.Path, emit.DeliveryDir+"/") && f.Node == "" {
			continue
		}
		f.Path = path.Base(f.Path)
		out = append(out, f)
	}
	return out
}

// folder returns files as a file system.
func folder(files []emit.File) (fs.FS, error) {
	b := source.Builder{Limits: limits()}
	for _, f := range files {
		if err := b.Add(f.Path, f.Data); err != nil {
			return nil, err
		}
	}
	tree, err := b.Tree("render", "")
	return tree.FS, err
}

// limits returns the bounds of an artifact: 50,000 objects are rendered and pushed.
func limits() source.Limits { return source.Limits{Files: 100_000, Bytes: 512 << 20} }

// packing returns the same limits, for packing and pulling.
func packing() artifact.Limits { return artifact.Limits{Files: limits().Files, Bytes: limits().Bytes} }
