// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package kustomize builds kustomizations by kustomize's own library. [Collect] finds what a
// build reads, and what must be fetched before; [New] makes the engine.
//
// # Invariants
//
// The library gets a file system in memory that holds the files of [Collect] and nothing else.
// It starts no program and opens no connection: references to elsewhere are replaced by what
// was fetched before, charts by what they render to, and plugins are refused. The library has
// state of its own, so that one build runs at a time. Objects are those of kustomize build, in
// its order.
//
// Callers: render/evaluate/inprocess, and plugin/host for [Collect].
package kustomize
