// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package schemas holds the schemas of the check as data: schemas of the kinds of
// Kubernetes and a set of CustomResourceDefinitions. SOURCES.md says where they come
// from and in which form they are; test/schemas writes them. The packages that use
// them parse what they need when they need it.
package schemas

import (
	"embed"
	"io/fs"
)

//go:embed kinds.txt
var kinds string

//go:embed components.txt
var components string

//go:embed since.txt
var since string

//go:embed crds
var definitions embed.FS

// Kinds returns a line for each kind that a Kubernetes API server serves: apiVersion, kind,
// scope, component, and, if it is known, the version of Kubernetes that introduced the kind.
func Kinds() string { return kinds }

// Components returns a line for each component, sorted by name: the name, then a schema as JSON.
func Components() string { return components }

// Definitions returns the CustomResourceDefinitions: crds/<group>/<Kind>.json.
func Definitions() fs.FS { return definitions }
