// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package oci gets module trees from OCI registries: CUE modules as cue mod
// publish writes them, Timoni modules, and the layers of Flux and ours.
//
// Invariants:
//   - A tag is looked up once. What follows goes by digest: the manifest is
//     hashed before it is believed, and every layer while it is unpacked. A tree
//     is given only when every byte was what its digest said.
//   - Where a signature is asked for, it is verified before a layer is read.
//   - Manifests, lists of tags, layers and what is in them are bounded, by what
//     they claim before they are read, and by what comes after that. Layers
//     that are tars are never held as a whole.
//   - An artifact of another shape is an error that says what it is. Nothing is
//     guessed from what a layer holds.
//   - Errors name the reference, in which there are no credentials: they are
//     refused in a URL.
//
// # Shapes
//
// The type of the config decides how an artifact is read. With the type of CUE, the first layer is
// the zip of the module. With the type of Timoni, all tars of the artifact are one tree, in their
// order: vendored schemas, then the module; a file that is in two tars comes from the later one.
// Everything else must have exactly one layer: of the type of Flux, whatever the config, or a plain
// OCI layer with the config of Flux, as we push them.
//
// An index of several manifests is refused and not searched for one of them: modules have no
// platform, and no tool that publishes them writes an index.
//
// # Semver
//
// A range takes tags with all three numbers, with or without a v before them. A tag 1.2 or 1 is not
// a version, because such tags move from one to the next. Of two tags for one version the tag
// without v is taken. Prereleases count where the range names a prerelease.
package oci
