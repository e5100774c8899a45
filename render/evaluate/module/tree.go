// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"cuelang.org/go/cue/load"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/mod/modfile"

	"github.com/ropewalk/ropewalk/internal/depth"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// virtualRoot is the folder in which trees appear to the loader. The loader falls through
// to the disk for what is not laid over, so this folder must exist on no host.
const virtualRoot = "/.ropewalk-virtual-root/module"

// Names that CUE gives meaning to.
const (
	modFolder       = "cue.mod"
	modFile         = "cue.mod/module.cue"
	localModFile    = "cue.mod/local-module.cue"
	languageVersion = "v0.17.0"
)

// schemaPrefix marks positions in schemas that the module does not hold.
const schemaPrefix = "schema:"

// tree is a module in memory.
type tree struct {
	files map[string][]byte // by slash-separated path
	// dir is the folder of the package, and root the folder of the CUE module.
	// Both are clean; "." is the root of files.
	dir, root string
	// laid holds the paths that were laid over, not written by the module.
	laid map[string]string // path -> position label
}

// readTree reads all of the module and lays the schemas over what it lacks.
func readTree(m evaluate.Module, schemas map[string]fs.FS) (*tree, error) {
	t := &tree{files: map[string][]byte{}, laid: map[string]string{}}

	// The folder of the package must be inside the module.
	t.dir = path.Clean("./" + strings.TrimPrefix(m.Dir, "/"))
	if !fs.ValidPath(t.dir) {
		return nil, fmt.Errorf("folder %q is not inside the module", m.Dir)
	}
	if m.FS == nil {
		return nil, errors.New("the module has no files")
	}

	// All regular files are read.
	err := fs.WalkDir(m.FS, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%q is %s, and a module may hold regular files only: replace it by a copy", name, irregular(d.Type()))
		}
		data, err := fs.ReadFile(m.FS, name)
		t.files[name] = data
		if err == nil && strings.HasSuffix(name, ".cue") {
			err = checkText(m, t, name, data)
		}
		return err
	})
	if err != nil {
		return nil, err
	}

	// The package needs a file.
	if len(t.cueFiles(t.dir)) == 0 {
		if t.dir == "." {
			return nil, errors.New("the folder has no .cue file")
		}
		return nil, fmt.Errorf("no .cue file in folder %q", t.dir)
	}
	t.findRoot()
	return t, t.layOver(schemas)
}

// checkText refuses CUE that is not UTF-8, which the parser lets pass inside of strings, what is
// too deep for its stack, and numbers that CUE cannot hold and silently replaces by others.
func checkText(m evaluate.Module, t *tree, name string, data []byte) error {
	if utf8.Valid(data) {
		var deep *depth.Error
		if errors.As(depth.Check(data, depth.Max), &deep) {
			return &object.Error{
				Stage: object.StageEvaluate, Pos: t.pos(m, path.Join(virtualRoot, name), deep.Line, deep.Column), Err: deep, Hint: deep.Hint(),
			}
		}
		return checkNumbers(m, t, name, data)
	}
	line := 1
	for text := range bytes.Lines(data) {
		if !utf8.Valid(text) {
			break
		}
		line++
	}
	return &object.Error{
		Stage: object.StageEvaluate, Pos: t.pos(m, path.Join(virtualRoot, name), line, 0),
		Err: errors.New("the line is not valid UTF-8"), Hint: "save the file as UTF-8",
	}
}

func irregular(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	default:
		return "a device"
	}
}

