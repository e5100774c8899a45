// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package diff says what is different between two renders, object by object,
// as people and engines see it: what is created, changed, deleted, or has to be
// made again because a field cannot be changed; what moves to another wave or
// layer; what is dangerous; and which line of a spec is behind it.
//
// It compares what objects mean and not how they are written: the order of
// fields, of named list entries and the spelling of quantities make no
// difference. Values of Secrets are never shown.
//
// It takes values and gives values; the same two sides give the same report.
// Where objects come from (a render, a Git revision, an artifact, a directory)
// is the business of plugin/host.
//
// Callers: the command line, and the adapters that comment on changes.
//
// # Decisions
//
// What cannot be changed is a table of ours, because the schemas of the API do
// not say it: the rules are in the validation code of each kind. A field that
// the table does not know counts as changeable; the API server has the last
// word.
//
// A dangerous change is reported beside the change, never instead of it, and
// never stops anything: what is acceptable is the reader's decision.
//
// Lists are compared by the name of their entries where all of them have one,
// as strategic merge does it for most lists of the API, and by position
// otherwise. Reading the merge keys from the OpenAPI schemas would be exact for
// some lists without names, at the cost of loading the schemas for each diff.
package diff
