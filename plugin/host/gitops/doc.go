// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package gitops finds what Argo CD or Flux would render of a repository: it reads the objects of
// the engines in it, and makes a Component of each, which is rendered like any other spec.
//
//	scan ── entries ── render a unit ── units among its objects ── … ── units
//
// A unit is a Kustomization or a HelmRelease of Flux, or an Application of Argo CD, which may come
// from an ApplicationSet. Units that no other one renders are entries; a unit whose files have
// further ones in them is rendered to find these, with all that is laid over them on the way.
//
// # Invariants
//
// Nothing is dropped: what cannot be rendered is a unit with the reason ([Unit.Problem]), what is
// not expanded is a warning, and a field that is not carried over is one at its line.
//
// No cluster is asked, and nothing is fetched here: the caller renders ([Render]). Files are those
// of the repository. Positions lead to the files of the user, also in objects that were rendered.
//
// Every loop over the repository is bounded: files, units, elements of generators.
package gitops
