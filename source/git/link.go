// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/source"
)

// maxHops is how many links may be in one path, as in path_resolution(7).
const maxHops = 40

// follow puts what a symlink leads to in its place. It must be a file or a
// folder of the same commit.
func (w *walk) follow(ctx context.Context, link item, target string) error {
	refuse := func(why string) error {
		return source.Refuse(source.ErrNotRegular, fmt.Sprintf("%q is a symlink to %q, %s", link.name, target, why))
	}
	if slices.Contains(link.through, link.real) {
		return refuse("which leads to itself")
	}
	if target == "" || path.IsAbs(target) || strings.ContainsRune(target, 0) {
		return refuse("which is not a path inside the repository")
	}
	e, real, err := w.resolve(ctx, path.Dir(link.real), target)
	if why, ok := err.(dead); ok { //nolint:errorlint // it is never wrapped
		return refuse(why.Error())
	}
	if err != nil {
		return err
	}
	if w.start != "" && real != w.start && !strings.HasPrefix(real, w.start+"/") {
		w.outside = true
	}
	if e.mode == modeTree && within(link.real, real) {
		return refuse("which is a folder around it")
	}
	to := item{name: link.name, real: real, id: e.id, through: append(slices.Clone(link.through), link.real)}
	return w.note(ctx, e, to)
}

// within reports whether a path is a folder, or below it; "" is the root.
func within(name, dir string) bool {
	return dir == "" || name == dir || strings.HasPrefix(name, dir+"/")
}

// dead is why a path ends nowhere.
type dead string

// Error is the reason.
func (d dead) Error() string { return string(d) }

// resolve finds what a path is that begins at a folder of the commit, through
// links, and what it is called without them.
func (w *walk) resolve(ctx context.Context, dir, target string) (entry, string, error) {
	at, rest := clean(dir), strings.Split(target, "/")
	e := entry{mode: modeTree, id: w.root}
	for hops := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			if at == "" {
				return entry{}, "", dead("which leads out of the repository")
			}
			at = clean(path.Dir(at))
			e = entry{mode: modeTree}
			continue
		}
		tree, err := w.folder(at)
		if errors.Is(err, source.ErrNotFound) {
			return entry{}, "", dead("which leads to nothing in the repository")
		}
		if err != nil {
			return entry{}, "", err
		}
		found, ok, err := w.entry(tree, name)
		switch {
		case err != nil:
			return entry{}, "", err
		case !ok:
			return entry{}, "", dead("which leads to nothing in the repository")
		case found.mode == modeGitlink:
			return entry{}, "", dead("which leads into a submodule")
		case found.mode == modeSymlink:
			if hops++; hops > maxHops {
				return entry{}, "", dead("which leads to itself")
			}
			if err := w.from.need(ctx, []string{found.id}); err != nil {
				return entry{}, "", err
			}
			text, err := w.from.read(found.id, only(kindBlob, maxLink))
			if err != nil {
				return entry{}, "", err
			}
			if path.IsAbs(string(text)) || len(text) == 0 {
				return entry{}, "", dead("which leads out of the repository")
			}
			rest = append(strings.Split(string(text), "/"), rest...)
			continue
		}
		at, e = path.Join(at, name), found
	}
	if e.mode == modeTree {
		tree, err := w.folder(at)
		return entry{mode: modeTree, id: tree}, at, err
	}
	return e, at, nil
}

// clean is a folder with "" for the root.
func clean(dir string) string {
	if dir = path.Clean(dir); dir == "." {
		return ""
	}
	return dir
}

// naming puts the name of a file before an error.
func naming(name string, err error) error {
	return fmt.Errorf("%q: %w", name, err)
}
