// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package preflight says what stands in the way of a pivot, before anything is touched.
//
// Each end looks at its own plane: Source at the objects and at the rights on the source,
// Target at rights, at objects that are there already, and, by dry runs, at whether the API
// server and its webhooks would accept the Samples of what is moved. Kinds finds the versions
// that both serve, and Skew compares the providers that clusterctl installed.
//
// Invariants: nothing is written; all findings are returned at once, sorted; each names the
// plane, the object and what to do; no finding and no sample has a value of a Secret.
//
// Plan is the result that the command prints.
package preflight
