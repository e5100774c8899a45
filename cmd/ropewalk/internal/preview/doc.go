// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package preview writes what a change does to the environments of projects: as a page
// for reviewers, as a comment for a forge, as data, and as results for code scanning.
//
// # Invariants
//
// The same results give the same bytes. Objects that change alike in several environments
// are one [Object] with one [Variant]. A page needs no network and runs no script but its
// own: everything else is data, and its content security policy allows nothing more. What
// a page or a comment has no room for is counted in it. Values of Secrets and texts of
// errors come without secrets from render and render/diff.
package preview
