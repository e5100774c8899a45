// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package cases has the cases of conformance: projects, and what is asked of
// them. Every adapter is asked the same: those that are part of the command in package
// conformance, the controller in test/e2e, which has a cluster.
//
// The package says what is asked and nothing of how, and depends on nothing: both
// modules of tests import it.
package cases
