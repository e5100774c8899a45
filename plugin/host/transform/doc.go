// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package transform makes of a Transform of a cluster the request that render takes: it
// turns the Transform into a spec document, lays what inputsFrom names over it, and has
// plugin/host load it all, whether the rest comes from a cluster or from files.
//
// # Invariants
//
// The package asks no API server: ConfigMaps, Secrets and the files of the source are given.
//
// No value of a Secret gets into a request: a Secret of inputsFrom is its name and
// its key.
//
// Positions lead to what the user wrote: files of the source from its root, and
// fields of the Transform (spec.input.replicas) and of ConfigMaps for the rest. The file of the
// document is never named.
//
// Nothing is written to disk.
package transform
