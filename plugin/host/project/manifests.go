// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/plugin/host/output"
	"github.com/ropewalk/ropewalk/render/spec"
)

// MaxManifests is how large one file of manifests may be, in bytes.
const MaxManifests = 64 << 20

// ReadManifests reads a regular file, or the target of a link, up to MaxManifests.
func ReadManifests(fsys fs.FS, file string) ([]byte, error) {
	// Opening a pipe would block.
	info, err := fs.Stat(fsys, file)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", file, bare(err))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a regular file", file)
	case info.Size() > MaxManifests:
		return nil, fmt.Errorf("%s: file of %d bytes is over the limit of %d", file, info.Size(), int64(MaxManifests))
	}
	data, err := fs.ReadFile(fsys, file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, bare(err))
	}
	return data, nil
}

// HoldsSpecs reports whether a file or a directory on disk is input of a render: one
// with specs, a project, or a folder that is a CUE package. Parts of CUE count too, so
// that the render reports what to name instead. A directory with the output of a render
// holds manifests, and so does any other without a document of ours.
func HoldsSpecs(name string) (bool, error) {
	info, err := os.Stat(name)
	if err != nil {
		return false, err
	}
	if !info.IsDir() {
		if path.Ext(name) == ".cue" {
			return true, nil
		}
		data, err := ReadManifests(os.DirFS(filepath.Dir(name)), filepath.Base(name))
		return mentionsSpec(data), err
	}
	for _, marker := range []string{output.MarkerFile, spec.ProjectFile} {
		if _, err := os.Lstat(filepath.Join(name, marker)); err == nil {
			return marker == spec.ProjectFile, nil
		}
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return false, err
	}
	cue := contentOf(entries)
	if cue == cuePackage {
		return true, nil
	}
	specs, manifests, err := searchSpecs(os.DirFS(name))
	// A module without a package in this folder is no empty directory of manifests.
	return specs || cue == cueModule && !manifests, err
}

// mentionsSpec reports whether a file has a document of ours or a Score file, in YAML
// or in JSON. Annotations of ours have no version behind the group.
func mentionsSpec(data []byte) bool {
	return slices.ContainsFunc([]string{"ropewalk.dev/v1", "score.dev/v1", "score.sh/v1"}, func(text string) bool {
		return bytes.Contains(data, []byte(text))
	})
}

// searchSpecs reports whether a directory has a document of ours, and whether it has
// any document.
func searchSpecs(dir fs.FS) (specs, documents bool, err error) {
	err = fs.WalkDir(dir, ".", func(file string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (file != "." && strings.HasPrefix(e.Name(), ".") || e.Name() == "cue.mod" || e.Name() == "node_modules"):
			return fs.SkipDir
		case e.IsDir() || !IsDocument(file):
			return nil
		}
		documents = true
		data, err := ReadManifests(dir, file)
		if err == nil && mentionsSpec(data) {
			specs = true
			return fs.SkipAll
		}
		return err
	})
	return specs, documents, err
}
