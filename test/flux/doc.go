// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package flux builds what the controllers of Flux would build, by the libraries that they are made
// of, and holds what the command renders of the same repository against it. It has no code of its
// own, only tests.
//
// # Decisions
//
// The package is a module of its own, because Flux would be in the go.mod of users who install
// Ropewalk. It is at the versions of the kustomize-controller of test/e2e. The two meet as
// processes. The command flux build kustomization is made of the same generator, build and
// substitution, and none of its packages can be imported.
package flux