// cueFiles returns the sorted paths of the CUE files in a folder.
func (t *tree) cueFiles(dir string) []string {
	var names []string
	for name := range t.files {
		if path.Dir(name) == dir && strings.HasSuffix(name, ".cue") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// findRoot takes the nearest folder with a module file. A tree without a module file gets one at
// its root.
func (t *tree) findRoot() {
	for d := t.dir; ; d = path.Dir(d) {
		if data, ok := t.files[path.Join(d, modFile)]; ok {
			t.root = d
			t.files[path.Join(d, modFile)] = withLanguage(data)
			break
		}
		if d == "." {
			t.root = "."
			t.files[modFile] = []byte(`module: "module.local@v0"` + "\n" + `language: version: "` + languageVersion + `"` + "\n")
			break
		}
	}
	// The local module file can replace dependencies by folders of the host;
	// CUE itself never publishes it.
	delete(t.files, path.Join(t.root, localModFile))
}

// withLanguage completes a module file from before language versions, which the
// loader takes for the module but not for what lies in its cue.mod/pkg.
func withLanguage(data []byte) []byte {
	// A file that says the word is not from before; what is wrong with it is the
	// loader's to say, and to read it twice costs as much as a small module.
	if bytes.Contains(data, []byte("language")) {
		return data
	}
	if _, err := modfile.ParseNonStrict(data, modFile); err == nil {
		return data
	}
	f, err := modfile.FixLegacy(data, modFile)
	if err != nil {
		// The loader says what is wrong with it, with its line.
		return data
	}
	fixed, err := modfile.Format(f)
	if err != nil {
		return data
	}
	return fixed
}

// layOver puts each schema that the module has not vendored below cue.mod/pkg.
func (t *tree) layOver(schemas map[string]fs.FS) error {
	for _, importPath := range object.SortedKeys(schemas) {
		if t.vendors(importPath) {
			continue
		}
		folder := path.Join(t.root, modFolder, "pkg", importPath)
		fsys := schemas[importPath]
		err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				// A module file inside of cue.mod/pkg would make it a module of its own.
				if name == modFolder {
					return fs.SkipDir
				}
				return nil
			}
			data, err := fs.ReadFile(fsys, name)
			target := path.Join(folder, name)
			t.files[target] = data
			t.laid[target] = schemaPrefix + path.Join(importPath, name)
			return err
		})
		if err != nil {
			return fmt.Errorf("schema %q: %w", importPath, err)
		}
	}
	return nil
}

// vendors reports whether the module holds files of importPath itself.
func (t *tree) vendors(importPath string) bool {
	return slices.ContainsFunc([]string{"pkg", "gen", "usr"}, func(kind string) bool {
		return t.holds(path.Join(t.root, modFolder, kind, importPath))
	})
}

// overlay returns the tree in the form of the loader.
func (t *tree) overlay() map[string]load.Source {
	out := make(map[string]load.Source, len(t.files))
	for name, data := range t.files {
		out[path.Join(virtualRoot, name)] = load.FromBytes(data)
	}
	return out
}

// packageName returns what the loader looks for in the folder: main for a Timoni module, which
// keeps helper packages beside it; _ if no file has a package clause; "" lets the loader find the
// only package.
func (t *tree) packageName() string {
	if _, ok := t.files[path.Join(t.dir, "timoni.cue")]; ok {
		return "main"
	}
	for _, name := range t.cueFiles(t.dir) {
		f, err := parser.ParseFile(name, t.files[name], parser.PackageClauseOnly)
		if err != nil || f.PackageName() != "" {
			return ""
		}
	}
	return "_"
}

// embedded returns the file that an @embed calls name, which is relative to the folder of the file
// with the @embed: mostly the folder of the package, or of a package that it imports.
func (t *tree) embedded(name string) (string, bool) {
	if inPackage := path.Join(t.dir, name); t.files[inPackage] != nil {
		return inPackage, true
	}
	var matches []string
	for file := range t.files {
		if !strings.HasSuffix(name, ".cue") && (file == name || strings.HasSuffix(file, "/"+name)) {
			matches = append(matches, file)
		}
	}
	if len(matches) != 1 {
		return "", false
	}
	return matches[0], true
}

// pos turns a file name of the loader and a place in it into a position that the
// user knows.
func (t *tree) pos(m evaluate.Module, filename string, line, column int) object.Pos {
	name, ok := strings.CutPrefix(filename, virtualRoot+"/")
	if !ok {
		name, ok = t.embedded(filename)
	}
	if !ok {
		return object.Pos{File: filename, Line: line, Column: column}
	}
	if label, ok := t.laid[name]; ok {
		return object.Pos{File: label, Line: line, Column: column}
	}
	return m.Position(name, line, column)
}
