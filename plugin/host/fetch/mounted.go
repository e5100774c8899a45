// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/source"
)

// Limits of a mounted Secret: Kubernetes allows a megabyte.
const (
	maxEntry   = 1 << 20
	maxEntries = 64
)

// Mounted is a folder of Secrets as Kubernetes mounts them: NAME/ENTRY is the value
// of an entry. It is read each time, so that changes apply at once.
type Mounted string

var _ source.Secrets = Mounted("")

// Of returns the folder of a project. A project without a name, or with a name that no folder can
// have, has no Secrets.
func (m Mounted) Of(project string) Mounted {
	if m == "" || !isFolder(project) {
		return ""
	}
	return Mounted(path.Join(string(m), project))
}

// Secret reads a Secret. Errors are source.ErrNotFound, source.ErrLimit and those of the file
// system. No error holds a value, or names a file that does not exist.
func (m Mounted) Secret(_ context.Context, name string) (map[string][]byte, error) {
	root, entries, err := m.open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // it was only read
	out := map[string][]byte{}
	for _, e := range entries {
		data, ok, err := entry(root, e.Name())
		switch {
		case err != nil:
			return nil, fmt.Errorf("secret %q: entry %q: %w", name, e.Name(), err)
		case ok && len(out) == maxEntries:
			return nil, source.OverLimit("secret %q has more than %d entries", name, maxEntries)
		case ok:
			out[e.Name()] = data
		}
	}
	return out, nil
}

// Change returns a version of a Secret, made of the names of its entries and of the times
// when they were written, never of values.
// Errors are those of Secret.
func (m Mounted) Change(_ context.Context, name string) (string, error) {
	root, entries, err := m.open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }() // it was only read
	sum := sha256.New()
	for _, e := range entries {
		info, err := root.Stat(e.Name())
		if err != nil {
			return "", fmt.Errorf("secret %q: entry %q: %w", name, e.Name(), err)
		}
		_, _ = fmt.Fprintf(sum, "%q %d\n", e.Name(), info.ModTime().UnixNano()) // a hash never fails
	}
	return hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// open opens a Secret with its entries, sorted by name. The caller closes it.
func (m Mounted) open(name string) (*os.Root, []fs.DirEntry, error) {
	missing := source.Refuse(source.ErrNotFound, fmt.Sprintf("no Secret is named %q here", name))
	if m == "" || !isFolder(name) {
		return nil, nil, missing
	}
	root, err := os.OpenRoot(path.Join(string(m), name))
	if err != nil {
		return nil, nil, missing
	}
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		_ = root.Close()
		return nil, nil, fmt.Errorf("secret %q: %w", name, err)
	}
	// Kubernetes has its own folders there, and links that lead into them.
	return root, slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), "..") }), nil
}

// entry returns the value of an entry. The result ok is false if the entry is not a file.
func entry(root *os.Root, name string) (data []byte, ok bool, err error) {
	info, err := root.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, false, err
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err = io.ReadAll(io.LimitReader(f, maxEntry+1))
	if len(data) > maxEntry {
		return nil, false, source.OverLimit("more than %d bytes", maxEntry)
	}
	return data, err == nil, err
}

// isFolder reports whether a name can be that of a Secret, a project or a host, and of a folder.
func isFolder(name string) bool {
	return name != "" && len(name) <= 253 && !strings.HasPrefix(name, ".") && !strings.ContainsAny(name, "/\\\x00")
}
