// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package harness starts two management clusters with Cluster API, and one cloud for both,
// and makes Clusters in them. One World serves all tests of a run: they keep apart by
// namespaces, and who stops a program starts it again.
//
// Callers: the tests of package pivot, whose TestMain calls Run.
package harness
