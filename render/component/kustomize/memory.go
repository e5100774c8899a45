// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"fmt"
	"io/fs"
	"regexp"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// memory is the file system of the library in memory with all names that files have: that
// one takes letters, digits and a few signs, where kustomize itself takes what the disk does.
type memory struct {
	filesys.FileSystem
	// names are the files that were written, by the names that they have in it.
	names map[string]string
}

var unusual = regexp.MustCompile(`[^a-zA-Z0-9/_.:-]`)

// usual returns a name without the signs that memory does not take.
func usual(name string) string {
	return unusual.ReplaceAllStringFunc(name, func(sign string) string { return fmt.Sprintf("_x%x_", sign) })
}

// CleanedAbs implements filesys.FileSystem.
func (m memory) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	return m.FileSystem.CleanedAbs(usual(name))
}

// Exists implements filesys.FileSystem.
func (m memory) Exists(name string) bool { return m.FileSystem.Exists(usual(name)) }

// IsDir implements filesys.FileSystem.
func (m memory) IsDir(name string) bool { return m.FileSystem.IsDir(usual(name)) }

// ReadFile implements filesys.FileSystem.
func (m memory) ReadFile(name string) ([]byte, error) { return m.FileSystem.ReadFile(usual(name)) }

// WriteFile implements filesys.FileSystem. Two names that become one are refused.
func (m memory) WriteFile(name string, data []byte) error {
	short := usual(name)
	if other, ok := m.names[short]; ok && other != name {
		return fmt.Errorf("%q and %q: %w", other, name, fs.ErrExist)
	}
	m.names[short] = name
	return m.FileSystem.WriteFile(short, data)
}
