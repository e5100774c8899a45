// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package document describes the documents that users write, as tables of fields. A
// [Field] has the name, the shape, the rule and the meaning of a part of a document; a
// [Document] is the table of a kind.
//
// From a table come the JSON Schema of its kind ([Document.Schema]), and the decoder, which
// checks a value against the table and reports all mistakes in it ([Decode]).
//
// # Invariants
//
// A value that a field does not allow is reported at its own position, or at the position of its
// name; it is never skipped silently. Each mistake is reported once: a misspelt part is not
// reported as missing too.
package document
