// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"github.com/ropewalk/ropewalk/internal/subpath"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/rootfs"
)

// vendored reports whether a path of the module is that of a vendored package,
// which may be a link.
func (w *walk) vendored(name string) bool {
	return strings.HasPrefix(within(w.Module, name)+"/", "cue.mod/pkg/")
}

// link reads what a link leads to in its place.
func (w *walk) link(ctx context.Context, at spot) error {
	target, err := w.Root.ReadLink(at.real)
	if err != nil {
		return err
	}
	refuse := func(why string, args ...any) error {
		return source.Refuse(source.ErrNotRegular, fmt.Sprintf("%q is a symlink to %q, which %s", at.name, target, fmt.Sprintf(why, args...)))
	}
	real, info, err := rootfs.Resolve(w.Root, at.real)
	switch {
	case errors.Is(err, rootfs.ErrLeaves):
		return w.miss(at.name, refuse("leads out of the repository or project"))
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return w.miss(at.name, refuse("leads to nothing"))
	case errors.Is(err, syscall.ELOOP):
		return refuse("leads to itself")
	case err != nil:
		return err
	case !w.Hidden && real != "." && strings.Contains("/"+real, "/."):
		return refuse("is hidden: a module holds no hidden files")
	case info.Mode().IsRegular():
		return w.file(spot{at.name, real}, false)
	case !info.IsDir():
		return notRegular(at.name, info.Mode())
	}
	// A folder that is read already, or holds one that is, never ends. That it
	// holds the link itself is the shortest such case.
	for _, open := range append([]string{path.Dir(at.real)}, w.linked...) {
		if subpath.Within(open, real) {
			return refuse("leads to itself: %q is a folder around it", real)
		}
	}
	if w.isModule(real) {
		if !w.vendored(at.name) {
			return nil
		}
		// It would stay out as other modules do, and be missed by the import.
		return refuse("is another module, %q: link to a folder inside of it, or depend on it", real)
	}
	w.linked = append(w.linked, real)
	err = w.folder(ctx, spot{at.name, real}, true)
	w.linked = w.linked[:len(w.linked)-1]
	return err
}

// missed is a link that leads nowhere, with its error.
type missed struct {
	name string
	err  error
}

// miss keeps the error of a link that leads nowhere for the end of the walk, where it may not
// matter: build tools leave such links beside modules. A file of CUE and what is vendored do.
func (w *walk) miss(name string, err error) error {
	if strings.HasSuffix(name, ".cue") || strings.HasPrefix(within(w.Module, name), "cue.mod/") {
		return err
	}
	w.missed = append(w.missed, missed{name, err})
	return nil
}

// needed is the error of the first missed link that is needed. A module does where it embeds
// files, or where a path in it has the name of the link; what is no module needs all.
func (w *walk) needed() error {
	for _, link := range w.missed {
		if len(w.cue) == 0 {
			return link.err
		}
		for _, data := range w.cue {
			if bytes.Contains(data, []byte("@embed(")) || bytes.Contains(data, []byte("/"+path.Base(link.name))) {
				return link.err
			}
		}
	}
	return nil
}
