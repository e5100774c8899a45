// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cuelang.org/go/mod/module"

	"github.com/ropewalk/ropewalk/source"
)

// Names of the cache. The cue command removes what it takes for a left-over
// of its own, <version>.zip*.tmp, so ours is called otherwise.
const (
	tempPrefix   = ".ropewalk-"
	digestSuffix = ".sha256"
	// stale is how old a temporary file is that nobody writes any more.
	stale = time.Hour
)

// cache is the zips in the module cache of the cue command:
// mod/download/<path>/@v/<version>.zip. It is safe for many processes: files
// appear by being renamed, and processes that write the same module write the
// same bytes, or are found out by the digest beside them.
type cache struct {
	dir    string
	limits source.Limits
}

var _ keeper = cache{}

// name is the cache in an error; "" where there is none.
func (c cache) name() string {
	if c.dir == "" {
		return ""
	}
	return fmt.Sprintf("the cache %q", c.dir)
}

// file is where the zip of a module is.
func (c cache) file(mv module.Version) (string, error) {
	name, err := module.EscapePath(mv.BasePath())
	if err != nil {
		return "", err
	}
	version, err := module.EscapeVersion(mv.Version())
	if err != nil {
		return "", err
	}
	return filepath.Join(c.dir, "mod", "download", filepath.FromSlash(name), "@v", version+".zip"), nil
}

// get reads a module; fs.ErrNotExist where it is not in the cache. Whatever is
// wrong with an entry is an error, and the entry may be fetched again.
func (c cache) get(_ context.Context, mv module.Version) (*archive, error) {
	if c.dir == "" {
		return nil, fs.ErrNotExist
	}
	name, err := c.file(mv)
	if err != nil {
		return nil, err
	}
	data, err := readBounded(name, c.limits.WithDefaults().Bytes)
	if err != nil {
		return nil, err
	}
	want, err := readBounded(name+digestSuffix, 200)
	if err == nil && strings.TrimSpace(string(want)) != sum(data) {
		return nil, damaged(mv, fmt.Errorf("file %q is not what was written", name))
	}
	// Zips that the cue command wrote have no digest beside them.
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return unpack(mv, data, c.limits)
}

// put writes a module: the digest first, so that no crash leaves a zip of ours
// without one.
func (c cache) put(_ context.Context, a *archive) error {
	if c.dir == "" {
		return nil
	}
	name, err := c.file(a.version)
	if err != nil {
		return err
	}
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // the cache is the cue command's too, which makes it readable
		return fmt.Errorf("module cache: %w", err)
	}
	sweep(dir)
	if err := replace(name+digestSuffix, []byte(a.digest+"\n")); err != nil {
		return fmt.Errorf("module cache: %w", err)
	}
	if err := replace(name, a.zip); err != nil {
		return fmt.Errorf("module cache: %w", err)
	}
	return nil
}

// replace puts a file in its place as a whole.
func replace(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), tempPrefix+"*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// sweep removes what a process left that was killed while it wrote.
func sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), tempPrefix) && time.Since(info.ModTime()) > stale {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// readBounded reads a file that is at most limit bytes large.
func readBounded(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name) //nolint:gosec // the name is made of a checked module path, below the cache
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = source.Refuse(source.ErrLimit, fmt.Sprintf("file %q is larger than %d bytes", name, limit))
	}
	return data, err
}
