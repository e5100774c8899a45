// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source/rootfs"
)

// StdinName is the name of standard input in positions.
const StdinName = "stdin"

// Options select the files of a discovery. The zero value is the project in the working directory.
type Options struct {
	// FS is read instead of the disk where it is set. Links are read by fs.ReadLinkFS, and
	// followed as on disk. It must not change, and be safe for concurrent use.
	FS fs.FS
	// Args are files, directories and "-" for Stdin; "." where there are neither
	// arguments nor Documents.
	Args []string
	// Documents are files that the caller has read. Paths in them are relative to the
	// folder of their name, which is written like Args.
	Documents []spec.File
	// Specs are specs that the caller has made, whose paths are relative to Dir. With Specs
	// and without arguments, no folder is searched.
	Specs []spec.Transform
	// Dir is the directory that Args and Root, and positions, are relative to; "." where
	// it is "". With FS, "." is the root of FS, as is /, and all are slash-separated.
	Dir string
	// Root is the directory that no read leaves. Where it is "", it is all of FS; on
	// disk it is the nearest directory at or above an argument that holds .git; without .git,
	// the nearest that holds cue.mod for an argument that is a folder of a CUE package, and
	// else the directory of the argument.
	Root string
	// Stdin is read for the argument "-".
	Stdin io.Reader
	// Held are files, relative to Dir, whose documents Stdin has: they are not read.
	Held []string
	// Values are the values files, FILE or SPEC:FILE, which a search takes for no specs.
	Values []string
	// AllowEmpty accepts a folder without anything to render.
	AllowEmpty bool
	// Charge, if set, is called with each text before it is parsed and kept, and with an empty
	// text now and then. Its error ends the discovery; see [Discovery.Ended].
	Charge func(text spec.File) error
}

// Places are the directories that the names of a user lead to, on disk or in a file system.
type Places struct {
	// fs, dir and root come from Options; root is a full path.
	fs        fs.FS
	dir, root string
	// memory is the root of Options.FS, nil on disk. With it all paths are relative to
	// it and slash-separated.
	memory rootfs.Folder
	base   string
	roots  []*Root
}

// openPlaces returns places of which no directory is open yet.
func openPlaces(opts Options) (*Places, error) {
	p := &Places{fs: opts.FS, dir: opts.Dir, base: "."}
	var err error
	if opts.FS != nil {
		p.memory, err = rootfs.Of(opts.FS, ".")
		if err != nil {
			return nil, err
		}
		// A file system has no working directory: Dir begins at its root.
		p.base, err = p.full(opts.Dir)
	} else {
		p.base, err = filepath.Abs(opts.Dir)
	}
	if err == nil && opts.Root != "" {
		p.root, err = p.full(opts.Root)
	}
	return p, err
}

// close releases the directories.
func (p *Places) close() {
	for _, r := range p.roots {
		_ = r.folder.Close()
	}
}

// full returns a path of the user as an absolute path. In a file system in memory, a path that
// begins with / begins at its root.
func (p *Places) full(name string) (string, error) {
	if p.memory == nil {
		if filepath.IsAbs(name) {
			return filepath.Clean(name), nil
		}
		return filepath.Join(p.base, name), nil
	}
	full := path.Join(p.base, name)
	if path.IsAbs(name) {
		full = path.Join(".", name[1:])
	}
	if !filepath.IsLocal(full) {
		return "", fmt.Errorf("%q is outside the files of the project", name)
	}
	return full, nil
}

// stat describes the target of a full path.
func (p *Places) stat(full string) (fs.FileInfo, error) {
	if p.memory != nil {
		return p.memory.Stat(full)
	}
	return os.Stat(full)
}

// HasFile reports whether there is a file or a folder called name in the folder arg.
func (p *Places) HasFile(arg, name string) bool {
	full, err := p.full(arg)
	if err == nil {
		_, err = p.stat(filepath.ToSlash(filepath.Join(full, name)))
	}
	return err == nil
}

// IsFolder reports whether arg is a folder.
func (p *Places) IsFolder(arg string) bool {
	full, err := p.full(arg)
	if err != nil {
		return false
	}
	info, err := p.stat(full)
	return err == nil && info.IsDir()
}

