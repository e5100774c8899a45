// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package programs builds the programs of others that a cluster is made of, at
// the versions that nested modules pin: Kubernetes, etcd, kwok, Helm, the controllers
// of Flux, Cluster API, and Argo CD. A module holds a go.mod with tool lines and its go.sum,
// and no source, but for Argo CD and the cloud of Cluster API, whose packages take a main
// of ours.
//
// What is built is kept in the user's cache directory, in a folder whose name
// has the version and a hash of all that goes into it: Go, platform, flags,
// go.mod, go.sum and source. So a changed pin builds anew, and all else never. A
// lock lets one run at a time build, and others wait for it; who is killed while
// building leaves nothing that is taken for a program.
//
// Callers: package e2e, and command install, which builds all of them before a run.
// Install tells what it does as it goes, for a whole build takes ten minutes of two
// cores.
//
// # Decisions
//
// Each project has a module of its own: their releases choose different versions
// of the same libraries, and a module that required two of them would build
// neither as it is released. What they compile twice costs two minutes once.
//
// The go.mod of a module begins as that of the project, with its replace lines.
// That of source-controller is tidied with go mod tidy -e: one of its tests
// needs a module that no proxy has. Argo CD is v3.2.11, the newest version that
// builds as a module (see test/argocd), and is built without -trimpath, so that
// it shares all that test/argocd compiles.
package programs
