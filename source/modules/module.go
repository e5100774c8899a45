// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"cuelang.org/go/mod/modfile"
	"cuelang.org/go/mod/module"

	"github.com/ropewalk/ropewalk/internal/depth"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/internal/subpath"
	"github.com/ropewalk/ropewalk/source"
)

// Names that CUE gives meaning to.
const (
	modFolder = "cue.mod"
	modFile   = "cue.mod/module.cue"
)

// mainModule is the module that a package belongs to.
type mainModule struct {
	// root is its folder inside the tree; "." is the root.
	root string
	// path is its path without the major version.
	path string
	// deps are all that it depends on, sorted.
	deps []module.Version
	// provided are the paths of modules that evaluation has by itself.
	provided []string
}

// file returns the path of the module file, for messages.
func (m *mainModule) file() string { return path.Join(m.root, modFile) }

// readModule reads the module file at or above dir. Without a module file, or with a file from
// before CUE had dependencies, the module has no dependencies.
func readModule(fsys fs.FS, dir string, provided []string) (*mainModule, error) {
	root, text, err := findModule(fsys, dir)
	if err != nil {
		return nil, err
	}

	// Most modules have no dependencies, and then the file is not parsed.
	m := &mainModule{root: root, provided: provided}
	if !bytes.Contains(text, []byte("deps")) {
		return m, nil
	}
	f, err := parseModFile(text, m.file(), modfile.ParseNonStrict)
	switch {
	case errors.Is(err, modfile.ErrNoLanguageVersion):
		return m, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %s", m.file(), printable.OneLine(err.Error()))
	}

	// Each dependency must be a published version.
	m.path, m.deps = f.ModuleRootPath(), f.DepVersions()
	for _, mv := range m.deps {
		if dep := f.Deps[mv.Path()]; dep != nil && dep.ReplaceWith != "" {
			return nil, fmt.Errorf("%s: module %q is replaced by %q: replacements hold on one machine only, publish the module instead",
				m.file(), mv.Path(), dep.ReplaceWith)
		}
		if mv.Version() == "" {
			return nil, fmt.Errorf("%s: module %q has no version: run %q", m.file(), mv.Path(), "cue mod tidy")
		}
	}
	return m, nil
}

// Bounds of a module file. It is evaluated in this process without a deadline: CUE recurses into
// it, and a chain of fields costs the square of its length.
const (
	maxModFile  = 64 << 10 // bytes
	maxModDepth = 500      // see depth.Check
)

// parseModFile parses a module file in one of the ways of CUE.
func parseModFile(text []byte, name string, parse func([]byte, string) (*modfile.File, error)) (*modfile.File, error) {
	if len(text) > maxModFile {
		return nil, fmt.Errorf("the module file has %d bytes, and at most %d are read", len(text), maxModFile)
	}
	if err := depth.Check(text, maxModDepth); err != nil {
		return nil, err
	}
	return parse(text, name)
}

// findModule returns the nearest folder at or above dir with a module file, and the text of that
// file; nil if no folder has a module file.
func findModule(fsys fs.FS, dir string) (root string, text []byte, err error) {
	for dir = path.Clean(dir); ; dir = path.Dir(dir) {
		text, err = fs.ReadFile(fsys, path.Join(dir, modFile))
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return dir, text, err
		}
		if dir == "." {
			return dir, nil, nil
		}
	}
}

// listMissing returns the dependencies that are neither provided nor held in cue.mod.
func (m *mainModule) listMissing(held []string) ([]module.Version, error) {
	var out []module.Version
	for _, mv := range m.deps {
		if !slices.Contains(m.provided, mv.BasePath()) && !m.holds(held, mv.BasePath()) {
			out = append(out, mv)
		}
	}
	// They are sorted by path, so majors of one path are neighbours.
	for i, mv := range out {
		if mv.BasePath() == m.path {
			return nil, fmt.Errorf("%s: the module depends on %q, which is itself in another major version: "+
				"one folder cannot hold both, so give it another path",
				m.file(), mv.Path())
		}
		if i > 0 && out[i-1].BasePath() == mv.BasePath() {
			return nil, fmt.Errorf("%s: the module depends on %q and on %q: cue.mod/pkg has one folder for both, "+
				"so raise what needs the older one, or vendor it under another path",
				m.file(), out[i-1].String(), mv.String())
		}
	}
	return out, nil
}

// holds reports whether cue.mod has files of a module already. Files of a dependency with a
// longer path that begins with this one do not count.
func (m *mainModule) holds(held []string, modulePath string) bool {
	for _, name := range held {
		if inside, ok := localPackage(name); ok && subpath.Within(inside, modulePath) && m.owner(inside) == modulePath {
			return true
		}
	}
	return false
}

// owner returns the path of the dependency that a file below cue.mod/pkg belongs to: the
// longest path that fits.
func (m *mainModule) owner(name string) string {
	best := ""
	for _, mv := range m.deps {
		if p := mv.BasePath(); len(p) > len(best) && subpath.Within(name, p) {
			best = p
		}
	}
	return best
}

// localPackage returns the path below cue.mod/pkg, gen or usr; false for other paths.
func localPackage(name string) (string, bool) {
	for _, folder := range []string{"pkg", "gen", "usr"} {
		if inside, ok := strings.CutPrefix(name, modFolder+"/"+folder+"/"); ok {
			return inside, true
		}
	}
	return "", false
}

// pkgPath returns where a file of a dependency of the module at root lies.
func pkgPath(root, modulePath, name string) string {
	return path.Join(root, modFolder, "pkg", modulePath, name)
}

// filesOf returns the paths of the files below root, relative to it.
func filesOf(fsys fs.FS, root string) []string {
	var out []string
	_ = fs.WalkDir(fsys, root, func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			if root != "." {
				name = strings.TrimPrefix(name, root+"/")
			}
			out = append(out, name)
		}
		return nil
	})
	return out
}

// Depends reports whether a tree may depend on other modules, or have them vendored, at the
// cost of reading one file; [Registry.Complete] knows exactly.
func Depends(tree source.Tree) bool {
	root, text, err := findModule(tree.FS, tree.Dir)
	if err != nil || bytes.Contains(text, []byte("deps")) {
		return true
	}
	_, err = fs.Stat(tree.FS, path.Join(root, vendorList))
	return err == nil
}
