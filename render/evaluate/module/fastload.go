// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"bytes"
	"fmt"
	"path"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
	"cuelang.org/go/mod/module"

	"github.com/ropewalk/ropewalk/internal/subpath"
	"github.com/ropewalk/ropewalk/render/evaluate"
)

// fastLoad loads a plain tree without CUE's loader: one package at the root of its module, imports
// of CUE's own library and of what is vendored below cue.mod/pkg, and no attribute that means
// something to the loader. Most modules are plain, and the loader costs them as much as their
// evaluation: it reads the module file by evaluating CUE of its own. It returns nil for a tree that
// is not plain, or wrong. That is left to the loader, so that mistakes have the same words.
func (t *tree) fastLoad(m evaluate.Module) *build.Instance {
	name, version, ok := t.plainModule()
	if !ok || t.dir != t.root || len(m.Tags) > 0 {
		return nil
	}
	l := &loader{tree: t, module: name, version: version}
	l.context = build.NewContext(build.Loader(l.vendored))
	inst := l.parseFolder(t.dir)
	if inst == nil {
		return nil
	}
	inst.ImportPath = name + ":" + inst.PkgName
	if !l.complete(inst) {
		return nil
	}
	return inst
}

// loader holds the state of one load.
type loader struct {
	tree    *tree
	context *build.Context
	module  string
	version string
	// stack is the folders that are being loaded, to find imports that come back
	// to themselves.
	stack  []string
	failed bool
}

// plainModule returns the path and the language version of a module file that says nothing else.
func (t *tree) plainModule() (name, version string, ok bool) {
	data, found := t.files[path.Join(t.root, modFile)]
	if !found {
		return "module.local@v0", languageVersion, true
	}
	file, err := parser.ParseFile(modFile, data)
	if err != nil {
		return "", "", false
	}
	for _, d := range file.Decls {
		f, isField := d.(*ast.Field)
		switch {
		case !isField:
			return "", "", false
		case LabelIs(f.Label, "module") && name == "":
			name = textOf(f.Value)
		case LabelIs(f.Label, "language") && version == "":
			version = languageOf(f.Value)
		default:
			return "", "", false
		}
	}
	if !strings.Contains(name, "@") {
		name += "@v0" // as the loader reads it
	}
	return name, version, module.CheckPath(name) == nil && knownLanguage(version)
}

// languageOf returns the version in {version: "v0.9.0"}, or "" if the expression says more.
func languageOf(e ast.Expr) string {
	s, ok := e.(*ast.StructLit)
	if !ok || len(s.Elts) != 1 {
		return ""
	}
	f, ok := s.Elts[0].(*ast.Field)
	if !ok || !LabelIs(f.Label, "version") {
		return ""
	}
	return textOf(f.Value)
}

func textOf(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	text, err := strconv.Unquote(lit.Value)
	if err != nil {
		return ""
	}
	return text
}

// knownLanguage reports whether version is one that this library speaks and
// that the loader treats as it treats the newest.
func knownLanguage(version string) bool {
	const first = 9 // v0.9.0 brought modules
	var newest, minor, patch int
	_, _ = fmt.Sscanf(languageVersion, "v0.%d.", &newest)
	_, err := fmt.Sscanf(version, "v0.%d.%d", &minor, &patch)
	complete := err == nil && version == fmt.Sprintf("v0.%d.%d", minor, patch)
	return complete && minor >= first && minor <= newest
}

// parseFolder parses the files of one folder. It returns nil if they are not plain.
func (l *loader) parseFolder(dir string) *build.Instance {
	inst := l.context.NewInstance(path.Join(virtualRoot, dir), nil)
	inst.Dir = path.Join(virtualRoot, dir)
	inst.Root = path.Join(virtualRoot, l.tree.root)
	inst.Module = l.module
	inst.DisplayPath = "."
	for _, name := range l.tree.cueFiles(dir) {
		data := l.tree.files[name]
		if !plainFile(path.Base(name), data) {
			return nil
		}
		f, err := parser.ParseFile(path.Join(virtualRoot, name), data, parser.ParseComments, parser.Version(l.version))
		pkg := f.PackageName()
		if err != nil || pkg == "" || pkg == "_" {
			return nil
		}
		if len(inst.Files) > 0 && pkg != inst.PkgName {
			return nil
		}
		// AddSyntax would look up all names in the file, as the parser just did.
		inst.Files = append(inst.Files, f)
		inst.PkgName = pkg
	}
	if len(inst.Files) == 0 {
		return nil
	}
	return inst
}

// plainFile reports whether a file is one that the loader always takes, and in
// which it changes nothing.
func plainFile(name string, data []byte) bool {
	if strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") ||
		strings.HasSuffix(name, "_test.cue") || strings.HasSuffix(name, "_tool.cue") {
		return false
	}
	for _, attribute := range []string{"@if", "@ignore", "@tag", "@embed", "@extern", "@experiment"} {
		if bytes.Contains(data, []byte(attribute)) {
			return false
		}
	}
	return true
}

// complete joins an instance with what it imports.
func (l *loader) complete(inst *build.Instance) bool {
	l.stack = append(l.stack, inst.Dir)
	err := inst.Complete()
	l.stack = l.stack[:len(l.stack)-1]
	return err == nil && inst.Err == nil && !l.failed
}

// vendored returns the package of an import. It returns nil for CUE's own library.
func (l *loader) vendored(_ token.Pos, importPath string) *build.Instance {
	first, _, _ := strings.Cut(importPath, "/")
	if !strings.Contains(first, ".") {
		return nil
	}
	inst := l.imported(importPath)
	if inst == nil {
		l.failed = true
	}
	return inst
}

// imported returns the package of an import that is vendored, or nil.
func (l *loader) imported(importPath string) *build.Instance {
	own, _, _ := strings.Cut(l.module, "@")
	if strings.ContainsAny(importPath, ":@") || subpath.Within(importPath, own) {
		return nil
	}
	folder := func(kind string) string { return path.Join(l.tree.root, modFolder, kind, importPath) }
	if l.tree.holds(folder("gen")) || l.tree.holds(folder("usr")) {
		return nil
	}
	dir := folder("pkg")
	for _, d := range l.stack {
		if d == path.Join(virtualRoot, dir) {
			return nil
		}
	}
	inst := l.parseFolder(dir)
	if inst == nil || inst.PkgName != path.Base(importPath) {
		return nil
	}
	inst.ImportPath = importPath
	if !l.complete(inst) {
		return nil
	}
	return inst
}

// holds reports whether the tree has files in dir.
func (t *tree) holds(dir string) bool {
	for name := range t.files {
		if strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}
