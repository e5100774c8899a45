// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package schema holds a JSON Schema (draft 2020-12) for each kind of document
// that users write, for editors and for other tools. A document that the schema
// refuses is refused by render/spec, render/workload and plugin/host/release too; those check more,
// such as names and references.
//
// # Invariants
//
// Each map that a decoder closes is closed in its schema, with the same fields:
// test/deploy compares them, so that a field has to be added to both. Those of
// plugin/host/release are written by its test, with ROPEWALK_UPDATE=1.
//
// Caller: the command line.
package schema

import (
	"embed"
	"slices"
	"strings"
)

//go:embed *.json
var files embed.FS

// Kinds are the kinds that have a schema, sorted.
func Kinds() []string {
	return []string{"Apps", "ArtifactSync", "BuildPlan", "Component", "Compose", "DeployPlan", "Function", "Gateway", "Installation", "Project", "Transform", "Workload"}
}

// Of is the JSON Schema of a kind, whose letters may be small; false where there is none.
func Of(kind string) ([]byte, bool) {
	if !slices.ContainsFunc(Kinds(), func(k string) bool { return strings.EqualFold(k, kind) }) {
		return nil, false
	}
	data, err := files.ReadFile(strings.ToLower(kind) + ".json")
	return data, err == nil
}
