// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/config"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"

	"github.com/ropewalk/ropewalk/source"
)

// Names of what is in a repository; see gitrepository-layout(5).
const (
	dotGit     = ".git"
	objectsDir = "objects"
)

const (
	// maxText is how large files of a repository that are text may be, in bytes.
	maxText = 1 << 20
	// maxStores is how many folders of objects a repository may have.
	maxStores = 64
	// largeObject is from which size on objects are not read before they are
	// known to fit, in bytes.
	largeObject = 1 << 20
)

// layout is where the parts of a repository are.
type layout struct {
	// git is the repository, or what a linked worktree has of its own, and common
	// is where objects and references are.
	git, common string
	// root is the folder that is checked out into; "" where there is none.
	root string
}

// openCheckout reads a repository without the git binary.
func openCheckout(ctx context.Context, dir, rev string) (checkout, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	var at layout
	if err == nil {
		at, err = locate(dir)
	}
	var from *stored
	if err == nil {
		from, err = at.open()
	}
	if err != nil {
		return checkout{}, source.Refuse(source.ErrNotFound, "it is in no Git repository that can be read ("+gist(err.Error())+")")
	}
	commit, err := from.resolve(ctx, rev)
	if err != nil {
		return checkout{}, err
	}
	return checkout{objects: complete{from}, commit: commit, prefix: at.prefix(dir), close: func() {}}, nil
}

// locate finds the repository that a folder is in, as git does: the .git of the
// folder, or the folder itself where it is a bare one, or those of the folders
// above. The folder is free of symlinks.
func locate(dir string) (layout, error) {
	for at := dir; ; at = filepath.Dir(at) {
		dot := filepath.Join(at, dotGit)
		file := ""
		if info, err := os.Stat(dot); err == nil && info.Mode().IsRegular() {
			// It is that of a submodule, or of a linked worktree.
			if file, err = readText(dot); err != nil {
				return layout{}, err
			}
			to, _ := strings.CutPrefix(file, "gitdir: ")
			dot = beside(at, strings.TrimRight(to, "\r\n"))
		}
		if l, ok := layoutOf(dot); ok {
			l.root = at
			return l.configured()
		}
		if file != "" {
			return layout{}, fmt.Errorf("the %s of %q leads to no repository", dotGit, at)
		}
		if l, ok := layoutOf(at); ok {
			return l.configured()
		}
		if filepath.Dir(at) == at {
			return layout{}, errors.New("repository does not exist")
		}
	}
}

// layoutOf reports whether a folder is a repository, which has a HEAD, objects
// and references, or that of a linked worktree, whose HEAD is its own.
func layoutOf(dir string) (layout, bool) {
	l := layout{git: dir, common: dir}
	if common, err := readText(filepath.Join(dir, "commondir")); err == nil {
		l.common = beside(dir, strings.TrimSpace(common))
	}
	for _, name := range []string{objectsDir, "refs"} {
		if info, err := os.Stat(filepath.Join(l.common, name)); err != nil || !info.IsDir() {
			return layout{}, false
		}
	}
	head, err := readText(filepath.Join(dir, "HEAD"))
	head = strings.TrimSpace(strings.TrimPrefix(head, "ref:"))
	return l, err == nil && (strings.HasPrefix(head, "refs/") || isHash(head))
}

// configured is the layout with what the repository says of itself: where it is
// checked out, and what one must know to read it. Of the latter, what says
// nothing about objects and references is let pass.
func (l layout) configured() (layout, error) {
	said := config.New()
	if err := decode(filepath.Join(l.common, "config"), said); err != nil {
		return layout{}, err
	}
	version := said.Section("core").Option("repositoryformatversion")
	if !slices.Contains([]string{"", "0", "1"}, version) {
		return layout{}, gitOnly("its format has version " + version)
	}
	own := false
	for _, e := range said.Section("extensions").Options {
		switch name, value := strings.ToLower(e.Key), strings.ToLower(e.Value); {
		case name == "objectformat" && value != "sha1":
			return layout{}, gitOnly("its hashes are " + value)
		case name == "refstorage" && value != "files":
			return layout{}, gitOnly("its references are in a " + value)
		case name == "worktreeconfig":
			own = isTrue(value)
		case version == "1" && !slices.Contains([]string{"noop", "noop-v1", "objectformat", "refstorage", "preciousobjects", "partialclone", "relativeworktrees"}, name):
			return layout{}, gitOnly("it has the extension " + name)
		}
	}
	if l.git != l.common { // what is said there is about the first worktree
		said = config.New()
	}
	if own {
		if err := decode(filepath.Join(l.git, "config.worktree"), said); err != nil {
			return layout{}, err
		}
	}
	core := said.Section("core")
	tree := core.Option("worktree")
	switch {
	case isTrue(core.Option("bare")):
		l.root = ""
	case tree != "":
		root, err := filepath.EvalSymlinks(beside(l.git, tree))
		if err != nil {
			return layout{}, err
		}
		l.root = root
	}
	return l, nil
}

// gitOnly is why a repository can be read by git alone.
func gitOnly(why string) error {
	return fmt.Errorf("%s, which needs the git binary: install git", why)
}

