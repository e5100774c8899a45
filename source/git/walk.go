// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/source"
)

// maxRounds bounds how often blobs are fetched: the first time those in
// the folder, and then for what links lead to.
const maxRounds = 16

// walk reads the files below one folder of a commit. First the trees are
// walked, which are all there, then all blobs are fetched at once, and then
// they are read. Links lead to another round.
type walk struct {
	from objects
	// root is the tree of the commit.
	root string
	// start is the folder that everything is taken from; "" is the root.
	start string
	// pkg is the package inside start where that is a module around it, of which
	// only a part is taken; partial is set then.
	pkg     string
	partial bool
	limits  source.Limits
	out     *source.Builder
	// under is the path in out that everything lies below; "" but for submodules.
	under string
	// modules gets submodules; nil refuses them.
	modules func(ctx context.Context, at item, commit string) error

	trees map[string][]entry
	files []item
	// folders counts the trees that were walked, and count the files.
	folders, count int
	// taken are the files that are noted, and embeds the folders whose CUE files
	// embed files; both of partial walks only.
	taken  map[string]bool
	embeds []string
	// outside is set where something came from elsewhere than the folder.
	outside bool
}

// item is a file, or a link, that is to be read.
type item struct {
	// name is where it goes in the result, and real where it is in the commit.
	name, real string
	id         string
	link       bool
	// complete is set where all of the folder is taken, and not its CUE files alone.
	complete bool
	// through are the links that led here, as they are called in the commit.
	through []string
}

// folder finds the tree of a folder.
func (w *walk) folder(dir string) (string, error) {
	id := w.root
	if dir == "" {
		return id, nil
	}
	for name := range strings.SplitSeq(dir, "/") {
		e, ok, err := w.entry(id, name)
		if err != nil {
			return "", err
		}
		switch {
		case !ok:
			return "", source.Refuse(source.ErrNotFound, fmt.Sprintf("the commit has no folder %q: correct the path of the reference", dir))
		case e.mode == modeGitlink:
			return "", source.Refuse(source.ErrNotRegular, fmt.Sprintf("%q is in a submodule: refer to the repository of the submodule itself", dir))
		case e.mode != modeTree:
			return "", source.Refuse(source.ErrNotFound, fmt.Sprintf("%q is not a folder in the commit", dir))
		}
		id = e.id
	}
	return id, nil
}

// entry finds a name in a tree.
func (w *walk) entry(tree, name string) (entry, bool, error) {
	entries, err := w.tree(tree)
	for _, e := range entries {
		if e.name == name {
			return e, true, err
		}
	}
	return entry{}, false, err
}

// tree is the entries of a tree, which is read once.
func (w *walk) tree(id string) ([]entry, error) {
	if entries, ok := w.trees[id]; ok {
		return entries, nil
	}
	entries, err := readTree(w.from, id)
	if err == nil {
		if w.trees == nil {
			w.trees = map[string][]entry{}
		}
		w.trees[id] = entries
	}
	return entries, err
}

// all puts what belongs to a part of the commit into the result.
func (w *walk) all(ctx context.Context, p part) error {
	if err := w.list(ctx, p.id, item{real: p.root}); err != nil {
		return err
	}
	for round := 0; len(w.files) > 0; round++ {
		if round == maxRounds {
			return source.Refuse(source.ErrLimit, fmt.Sprintf("symlinks at %q lead to other symlinks more than %d times", w.files[0].name, maxRounds))
		}
		batch := w.files
		w.files = nil
		ids, seen := make([]string, 0, len(batch)), make(map[string]bool, len(batch))
		for _, f := range batch {
			if !seen[f.id] {
				seen[f.id], ids = true, append(ids, f.id)
			}
		}
		if err := w.from.need(ctx, ids); err != nil {
			return err
		}
		for _, f := range batch {
			if err := w.take(ctx, f); err != nil {
				return err
			}
		}
		if err := w.embedded(ctx); err != nil {
			return err
		}
	}
	return nil
}

// list notes what is in a tree, which is called at in the result and in the
// commit.
func (w *walk) list(ctx context.Context, tree string, at item) error {
	limits := w.limits.WithDefaults()
	w.folders++
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case w.folders > limits.Files:
		return source.Refuse(source.ErrLimit, fmt.Sprintf("the tree holds more than %d folders, at %q", limits.Files, at.name))
	case strings.Count(at.name, "/") > limits.Depth:
		return source.Refuse(source.ErrLimit, fmt.Sprintf("%q lies more than %d folders deep", at.name, limits.Depth))
	}
	entries, err := w.tree(tree)
	if err != nil {
		return err
	}
	complete := w.complete(at)
	if !complete && at.real != w.start && slices.ContainsFunc(entries, isModule) {
		return nil // it is another module
	}
	for _, e := range entries {
		to := item{name: path.Join(at.name, e.name), real: path.Join(at.real, e.name), id: e.id, complete: complete, through: at.through}
		if w.partial && w.leaves(e, to) {
			continue
		}
		if err := w.note(ctx, e, to); err != nil {
			return err
		}
	}
	return nil
}

