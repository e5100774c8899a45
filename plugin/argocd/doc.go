// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package argocd is the Argo CD adapter: a server of the plugin protocol on a
// socket of the repo-server, and of health and metrics over HTTP. An Application
// with plugin: {name: ropewalk} is rendered as ropewalk render --dialect argocd
// renders its path.
//
//	stream -> unpack (memory) -> Load (plugin/host) -> render -> manifests
//
// # Invariants
//
// Nothing is rendered before the whole archive is there and its checksum is right.
// What is rendered never depends on the revision: Argo CD gives manifests to a new
// revision without asking again. It keeps them for a day under a key that knows
// nothing of what is fetched, so references are locked: by a digest, a commit, or
// an entry in ropewalk.lock.
//
// An answer without manifests is an error, because with pruning it deletes the
// application, unless the request allows it.
//
// An error is what the user has to know, their file and line first, at most 4 KiB,
// without credentials. What may pass by itself is tried again inside the deadline,
// because Argo CD keeps an error too, for an hour, after three of them.
//
// Credentials of a source are asked for when a registry wants them, and go to the
// registry that the source comes from and to no other. The scope of a cache is the
// project of Argo CD, and the repository where its credentials are offered.
//
// The socket is there when it is served, and not before: the repo-server dials
// once, without a time-out. It goes before the server does.
//
// Callers: the command line (ropewalk plugin argocd).
//
// # Decisions
//
// argocd-cmp-server was not chosen: it unpacks the repository to files and starts
// a process for each request, which is most of the time of a request.
//
// gRPC is spoken by connectrpc.com/connect over the HTTP/2 of net/http, and not by
// google.golang.org/grpc: linking that costs every run of the command a third of a
// millisecond of its start, for a server that most runs never make. A request takes
// a tenth or two of a millisecond more. The other protocols of connect are refused.
// Tests talk to the server by google.golang.org/grpc, as Argo CD does.
//
// The parallelism limit of the repo-server does not hold for plugins, so the
// server has its own, in which applications take turns.
//
// Discovery is not announced: it has every repository sent to every plugin, and
// twice. Users name the plugin.
//
// Metrics are written as text by this package. The Prometheus client would do
// more than is needed here, and costs every run of the command its start.
package argocd
