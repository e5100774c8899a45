// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cue

import (
	"embed"
	"io/fs"
	"slices"
)

// SchemaPath is the import path of the schema.
const SchemaPath = "ropewalk.dev/schema"

// The prefix all: takes files along whose names begin with a dot or an
// underscore. The cases of modules (test) stay outside: a lock has the digest of a
// module, and cases must not change it.
//
//go:embed schema/*.cue
//go:embed modules/*/*.cue modules/*/*.md all:modules/*/cue.mod
//go:embed all:template
var files embed.FS

// examples are the cases of the modules.
//
//go:embed modules/*/test/*.yaml
var examples embed.FS

// Cases returns the tree of the test cases of the embedded module called name, which lie in
// its folder test. They show what the module makes. The tree is empty where the module has
// none.
func Cases(name string) fs.FS {
	cases, _ := fs.Sub(examples, "modules/"+name) // The only error is that of an invalid path.
	return cases
}

// Schema returns the files of the package ropewalk.dev/schema. A module that vendors the
// package has them under cue.mod/pkg/ropewalk.dev/schema.
func Schema() fs.FS { return sub("schema") }

// Module returns the tree of the embedded module called name: a CUE module with its cue.mod,
// the package at its root, and no copy of the schema. It returns false where there is no such
// module; see [Names].
func Module(name string) (fs.FS, bool) {
	if !slices.Contains(Names(), name) {
		return nil, false
	}
	return sub("modules/" + name), true
}

// Names returns the names of the embedded modules, sorted.
func Names() []string {
	// The directory is part of the program, so reading it cannot fail, and
	// entries come sorted.
	entries, _ := files.ReadDir("modules")
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// Template returns the files of a new project, which renders without an edit: ropewalk.yaml,
// a spec that uses an embedded module, and a spec that uses a module of the project's own,
// with the schema vendored.
func Template() fs.FS { return sub("template") }

// sub returns the files below dir, which is embedded in the program.
func sub(dir string) fs.FS {
	// The only error is that of an invalid path; dir is never one.
	s, _ := fs.Sub(files, dir)
	return s
}