// openNamed opens the root of a file or folder that a user named. The result rel is its path there.
// The root of a file is the root of its folder.
func (p *Places) openNamed(name string) (r *Root, rel string, folder bool, err error) {
	full, err := p.full(name)
	if err != nil {
		return nil, "", false, err
	}
	info, err := p.stat(full)
	if err != nil {
		return nil, "", false, bare(err)
	}

	// The root belongs to the folder.
	dir := full
	if !info.IsDir() {
		dir = filepath.Dir(full)
	}
	r, rel, err = p.openRootOnce(dir, p.memory == nil && filepath.IsAbs(name))
	if err != nil {
		return nil, "", false, err
	}
	if !info.IsDir() {
		rel = path.Join(rel, filepath.Base(full))
	}
	return r, rel, info.IsDir(), nil
}

// openRootOnce opens the root of a directory, once.
func (p *Places) openRootOnce(dir string, absolute bool) (*Root, string, error) {
	r, rel, err := p.openRoot(dir, absolute)
	if err != nil {
		return nil, "", err
	}
	for _, opened := range p.roots {
		if opened.Dir == r.Dir && opened.absolute == r.absolute {
			_ = r.folder.Close()
			return opened, rel, nil
		}
	}
	p.roots = append(p.roots, r)
	return r, rel, nil
}

// openRoot opens the root of a directory that a user named: Options.Root if it is set, else the
// whole file system in memory, or on disk that of enclosing. The result rel is the path of the
// directory in the root.
func (p *Places) openRoot(dir string, absolute bool) (r *Root, rel string, err error) {
	root := p.root
	switch {
	case root != "":
	case p.memory != nil:
		root = "."
	default:
		root = enclosing(dir)
	}
	rel, err = filepath.Rel(root, dir)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, "", fmt.Errorf("%q is outside of the root %q", dir, root)
	}
	r = &Root{FS: p.fs, Dir: root, base: p.base, absolute: absolute, enclosing: p.root == "" && p.memory == nil}
	if p.memory != nil {
		r.folder, err = rootfs.Of(p.fs, root)
	} else {
		r.folder, err = rootfs.Open(root)
	}
	if err != nil {
		return nil, "", err
	}
	return r, filepath.ToSlash(rel), nil
}

// ReadNamed reads a file that an option names. If the caller set no root, it is read from anywhere
// on disk, or from a pipe, and else below the root. Its Name is that in positions.
func (p *Places) ReadNamed(name string) (spec.File, error) {
	data, err := p.readNamed(name)
	return spec.File{Name: argPos(name).File, Data: data}, err
}

// readNamed reads a file that an option names. If the caller set no root, it is read from anywhere
// on disk, or from a pipe, and else below the root.
func (p *Places) readNamed(name string) ([]byte, error) {
	full, err := p.full(name)
	if err != nil {
		return nil, err
	}
	if p.root != "" || p.memory != nil {
		r, rel, err := p.openRootOnce(filepath.Dir(full), false)
		if err != nil {
			return nil, err
		}
		data, err := r.read(path.Join(rel, filepath.Base(full)), spec.MaxFile)
		if err != nil {
			return nil, bare(err)
		}
		return data, nil
	}
	file, err := os.Open(full) //nolint:gosec // the user named it
	if err != nil {
		return nil, bare(err)
	}
	defer func() { _ = file.Close() }()
	return readAll(file, 0, spec.MaxFile)
}

// near returns the hint of NearestFile for an argument.
func (p *Places) near(arg string) string {
	if p.memory != nil || filepath.IsAbs(p.dir) && !filepath.IsAbs(arg) {
		return ""
	}
	return NearestFile(filepath.Join(p.dir, arg))
}

// failNamed reports the mistake of an option that names a file or a folder. If that does not
// exist, the message names the option.
func (r *Report) failNamed(places *Places, option, arg string, err error) {
	hint := ""
	if errors.Is(err, fs.ErrNotExist) {
		hint = places.near(arg)
		err = fmt.Errorf("%s: %w", option, bare(err))
	}
	r.Fail(argPos(arg), hint, err)
}

// argPos returns the position of an argument.
func argPos(arg string) object.Pos { return object.Pos{File: filepath.ToSlash(filepath.Clean(arg))} }
