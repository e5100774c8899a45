// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// Folder is where the cases of a module are, beside its package.
const Folder = "test"

// maxCases is how many cases a module may have.
const maxCases = 10_000

// Case is one case of a module.
type Case struct {
	spec.Case
	// File is the path of its file in the tree of the module.
	File string
}

// Read reads the cases of a module, in the order of their files. A module may have none. The error
// is an object.Errors with every mistake of every file.
func Read(m evaluate.Module) ([]Case, error) {
	// A module without the folder has no cases.
	dir := path.Join(path.Clean("./"+m.Dir), Folder)
	entries, err := fs.ReadDir(m.FS, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}

	// Read the files, and collect the mistakes in all of them.
	var out []Case
	var errs object.Errors
	golden := map[string]bool{}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		at := m.Position(name, 0, 0)
		switch {
		case e.IsDir(), strings.HasPrefix(e.Name(), "_"), strings.HasPrefix(e.Name(), "."):
			continue
		case strings.HasSuffix(e.Name(), spec.GoldenSuffix):
			golden[name] = true
			continue
		case path.Ext(name) == ".yml":
			errs = append(errs, mistake(at, "rename it to end in .yaml, or to begin with _", "cases are in files called *.yaml"))
			continue
		case path.Ext(name) != ".yaml":
			continue
		}
		data, err := fs.ReadFile(m.FS, name)
		if err != nil {
			return nil, err
		}
		found, err := spec.ParseCases(spec.File{Name: at.File, Data: data})
		errs = append(errs, object.AsErrors(err, object.StageSpec)...)
		if err == nil && len(found) == 0 {
			errs = append(errs, mistake(at, "write a case, or let the name of the file begin with _", "the file holds no case"))
		}
		for _, c := range found {
			if c.Name == "" {
				c.Name, c.NamePos = strings.TrimSuffix(e.Name(), ".yaml"), c.Pos
			}
			out = append(out, Case{Case: c, File: name})
		}
	}

	// Report cases that exclude each other, and golden files without a case.
	errs = append(errs, repeated(out)...)
	for _, c := range out {
		delete(golden, c.GoldenFile())
	}
	for _, name := range object.SortedKeys(golden) {
		if errs.Err() == nil { // A mistake may hide the case that names it.
			errs = append(errs, mistake(m.Position(name, 0, 0), "remove it, or name it in expect.golden of a case", "no case names this golden file"))
		}
	}

	// The number of cases bounds the time of a run.
	if len(out) > maxCases {
		errs = append(errs, mistake(m.Position(dir, 0, 0), "", "the module has %d cases, more than the %d that are allowed", len(out), maxCases))
	}
	return out, errs.Sorted().Err()
}

// repeated returns the mistakes of cases with the name or the golden file of an earlier case.
func repeated(all []Case) (errs object.Errors) {
	first, golden := map[string]object.Pos{}, map[string]object.Pos{}
	for _, c := range all {
		if pos, known := golden[c.GoldenFile()]; known {
			errs = append(errs, mistake(c.Expect.Golden.Pos, "give each case a file of its own", "%s is the golden file of the case at %s", c.Expect.Golden.Text, pos))
		} else if c.GoldenFile() != "" {
			golden[c.GoldenFile()] = c.Pos
		}
		if pos, known := first[c.Name]; known {
			errs = append(errs, mistake(c.NamePos, "give each case a name of its own", "a second case is called %q; the first is at %s", c.Name, pos))
			continue
		}
		first[c.Name] = c.NamePos
	}
	return errs
}

// mistake returns a mistake in a file of cases.
func mistake(pos object.Pos, hint, format string, args ...any) *object.Error {
	return &object.Error{Stage: object.StageSpec, Pos: pos, Err: fmt.Errorf(format, args...), Hint: hint}
}

// Texts returns the files of cases by the names that positions give them.
func Texts(m evaluate.Module, all []Case) map[string][]byte {
	out := map[string][]byte{}
	for _, c := range all {
		if _, known := out[c.Pos.File]; !known {
			out[c.Pos.File], _ = fs.ReadFile(m.FS, c.File) // it was read before
		}
	}
	return out
}

// Named returns the cases whose names match.
func Named(all []Case, matches func(string) bool) []Case {
	return slices.DeleteFunc(slices.Clone(all), func(c Case) bool { return !matches(c.Name) })
}
