// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package kustomize runs the real kustomize with the render as a function in
// it. It has no code of its own, only tests: they build kustomize from its
// module and the command from this tree (the build cache keeps both), and let
// the one run the other on kustomizations as a user writes them.
//
// It builds the components of deploy/argocd too: over a repo-server with the names
// that Argo CD's has, whose result test/deploy judges, and over the install manifests
// of Argo CD itself where test/argocd has its module.
//
// # Decisions
//
// The package is a module of its own, because kustomize would otherwise be in
// the go.mod of who installs Ropewalk. It does not replace that of the project:
// the two meet as processes. `make kustomize` runs it.
package kustomize
