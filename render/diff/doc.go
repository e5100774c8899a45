// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package diff says what is different between two renders, object by object,
// as people and engines see it: what is created, changed, deleted, or has to be
// made again because a field cannot be changed; what moves to another wave or
// layer; what is dangerous; and which line of a spec is behind it.
//
// It compares what objects hold and not how they are written: the order of
// fields and the spelling of quantities make no difference. The order of list
// entries does, and is told apart from changes of the entries themselves; so
// does a null, which is not the same as nothing. Values of Secrets are never
// shown, and nothing that an object holds steers a terminal or a page.
//
// An object that one side holds twice is a [Finding]: it keeps the report from
// being empty, because engines end with either of them.
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
// Sides in different dialects are named as such, and what a dialect writes is
// taken out of both before they are compared: its annotations, waves, layers,
// objects that deliver, and objects that Flux only watches. The option not taken
// is to compare the objects before they are written: a directory and an artifact
// have no others. Where no graph tells the dialect, it is told by what a dialect
// always writes (a wave on each object, folders of layers). Where that says
// nothing it stays unknown, and all is compared: a false danger is seen and
// judged, and a change that is taken for dialect is not seen.
//
// Lists are compared by the name of their entries where all of them have one,
// as strategic merge does it for most lists of the API, and by position
// otherwise. Reading the merge keys from the OpenAPI schemas would be exact for
// some lists without names, at the cost of loading the schemas for each diff.
package diff
