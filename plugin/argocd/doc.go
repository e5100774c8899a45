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
// and no sooner than a server has asked for, because Argo CD keeps an error too, for
// an hour, after three of them.
//
// The parameters of an application are those that all take, and the inputs of its
// specs, each with the value that it has where the application says nothing. They are
// a form: what is wrong with the application fails its render, and never its form. A
// module that is broken or hangs is left out, by the deadline and the limits of the
// workers that modules run in.
//
// One application holds at most half of the places at which archives are taken in,
// and half of those at which requests are rendered, and one project leaves a quarter
// of either to others: what it sends, however slowly, leaves room for others. What an
// archive keeps in memory is bounded; the rest of it is in a file.
//
// A request gives both places away while it waits for a registry, for its next attempt
// at one, for a worker, or for an equal request: its archive then counts against the
// memory for such requests (Options.Parked), half of which one project has. Where that
// is full, who waits for a registry is refused, and who waits for a worker keeps the
// place of their archive. So what is down holds up nobody who needs nothing of it.
//
// Evaluations take turns too ([Turns]): one that goes on for a second while others
// wait, or for a quarter of that while its project holds all workers and another
// project waits, ends and is begun again later, once, among the long ones, which have
// half of the workers; see plugin/host/turn.
//
// What is refused because a server has no room says so (a header of the error), and
// is no finding: who handed over renders by themselves then.
//
// A mistake in a parameter names the parameter. Warnings are told to Options.Report,
// once for each application and text.
//
// A request is joined to an equal one of the same scope and epoch only. The scope is
// that of its credentials, the epoch that of the policy, so that neither is a way
// around the other's refusal.
//
// Credentials of a source are asked for when a registry wants them, and go to the
// registry that the source comes from and to no other. The scope of a cache is the
// project of Argo CD, and the repository where its credentials are offered.
//
// The socket is there when it is served, and not before: the repo-server dials
// once, without a time-out. It goes before the server does, and who has dialled by
// then is answered.
//
// What the socket answers, [Server.Generate] answers without one: for the stock
// argocd-cmp-server, which runs a command for each request. [Handover] has a server
// that runs do it, and both give the same bytes and the same errors.
//
// Callers: the command line (ropewalk plugin argocd, and generate and parameters
// below it).
//
// # Decisions
//
// An answer that follows from the archive and the variables alone, because nothing was
// fetched for it, is remembered by the request, and found again by reading the archive
// for its checksum: 1.2 ms instead of 1.8, and eight times as many a second where many
// applications share a repository. One that needed a registry or a Git server is not:
// whether the module may still be had is asked each time.
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
// The name of the application is that of its spec only where its folder is a module
// and no document says a name. The API versions of the cluster (KUBE_API_VERSIONS) do
// not reach a module, although its context is open for them: they are some hundred
// texts that change with every definition that anybody installs, and each change
// would be another request to all caches of ours, for a module that looks at one of
// them. What a render depends on stands in the repository or in the Application: a
// module that makes an object only where a cluster knows its kind takes an input for
// that.
//
// Long evaluations are ended and begun again, and not kept waiting from the start,
// because nothing tells them from quick ones before they run. To leave a worker free
// at all times was not chosen: most servers serve one project, which would do with one
// worker less, always. What it costs: modules that need more than a second, while
// others wait, run on half of the workers, and the first second of each is lost.
//
// Parameters are texts, and a render does not ask the module for their types: that
// would put a second evaluation before each. They are read as --set reads them, so that
// a number that is meant as text stands in quotes, and is announced in them.
//
// Who hands over sends what was read while the same request was loaded, and not the
// repository: to pack that takes longer than to render most applications. It is a
// guess only in that the server must be of the same version, which is asked first;
// an error is believed only when all was sent.
//
// Discovery is not announced: it has every repository sent to every plugin, and
// twice. Users name the plugin.
//
// Metrics are written as text by this package. The Prometheus client would do
// more than is needed here, and costs every run of the command its start.
package argocd
