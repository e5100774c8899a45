// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package units finds what Argo CD or Flux render of a repository, for the commands that take all
// projects of it in one call.
//
// # Invariants
//
// The repository is all of the Git checkout that a path is in, also if the path is a folder of it:
// objects name paths from its root. Without Git it is the path itself. A project of Ropewalk is a
// project and no unit, also if an Application renders it.
//
// What is not rendered is in the warnings, at its line.
package units
