// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package impact has the command that says what a new version of a module does to its
// consumers: it renders each of them with the version that it refers to and with the new one.
//
// # Invariants
//
// The new version takes the place of a reference in memory: no file of a consumer is written,
// and its lock holds for the old side. What a consumer does not allow, such as a version
// without the signature that its reference wants, counts as refused. A consumer that fails, or
// is too slow, has a verdict like any other.
//
// Tested by cmd/ropewalk/internal/cli.
package impact
