// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package spec reads the documents that users write: Transform, Project, PivotCluster,
// workloads and the ConfigMaps that hold modules. It parses YAML and JSON with
// the position of every part, decodes strictly, fills defaults and validates,
// and reports all mistakes of all files at once.
//
// # Invariants
//
// Wire formats stay here: the package returns Go values in which every part has its position.
// Values are limited to JSON; the additions of YAML (aliases, merge keys, tags, timestamps) are
// resolved, read as text or rejected here. A part behind an alias has the position where it was
// written. The package reads no files.
//
// A workload leaves the package as its document, because environments and
// options may change any part of it; render/workload/score decodes it after
// them.
//
// Files that a search found are read leniently, files that a user named strictly
// (see [File.Found]).
package spec
