// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"cuelang.org/go/mod/modfile"
	"cuelang.org/go/mod/module"
	"cuelang.org/go/mod/modzip"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/source"
)

// Media types of a CUE module in a registry: of the config, whose content is {}, and of its two
// layers. Source: cuelang.org/go/mod/modregistry.
const (
	TypeConfig     = "application/vnd.cue.module.v1+json"
	TypeZip        = "application/zip"
	TypeModuleFile = "application/vnd.cue.modulefile.v1"
)

// Package is a module as a registry of CUE has it.
type Package struct {
	// Path names the module, without its major version.
	Path string
	// Tree has the files of the module that are in Zip, with their digest.
	Tree source.Tree
	// Zip and ModuleFile are the two layers.
	Zip, ModuleFile []byte
}

// Pack makes the content of a version out of the module at the root of a tree. What is
// vendored in cue.mod is left out, as it is by cue mod publish: a registry has the
// dependencies. The same tree gives the same bytes.
//
// It is an error if there is no module path, if the major version differs from the path, if a file
// cannot be part of a module, or if a file imports a package that only cue.mod holds: a client that
// fetches the module would not have that package. The renderers have the packages that are
// provided.
func Pack(tree source.Tree, version string, provided ...string) (Package, error) {
	text, err := fs.ReadFile(tree.FS, modFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Package{}, fmt.Errorf("there is no %s: a module that is published needs a path: run \"cue mod init PATH@%s\"",
			modFile, major(version))
	}
	if err != nil {
		return Package{}, err
	}

	// The module file must agree with the version, and work on other machines.
	f, err := parseModFile(text, modFile, modfile.ParseNonStrict)
	if err != nil {
		return Package{}, fmt.Errorf("%s: %s", modFile, printable.OneLine(err.Error()))
	}
	if got := f.MajorVersion(); got != major(version) {
		return Package{}, fmt.Errorf("%s: the module path %q is for versions %s, and %s is none: write module: %q",
			modFile, f.QualifiedModule(), got, version, f.ModuleRootPath()+"@"+major(version))
	}
	for mv, dep := range f.Deps {
		if dep != nil && dep.ReplaceWith != "" {
			return Package{}, fmt.Errorf("%s: module %q is replaced by %q, which only this machine has: publish that first",
				modFile, mv, dep.ReplaceWith)
		}
	}

	// The module is packed without its dependencies.
	v, err := module.NewVersion(f.QualifiedModule(), version)
	if err != nil {
		return Package{}, fmt.Errorf("%s: %s", modFile, printable.OneLine(err.Error()))
	}
	packedTree, err := ownFiles(tree)
	if err != nil {
		return Package{}, err
	}
	if err := checkLeftOut(tree, packedTree, provided); err != nil {
		return Package{}, err
	}

	// The zip is written as CUE writes it, so that its clients read it.
	out := Package{Path: f.ModuleRootPath(), Tree: packedTree, ModuleFile: text}
	var packed bytes.Buffer
	err = modzip.Create(&packed, v, filesOf(packedTree.FS, "."), treeFiles{packedTree.FS}) //nolint:staticcheck // CUE has no successor yet
	if err != nil {
		return Package{}, errors.New(printable.OneLine(err.Error()))
	}
	out.Zip = packed.Bytes()
	return out, nil
}

// Path returns the path of the module of a module file, without its major version.
func Path(moduleFile []byte) (string, error) {
	f, err := parseModFile(moduleFile, modFile, modfile.ParseNonStrict)
	if err != nil {
		return "", errors.New(printable.OneLine(err.Error()))
	}
	return f.ModuleRootPath(), nil
}

// NotPublishedError is an import of a package that cue.mod alone holds.
type NotPublishedError struct {
	// File is the path in the module, and Line begins at 1.
	File   string
	Line   int
	Import string
}

func (e *NotPublishedError) Error() string {
	return fmt.Sprintf("imports %q, which is in cue.mod, and a registry gets nothing of cue.mod but the module file", e.Import)
}

// importLine is a line of CUE that imports a package, by the package.
var importLine = regexp.MustCompile(`^\s*(?:import\s+)?(?:[\pL_$][\pL\pN_$]*\s+)?"([^"\\:]+)(?::[^"\\]+)?"\s*(?://.*)?$`)

// checkLeftOut refuses imports of packages that are left out because they are in cue.mod.
func checkLeftOut(tree, packed source.Tree, provided []string) error {
	// The packages of cue.mod are held, except those that every renderer has.
	held := map[string]bool{}
	for _, name := range filesOf(tree.FS, ".") {
		if inside, ok := localPackage(name); ok && path.Ext(name) == ".cue" {
			held[path.Dir(inside)] = true
		}
	}
	for _, name := range provided {
		delete(held, name)
	}

	// The first import of a held package is reported with its line.
	for _, name := range filesOf(packed.FS, ".") {
		if len(held) == 0 || path.Ext(name) != ".cue" {
			continue
		}
		text, err := fs.ReadFile(packed.FS, name)
		if err != nil {
			return err
		}
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			if m := importLine.FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil && held[m[1]] {
				return &NotPublishedError{File: name, Line: number, Import: m[1]}
			}
		}
	}
	return nil
}

// major returns the major version of a version, such as v1.
func major(version string) string {
	first, _, _ := strings.Cut(version, ".")
	return first
}

// ownFiles returns a tree without what is vendored in cue.mod.
func ownFiles(tree source.Tree) (source.Tree, error) {
	vendorFolders := []string{"pkg", "gen", "usr", "vendor"}
	files := map[string][]byte{}
	for _, name := range filesOf(tree.FS, ".") {
		if inside, ok := strings.CutPrefix(name, modFolder+"/"); ok && slices.Contains(vendorFolders, firstFolder(inside)) {
			continue
		}
		data, err := fs.ReadFile(tree.FS, name)
		if err != nil {
			return source.Tree{}, err
		}
		files[name] = data
	}
	return source.NewTree(files, tree.Origin, tree.Revision)
}

func firstFolder(name string) string {
	name, _, _ = strings.Cut(name, "/")
	return name
}

// treeFiles are the files of a tree, by name, as modzip reads them.
type treeFiles struct{ fsys fs.FS }

var _ modzip.FileIO[string] = treeFiles{} //nolint:staticcheck // as above

// Path returns the path of a file.
func (treeFiles) Path(name string) string { return path.Clean(name) }

// Lstat describes a file.
func (t treeFiles) Lstat(name string) (fs.FileInfo, error) { return fs.Stat(t.fsys, name) }

// Open opens a file.
func (t treeFiles) Open(name string) (io.ReadCloser, error) { return t.fsys.Open(name) }

// Absolute returns the name of a file for messages.
func (treeFiles) Absolute(name string) string { return name }
