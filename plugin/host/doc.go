// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package host is what every adapter shares: it loads the specs that a user names
// (package project finds them), fetches their modules, and builds the request that render
// takes.
//
// [Host.Load] goes from one value to the next: discover finds and parses documents, lower
// makes specs of what other forms hold, readSettings overlays the project, and each of the
// frontEnds plans its documents, says what is to be fetched, and builds their specs.
//
// Overlays of an input are applied in this order, the later wins: the spec, the
// environment of the project, --values files in their order, --set in their order.
//
// The same files give the same request, byte for byte, on disk and in a file system in
// memory (Options.FS). No file outside of the project root is read. The package prints
// nothing and reads neither the environment, nor the clock, nor the network, which is
// left to fetchers. All errors of all files are reported at once.
package host
