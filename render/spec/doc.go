// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package spec reads the documents that users write: Transform, Project,
// workloads and the ConfigMaps that hold modules. It parses YAML and JSON with the position
// of every part, decodes strictly, fills defaults and validates, and reports
// all mistakes of all files at once.
//
// Wire formats stay here: what leaves the package are Go values in which
// every part knows its line. The package reads no files; plugin/host does.
//
// # Decisions
//
// Values are what JSON can say. What YAML adds is resolved or refused here, so
// that no later stage needs to know of it: aliases and merge keys are
// resolved (and bounded, see MaxFile), timestamps, yes and no are text, keys
// must be text, infinities and integers over 64 bits are mistakes. A float
// keeps its point (2.0), because CUE tells int from float.
//
// A part that was reached through an alias has the position where it was
// written, not where it was used: that is the line to change.
//
// Decoding works on values, not on Go structs with tags: a struct decoder
// stops at the first mistake, or has lost the position by the time it finds
// one.
//
// A workload (Score or our own kind) leaves the package as the document that it
// is: environments and options change any part of it, images and commands too,
// so that it can be decoded only after them. render/workload/score does that.
//
// Files that a search found are treated mildly, those that a user named
// strictly (see [File.Found]): a folder of specs may hold other manifests and
// templates of other tools, but a file on the command line is meant.
package spec
