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

// Cases is the tree with the cases of the embedded module called name, in its folder test, for
// those who look at what the module makes; it is empty where the module has none.
func Cases(name string) fs.FS {
	cases, _ := fs.Sub(examples, "modules/"+name) // The only error is that of an invalid path.
	return cases
}

// Schema is the files of the package ropewalk.dev/schema, as they lie under
// cue.mod/pkg/ropewalk.dev/schema of a module that vendors it.
func Schema() fs.FS { return sub("schema") }

// Module is the tree of the embedded module called name: a CUE module with its
// cue.mod, the package at its root, and no copy of the schema. It is false
// where there is no such module; see [Names].
func Module(name string) (fs.FS, bool) {
	if !slices.Contains(Names(), name) {
		return nil, false
	}
	return sub("modules/" + name), true
}

// Names is the names of the embedded modules, sorted.
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

// Template is the files of a new project, which renders at once: ropewalk.yaml,
// a spec that uses an embedded module, and one that uses a module of the
// project's own, with the schema vendored.
func Template() fs.FS { return sub("template") }

// sub is the files below dir, which is part of the program.
func sub(dir string) fs.FS {
	// The only error is that of an invalid path; dir is never one.
	s, _ := fs.Sub(files, dir)
	return s
}
