// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package score decodes workloads: Score files (score.dev/v1b1, as of Score
// 0.4.1) and documents of kind Workload, which have the same fields and
// those that Score lacks (see extras.go).
//
// [Decode] takes the document as a value whose parts know their lines, after
// environments and options were merged over it, and returns a [Workload]: decoded,
// older forms upgraded, defaults of Score filled in, valid by itself. Rules that
// concern other workloads, resources or placeholders are checked by render/workload.
//
// # Invariants
//
// A workload without errors has a name, one container at least, nothing twice at
// one path, no cycle in before, and amounts that Kubernetes accepts. Lists are sorted by
// name, so that the order of a document changes nothing. All mistakes are
// reported at once, each at its line; no message repeats the text of a variable,
// a file or a parameter, which may be a password. No input panics, and the time
// is linear in its size.
//
// # Older forms
//
// These are read with a warning: apiVersion score.sh/v1b1, properties of a
// resource (which are left out), pullPolicy, files and volumes as lists, content
// as a list of lines, read_only, null for what is optional, integers and
// bools where text belongs, an amount of cpu that begins with its point, and the annotation
// k8s.score.dev/kind. What could mean two things is refused with what to
// write: a number with a point as text, memory of 128K, names with underscores,
// a mode without quotes, an image that is null.
package score
