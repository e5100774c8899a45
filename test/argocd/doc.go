// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package argocd runs the real repo-server of Argo CD with the sidecar in its
// plugin directory. It has no code of its own, only tests. They ask the
// repo-server, by its own gRPC API and as the controller does, for manifests and
// parameters of applications from Git and from registries, break what can break
// under it, and print what users of Argo CD get to read.
//
//	tests ── gRPC ── repo-server ── socket ── ropewalk plugin argocd
//	                 │  │  └─ credentials ─────┘        │
//	               redis Git, registry ─────────── registry
//
// The repo-server is the one program that is built here (reposerver), with all
// modules at the versions that Argo CD itself is released with. It is kept in the
// user's cache directory, under a name made of all that it is built from: the
// first run builds for minutes, and the others not at all.
//
// Benchmarks compare the sidecar with the argocd-cmp-server of Argo CD (cmpserver),
// which is built and kept in the same way and runs cue export for each request, and
// with a server that does nothing, which is what no plugin can do without. They ask
// by the client and the archives of Argo CD itself, server by server in one run:
// figures of a busy machine are wrong, and their ratios are not. They print what is
// promised with what was measured, and fail nothing. make bench-argocd runs them.
//
// Everything listens on the loopback, keeps its files in folders of the test and
// ends with it. A server whose binary is missing skips the test, unless
// ROPEWALK_SERVERS=required is set; only redis has a replacement, miniredis.
//
// # What Argo CD does
//
// These are facts of v3.2.11 that the tests have shown and the sidecar lives with.
// The repo-server dials the socket without a time-out: who asks while a sidecar is
// killed that had not greeted yet gets no answer before their own deadline, and
// everybody else is told at once that there is none. After three failures in a
// row the fourth request gets the error of the third, until a hard refresh.
//
// # Decisions
//
// The package is a module of its own and does not require that of the project.
// That would choose another version for 58 of the 170 modules that the
// repo-server links, gRPC and the client of registries among them, and then it
// would be no real one. The two meet as processes, and the small servers of
// test/servers that are wanted here are written again. The go.mod began as that
// of Argo CD with its replace lines, tidied.
//
// Only the repo-server is linked, and the helper that it gives Git for
// credentials: 1,500 packages in place of the 2,200 of the binary that Argo CD
// ships, and half of the time. The client that the tests use is part of them, so
// that nothing is compiled twice; -trimpath would undo that.
//
// v3.2.11 is the newest version that builds as a module: v3.2.12 does not
// compile, and later lines need a folder that their modules lack.
package argocd
