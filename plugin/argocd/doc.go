// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package argocd is the Argo CD adapter: a server of the plugin protocol on a
// socket of the repo-server, and of health and metrics over HTTP. An Application
// with plugin: {name: ropewalk} is rendered as ropewalk render --dialect argocd
// renders its path.
//
//	stream -> unpack -> Load (plugin/host) -> render -> manifests
//
// # Invariants
//
// Nothing is rendered before the whole archive is there and its checksum is right. A render never
// depends on the revision, and its references are locked: Argo CD keeps manifests for a day, under
// a key that knows nothing of what is fetched, and uses the manifests of one revision for another.
//
// A render without objects is an error, because with pruning it deletes the
// application, unless the request allows it. An error is at most 4 KiB, the user's
// file and line first, without credentials. Transient failures are retried within
// the deadline. Warnings go to Options.Report, once for each application and text.
//
// The parameters of an application are a form: what is wrong with the application
// fails its render, and never its form.
//
// Two limiters bound the work (internal/limiter): one the requests that are unpacked
// and rendered, one their evaluations. A tenant, an Argo CD project, holds at most
// half of the slots of either once another tenant sends requests. A request keeps its
// slot while it fetches; fetches, evaluations and requests have deadlines.
//
// A request joins an equal request only if both have the same scope, which stands for the
// credentials, and the same epoch, which stands for the policy. Finished renders are cached by
// plugin/host/rendercache, and evaluations by render/evaluate/resultcache, before their limiter:
// what is cached needs no slot. Credentials of a source are requested when a registry wants them,
// and go to the registry that the source comes from and to no other.
//
// The socket is there when it is served, and not before: the repo-server dials
// once, without a time-out. It is removed before the server ends, and clients that
// have dialled by then are answered.
//
// [Server.Generate] and [Server.Parameters] do the same without a socket, for the
// stock argocd-cmp-server, which runs a command for each request.
package argocd
