// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source"
)

// Output writes renders into directories. The zero value refuses whatever an
// earlier render did not write.
type Output struct {
	// Force replaces files of an earlier render that were changed since; files
	// of others are refused all the same.
	Force bool

	// exchange swaps two directories; nil is the way of the system.
	exchange func(dir, target string) error
}

// WriteDir is [Output.WriteDir] of the zero value.
func WriteDir(dir string, files []emit.File) error { return Output{}.WriteDir(dir, files) }

// WriteDir makes files the content of dir, and nothing else: what an earlier
// render wrote there is gone, and a directory with files of others is refused
// with their names (ErrNotOurs).
//
// The files are written beside dir, synced and put in its place by one rename,
// so that a write that fails or is killed leaves dir as it was. What a killed
// write leaves beside dir is cleared by the next one. Of several that write to
// one directory at once, the last one stands, whole.
func (o Output) WriteDir(dir string, files []emit.File) error {
	content, err := contents(files)
	if err != nil {
		return err
	}
	// Each time another write came first, so that one of them got on.
	const attempts = 50
	for range attempts {
		if err = o.write(dir, content); !errors.Is(err, errReplaced) {
			return err
		}
	}
	return fmt.Errorf("too many renders are written to %q at once", dir)
}

// errReplaced says that another write replaced the directory in the meantime.
var errReplaced = errors.New("the directory was replaced")

// write is one attempt of WriteDir.
func (o Output) write(dir string, content map[string][]byte) error {
	target, exists, err := resolve(dir)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o755)
	if exists {
		mode, err = o.inspect(dir, target)
	} else {
		err = os.MkdirAll(filepath.Dir(target), 0o755) //nolint:gosec // the umask decides
	}
	if err != nil {
		return err
	}
	if !exists && restore(target) {
		return errReplaced
	}
	clearStale(target)
	beside, err := newBeside(target, mode)
	if err != nil {
		return err
	}
	defer beside.remove()
	if err := beside.fill(content); err != nil {
		return fmt.Errorf("write %q: %w; nothing was changed", dir, err)
	}
	way := o.exchange
	if way == nil {
		way = exchange
	}
	return beside.replace(exists, way)
}

// inspect refuses a directory with files of others, and returns its mode. What it
// finds in one that another write takes away meanwhile says nothing: then it is
// errReplaced. As long as the directory is held open, no other gets its identity.
func (o Output) inspect(dir, target string) (fs.FileMode, error) {
	held, err := os.Open(target) //nolint:gosec // the user chose the directory
	if errors.Is(err, fs.ErrNotExist) {
		return 0, errReplaced
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = held.Close() }()
	info, err := held.Stat()
	if err != nil {
		return 0, err
	}
	if !info.IsDir() {
		return 0, fmt.Errorf("%q is a file; expected a directory", dir)
	}
	err = ours(dir, target, o.Force)
	if now, statErr := os.Stat(target); statErr != nil || !os.SameFile(info, now) {
		return 0, errReplaced
	}
	return info.Mode().Perm(), err
}

// contents are the files by path, with the marker.
func contents(files []emit.File) (map[string][]byte, error) {
	out := make(map[string][]byte, len(files)+1)
	for _, f := range files {
		if err := source.CheckPath(f.Path); err != nil {
			return nil, err
		}
		if _, twice := out[f.Path]; twice || f.Path == markerFile {
			return nil, fmt.Errorf("two files are called %q", f.Path)
		}
		out[f.Path] = f.Data
	}
	data, err := newMarker(out).bytes()
	out[markerFile] = data
	return out, err
}

// resolve is the absolute path of a directory, behind its links.
func resolve(dir string) (target string, exists bool, err error) {
	target, err = filepath.Abs(dir)
	if err != nil {
		return "", false, err
	}
	behind, err := filepath.EvalSymlinks(target)
	if err == nil {
		return behind, true, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", false, err
	}
	if info, err := os.Lstat(target); err == nil {
		if info.Mode()&fs.ModeSymlink == 0 {
			return "", false, errReplaced
		}
		return "", false, fmt.Errorf("%q is a link that leads nowhere", dir)
	}
	return target, false, nil
}

// beside is a new directory beside the one that it is to replace, locked as
// long as it is being written.
type beside struct {
	dir, target string
	lock        *os.File
}

// prefix begins the names of directories beside target.
func prefix(target string) string { return ".ropewalk-" + filepath.Base(target) + "-" }

// newBeside makes the directory. Another write may take it for one that was
// left behind in the moment before it is locked; then there is a next one.
func newBeside(target string, mode fs.FileMode) (*beside, error) {
	const attempts = 10
	for range attempts {
		random := make([]byte, 8)
		if _, err := rand.Read(random); err != nil {
			return nil, err
		}
		b := &beside{target: target, dir: filepath.Join(filepath.Dir(target), prefix(target)+hex.EncodeToString(random))}
		if err := os.Mkdir(b.dir, mode); err != nil {
			return nil, err
		}
		var err error
		if b.lock, err = os.Open(b.dir); err == nil && (tryLock(b.lock) || !canLock) && b.stands() {
			return b, nil
		}
		b.remove()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("too many renders are written to %q at once", target)
}

// stands reports whether the directory is still there.
func (b *beside) stands() bool {
	_, err := os.Lstat(b.dir)
	return err == nil
}

// remove takes away what is beside the target.
func (b *beside) remove() {
	if b.lock != nil {
		_ = b.lock.Close()
	}
	_ = os.RemoveAll(b.dir)
}

// clearStale takes away what killed writes left beside target: directories of
// ours that nobody holds.
func clearStale(target string) {
	entries, err := os.ReadDir(filepath.Dir(target))
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix(target)) {
			continue
		}
		name := filepath.Join(filepath.Dir(target), e.Name())
		held, err := os.Open(name) //nolint:gosec // a directory of ours
		if err != nil {
			continue
		}
		if tryLock(held) {
			_ = os.RemoveAll(name)
		}
		_ = held.Close()
	}
}

// fill writes the files and makes sure that they are on the disk.
func (b *beside) fill(content map[string][]byte) error {
	for _, name := range object.SortedKeys(content) {
		full := filepath.Join(b.dir, filepath.FromSlash(name))
		if path.Dir(name) != "." {
			if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil { //nolint:gosec // the umask decides
				return plain(err)
			}
		}
		if err := b.file(full, content[name]); err != nil {
			return fmt.Errorf("%s: %w", name, plain(err))
		}
	}
	return syncAll(b.lock)
}

// file writes one file; the umask decides who may read it.
func (b *beside) file(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // manifests hold no secrets
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && !syncsAll {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// replace puts the directory in the place of the target, or exchanges them.
func (b *beside) replace(exists bool, exchange func(dir, target string) error) error {
	if !exists {
		err := os.Rename(b.dir, b.target)
		if errors.Is(err, fs.ErrExist) {
			return errReplaced
		}
		if err != nil {
			return err
		}
		return syncDir(filepath.Dir(b.target))
	}
	err := exchange(b.dir, b.target)
	if errors.Is(err, fs.ErrNotExist) && b.stands() {
		return errReplaced
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(b.target))
}

// syncDir makes the names in a directory last.
func syncDir(dir string) error {
	f, err := os.Open(dir) //nolint:gosec // the directory of the target
	if err != nil {
		return err
	}
	// Some file systems cannot sync a directory; the rename is done all the same.
	_ = f.Sync()
	return f.Close()
}
