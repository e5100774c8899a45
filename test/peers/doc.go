// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package peers asks other projects of the field whether they understand what
// Ropewalk writes, and Ropewalk whether it understands them: sigstore-go for
// signatures, in-toto and SLSA for statements, CycloneDX and package-url for the
// list of images, the grammar of distribution for references. It also measures
// copies and pushes against oras and crane. It has no code of its own, only
// tests and benchmarks.
//
// # Decisions
//
// The package is a module of its own: what is compared with would otherwise be
// in the go.mod of who installs Ropewalk, and sigstore-go costs each start of a
// command that links it 3 ms. `make peers` runs it.
//
// cosign and source-controller are not linked. What they do to verify with a key
// is done by the sigstore and sigstore-go modules, which are here.
package peers
