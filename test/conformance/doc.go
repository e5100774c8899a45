// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package conformance asserts that every adapter gives identical objects, in
// the same order, for the same request. It has no code of its own, only tests:
// a table of cases (the examples, in every environment and dialect) and a table
// of ways to render them. A new adapter is one more way.
//
// The ways run the built command, as its users do, and are compared as data:
// adapters write YAML or JSON, and mark what they made each in its own manner. What
// a way adds for itself it takes away again, and nothing else is forgiven.
package conformance