// note notes one entry.
func (w *walk) note(ctx context.Context, e entry, to item) error {
	if err := source.CheckPath(to.name); err != nil {
		return err
	}
	switch {
	case e.mode == modeTree:
		return w.list(ctx, e.id, to)
	case e.mode == modeGitlink && w.modules == nil:
		return source.Refuse(source.ErrNotRegular, fmt.Sprintf(
			"%q is a submodule, whose files are in another repository: add &submodules=true to the reference", to.name))
	case e.mode == modeGitlink && len(to.through) > 0:
		return source.Refuse(source.ErrNotRegular, fmt.Sprintf("%q is a submodule behind a symlink %q", to.name, to.through[0]))
	case e.mode == modeGitlink:
		w.outside = true
		return w.modules(ctx, to, e.id)
	case e.mode == modeSymlink:
		to.link = true
	case !e.isFile():
		return source.Refuse(source.ErrNotRegular, fmt.Sprintf("%q has the mode %s, which is not that of a file", to.name, e.mode))
	}
	limits := w.limits.WithDefaults()
	if w.count++; w.count > limits.Files {
		return source.Refuse(source.ErrLimit, fmt.Sprintf("the tree holds more than %d files, at %q", limits.Files, to.name))
	}
	w.files = append(w.files, to)
	return nil
}

// take reads a file into the result, or goes where a link leads.
func (w *walk) take(ctx context.Context, f item) error {
	if f.link {
		target, err := w.from.read(f.id, only(kindBlob, maxLink))
		if err != nil {
			return naming(f.name, err)
		}
		w.count--
		return w.follow(ctx, f, string(target))
	}
	name := path.Join(w.under, f.name)
	data, err := w.from.read(f.id, func(kind string, size int64) error {
		if kind != kindBlob {
			return only(kindBlob, 0)(kind, 0)
		}
		return w.out.Room(name, size)
	})
	if err != nil {
		return naming(f.name, err)
	}
	if !f.complete && bytes.Contains(data, []byte("@embed(")) {
		w.embeds = append(w.embeds, f.real)
	}
	if isPointer(data) {
		return source.Refuse(source.ErrNotRegular, fmt.Sprintf(
			"%q is a pointer to Git LFS, and its content is not in the repository: commit the file itself, or refer to a folder without it", f.name))
	}
	return w.out.Add(name, data)
}

// isPointer reports whether a file is one that Git LFS writes in place of
// another; see the specification of LFS, docs/spec.md.
func isPointer(data []byte) bool {
	return len(data) < 1024 && bytes.HasPrefix(data, []byte("version https://git-lfs.github.com/spec/"))
}

// cueMod is the folder that makes a folder a module of CUE.
const cueMod = "cue.mod"

// part is what of a commit becomes a tree.
type part struct {
	// id is the tree that the files are in, which is called root in the commit.
	id, root string
	// dir is where the package is inside; "" is the root.
	dir string
}

// treeID identifies files and package.
func (p part) treeID() string {
	if p.dir == "" {
		return p.id
	}
	return p.id + ":" + p.dir
}

// find finds a folder, with the module that it is in: where the folder has no
// cue.mod, and one above it has, the package cannot be evaluated without that.
// The rule is the one of package local.
func (w *walk) find(dir string) (part, error) {
	id, err := w.folder(dir)
	if err != nil {
		return part{}, err
	}
	w.start = dir
	for root := dir; ; root = clean(path.Dir(root)) {
		above, err := w.folder(root)
		if err != nil {
			return part{}, err
		}
		e, ok, err := w.entry(above, cueMod)
		if err != nil {
			return part{}, err
		}
		if ok && isModule(e) {
			w.start, w.pkg, w.partial, w.taken = root, dir, root != dir, map[string]bool{}
			return part{id: above, root: root, dir: strings.TrimPrefix(strings.TrimPrefix(dir, root), "/")}, nil
		}
		if root == "" {
			return part{id: id, root: dir}, nil
		}
	}
}

func isModule(e entry) bool { return e.mode == modeTree && e.name == cueMod }

// complete reports whether all of a folder is taken, or its CUE files alone.
func (w *walk) complete(at item) bool {
	return !w.partial || at.complete || within(at.real, w.pkg) || within(at.real, path.Join(w.start, cueMod))
}

// leaves reports whether an entry of a partial walk is left out, and notes it
// otherwise.
func (w *walk) leaves(e entry, to item) bool {
	if e.mode == modeTree {
		return false
	}
	if !to.complete && !strings.HasSuffix(e.name, ".cue") {
		return true
	}
	// What links lead to has names of its own.
	if len(to.through) > 0 {
		return false
	}
	left := w.taken[to.name]
	w.taken[to.name] = true
	return left
}

// embedded takes all of the folders whose CUE files embed files.
func (w *walk) embedded(ctx context.Context) error {
	files := w.embeds
	w.embeds = nil
	for _, file := range files {
		dir := clean(path.Dir(file))
		tree, err := w.folder(dir)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(strings.TrimPrefix(dir, w.start), "/")
		if err := w.list(ctx, tree, item{name: name, real: dir, complete: true}); err != nil {
			return err
		}
	}
	return nil
}
