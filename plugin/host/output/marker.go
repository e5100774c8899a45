// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ropewalk/ropewalk/internal/digests"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/object"
)

// MarkerFile is the name of the file that lists what a render wrote into a directory. It has no extension,
// because Argo CD takes every file of a directory that ends in .yaml, .yml,
// .json or .jsonnet for a manifest (argo-cd reposerver/repository,
// manifestFile), hidden or not.
const MarkerFile = ".ropewalk-output"

// ErrForeign reports that a directory holds something that no render wrote, or that
// was changed since.
var ErrForeign = errors.New("the directory holds files of others")

// marker is the content of the marker file.
type marker struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Files are the SHA-256 of every file by its path.
	Files map[string]string `json:"files"`
}

// refused names the files that keep a directory from being replaced.
type refused struct {
	dir     string
	foreign []string
	edited  []string
}

// Error returns a message with the names of the first few files.
func (r *refused) Error() string {
	var parts []string
	if len(r.foreign) > 0 {
		parts = append(parts, "files that no render wrote: "+printable.List(r.foreign, 5))
	}
	if len(r.edited) > 0 {
		parts = append(parts, "files that were changed after the render: "+printable.List(r.edited, 5))
	}
	return fmt.Sprintf("directory %q holds %s; nothing was changed (move them away or choose another directory)",
		r.dir, strings.Join(parts, "; "))
}

// Unwrap returns ErrForeign.
func (r *refused) Unwrap() error { return ErrForeign }

// refuseForeign refuses a directory that holds anything but the output of an earlier render. The
// argument shown is the directory as the user has written it. Files that were removed since do not
// matter.
func refuseForeign(shown, dir string, force bool) error {
	// Every file must be listed, and have the sum that it was written with.
	known, err := readMarker(dir)
	if err != nil {
		return err
	}
	bad := refused{dir: shown}
	err = filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case rel == MarkerFile:
		case e.IsDir():
			if !known.below(rel) {
				bad.foreign = append(bad.foreign, rel+"/")
				return filepath.SkipDir
			}
		case known.Files[rel] == "" || !e.Type().IsRegular():
			bad.foreign = append(bad.foreign, rel)
		default:
			same, err := hasSum(name, known.Files[rel])
			if err != nil {
				return err
			}
			if !same && !force {
				bad.edited = append(bad.edited, rel)
			}
		}
		return nil
	})

	// All files are named at once.
	if err != nil {
		return err
	}
	if len(bad.foreign)+len(bad.edited) > 0 {
		return &bad
	}
	return nil
}

// Lists reports whether a marker of this content lists a file, by its path in the directory.
func Lists(data []byte, name string) bool {
	var m marker
	return json.Unmarshal(data, &m) == nil && m.Files[name] != ""
}

// readMarker reads the marker of a directory. It lists nothing if there is none.
func readMarker(dir string) (marker, error) {
	var m marker
	data, err := os.ReadFile(filepath.Join(dir, MarkerFile)) //nolint:gosec // the user chose the directory
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(data, &m); err != nil || m.Kind != "Output" {
		return m, fmt.Errorf("%s in %q was not written by Ropewalk: %w", MarkerFile, dir, ErrForeign)
	}
	return m, nil
}

// below reports whether a folder holds files that are listed.
func (m marker) below(dir string) bool {
	for name := range m.Files {
		if strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

// hasSum reports whether a file has a sum.
func hasSum(name, want string) (bool, error) {
	data, err := os.ReadFile(name) //nolint:gosec // the user chose the directory
	if err != nil {
		return false, err
	}
	return digests.Of(data) == want, nil
}

// bytes returns the marker as it is written: the same files give the same bytes.
func (m marker) bytes() ([]byte, error) {
	data, err := json.MarshalIndent(m, "", "  ")
	return append(data, '\n'), err
}

// newMarker returns a marker that lists files by path.
func newMarker(files map[string][]byte) marker {
	m := marker{APIVersion: "ropewalk.dev/v1alpha1", Kind: "Output", Files: make(map[string]string, len(files))}
	for _, name := range object.SortedKeys(files) {
		m.Files[name] = digests.Of(files[name])
	}
	return m
}
