// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"path"
	"strings"
)

// cueMod is the folder that makes a folder a module of CUE.
const cueMod = "cue.mod"

// part is what of a commit becomes a tree.
type part struct {
	// id is the tree that the files are in, which is called root in the commit.
	id, root string
	// dir is where the package is inside; "" is the root.
	dir string
}

// treeID says which files and which package these are.
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

// whole reports whether all of a folder is taken, or its CUE files alone.
func (w *walk) whole(at item) bool {
	return !w.partial || at.whole || within(at.real, w.pkg) || within(at.real, path.Join(w.start, cueMod))
}

// leaves reports whether an entry of a partial walk is left out, and notes it
// otherwise.
func (w *walk) leaves(e entry, to item) bool {
	if e.mode == modeTree {
		return false
	}
	if !to.whole && !strings.HasSuffix(e.name, ".cue") {
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
		if err := w.list(ctx, tree, item{name: name, real: dir, whole: true}); err != nil {
			return err
		}
	}
	return nil
}