// prefix is where a folder is in the worktree; "" where it is not in it.
func (l layout) prefix(dir string) string {
	if l.root == "" {
		return ""
	}
	inside, err := filepath.Rel(l.root, dir)
	if err != nil || !filepath.IsLocal(inside) {
		return ""
	}
	return inside
}

// stored is the objects and references of a repository, as go-git reads them.
type stored struct {
	*filesystem.Storage
	// cut are the commits whose parents are not here, because the clone is shallow.
	cut []plumbing.Hash
	// stores are the folders of objects: that of the repository, and those that it
	// borrows from.
	stores []*filesystem.ObjectStorage
}

func (l layout) open() (*stored, error) {
	recent := cache.NewObjectLRUDefault()
	options := filesystem.Options{LargeObjectThreshold: largeObject}
	own := filepath.Join(l.common, objectsDir)
	s := &stored{Storage: filesystem.NewStorageWithOptions(l.folder(own), recent, options)}
	var err error
	if s.cut, err = s.Shallow(); err != nil {
		return nil, err
	}
	for _, dir := range objectFolders(own) {
		s.stores = append(s.stores, filesystem.NewObjectStorageWithOptions(dotgit.New(l.folder(dir)), recent, options))
	}
	return s, nil
}

// objectFolders are a folder of objects and those that it borrows from, as their
// info/alternates say. go-git reads those too, but not where they are relative,
// or name others. What is not there counts for git no more than here.
func objectFolders(own string) []string {
	all := []string{own}
	for i := 0; i < len(all) && i < maxStores; i++ {
		others, err := readText(filepath.Join(all[i], "info", "alternates"))
		if err != nil {
			continue
		}
		for line := range strings.SplitSeq(others, "\n") {
			if line == "" || line[0] == '#' {
				continue
			}
			if path, err := strconv.Unquote(line); err == nil && line[0] == '"' {
				line = path
			}
			if line = beside(all[i], line); !slices.Contains(all, line) {
				all = append(all, line)
			}
		}
	}
	return all[:min(len(all), maxStores)]
}

// folder is a repository as one folder, which is what go-git reads: a linked
// worktree is two, and objects are anywhere. In contrast to those of go-git it
// follows symlinks to where they lead, as git does.
type folder struct {
	// Filesystem is for what writes, which nobody calls.
	billy.Filesystem
	at      layout
	objects string
}

func (l layout) folder(objects string) folder {
	return folder{Filesystem: osfs.New(l.git), at: l, objects: objects}
}

// Open opens a file.
func (f folder) Open(name string) (billy.File, error) { return osfs.Default.Open(f.path(name)) }

// Stat says what a file is.
func (f folder) Stat(name string) (os.FileInfo, error) { return os.Stat(f.path(name)) }

// ReadDir lists a folder.
func (f folder) ReadDir(name string) ([]os.FileInfo, error) {
	return osfs.Default.ReadDir(f.path(name))
}

// path is where something is. go-git asks for what was open by its whole path.
func (f folder) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	parts := strings.Split(filepath.ToSlash(filepath.Clean(name)), "/")
	switch {
	case parts[0] == objectsDir:
		return filepath.Join(append([]string{f.objects}, parts[1:]...)...)
	case parts[0] == "refs" && len(parts) > 1 && !slices.Contains([]string{"bisect", "rewritten", "worktree"}, parts[1]), parts[0] == "packed-refs", parts[0] == "shallow":
		return filepath.Join(f.at.common, name)
	}
	return filepath.Join(f.at.git, name)
}

// read reads an object.
func (s *stored) read(id string, fits fits) ([]byte, error) {
	var o plumbing.EncodedObject
	err := plumbing.ErrObjectNotFound
	for i := 0; i < len(s.stores) && err != nil; i++ {
		o, err = s.stores[i].EncodedObject(plumbing.AnyObject, plumbing.NewHash(id))
	}
	if err != nil {
		return nil, source.Refuse(source.ErrNotFound, fmt.Sprintf("object %s is not in the repository, which may be a partial or damaged clone", id))
	}
	if err := fits(o.Type().String(), o.Size()); err != nil {
		return nil, err
	}
	r, err := o.Reader()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, o.Size()))
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, err
	}
	if int64(len(data)) != o.Size() || plumbing.ComputeHash(o.Type(), data).String() != id {
		return nil, source.Refuse(source.ErrDigest, fmt.Sprintf("object %s of the repository is damaged", id))
	}
	return slices.Clip(data), nil
}

// decode adds what a file of settings says, if it is there; see git-config(1).
// What it includes does not count.
func decode(path string, to *config.Config) error {
	said, err := readText(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = config.NewDecoder(strings.NewReader(said)).Decode(to)
	}
	if err != nil {
		return fmt.Errorf("%q: %w", path, err)
	}
	return nil
}

// isTrue reports whether a setting is on.
func isTrue(value string) bool {
	return slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(value))
}

// beside is a path that may be relative to a folder.
func beside(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// readText reads a small file.
func readText(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular() || info.Size() > maxText:
		return "", fmt.Errorf("%q is no file of text", path)
	}
	data, err := os.ReadFile(path) //nolint:gosec // the path is in the repository, or one that it names
	return string(data), err
}
