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

// isVendored reports whether a path of the module names a vendored package, which may be a link.
func (w *walk) isVendored(name string) bool {
	return strings.HasPrefix(within(w.Module, name)+"/", "cue.mod/pkg/")
}

// readLink reads what a link leads to, in the place of the link.
func (w *walk) readLink(ctx context.Context, link spot) error {
	target, err := w.Root.ReadLink(link.real)
	if err != nil {
		return err
	}
	refuse := func(why string, args ...any) error {
		return source.Refuse(source.ErrNotRegular, fmt.Sprintf("%q is a symlink to %q, which %s", link.name, target, fmt.Sprintf(why, args...)))
	}

	// A link must stay inside of the root, and lead to a file or a folder that a module may
	// hold.
	resolved, info, err := rootfs.Resolve(w.Root, link.real)
	switch {
	case errors.Is(err, rootfs.ErrLeaves):
		return w.miss(link.name, refuse("leads out of the repository or project"))
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return w.miss(link.name, refuse("leads to nothing"))
	case errors.Is(err, syscall.ELOOP):
		return refuse("leads to itself")
	case err != nil:
		return err
	case !w.Hidden && resolved != "." && strings.Contains("/"+resolved, "/."):
		return refuse("is hidden: a module holds no hidden files")
	case info.Mode().IsRegular():
		return w.readFile(spot{link.name, resolved}, false)
	case !info.IsDir():
		return errNotRegular(link.name, info.Mode())
	}
	// A folder that is read already, or holds one that is, never ends. That it
	// holds the link itself is the shortest such case.
	for _, open := range append([]string{path.Dir(link.real)}, w.linked...) {
		if subpath.Within(open, resolved) {
			return refuse("leads to itself: %q is a folder around it", resolved)
		}
	}

	// Another module is left out, except where an import needs it.
	if w.isModule(resolved) {
		if !w.isVendored(link.name) {
			return nil
		}
		// It would stay out as other modules do, and be missed by the import.
		return refuse("is another module, %q: link to a folder inside of it, or depend on it", resolved)
	}

	// The folder is open while it is read, so that a link back to it is found.
	w.linked = append(w.linked, resolved)
	err = w.readFolder(ctx, spot{link.name, resolved}, true)
	w.linked = w.linked[:len(w.linked)-1]
	return err
}

// missed is a link that leads nowhere, with its error.
type missed struct {
	name string
	err  error
}

// miss keeps the error of a link that leads nowhere until the end of the walk, where it may
// not matter: build tools leave such links beside modules. The error of a CUE file or of a
// vendored package is returned at once.
func (w *walk) miss(name string, err error) error {
	if strings.HasSuffix(name, ".cue") || strings.HasPrefix(within(w.Module, name), "cue.mod/") {
		return err
	}
	w.missed = append(w.missed, missed{name, err})
	return nil
}

// checkMissed returns the error of the first missed link that is needed. A module needs a
// link if it embeds files, or if a path in it has the name of the link. A folder that is no
// module needs all of them.
func (w *walk) checkMissed() error {
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
