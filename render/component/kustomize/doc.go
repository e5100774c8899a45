// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package kustomize builds kustomizations by kustomize's own library. [Collect] finds what a
// build reads, and what must be fetched before; [New] makes the engine of a [Library].
//
// # Invariants
//
// The library gets a file system in memory that holds the files of [Collect] and nothing else.
// It starts no program and opens no connection: references to elsewhere are replaced by what
// was fetched before, charts by what they render to, and plugins are refused. Objects are those
// of kustomize build, in its order. The library is not linked here: package library has it, in
// a program of its own.
package kustomize
