// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package wire is the language of Argo CD's sockets: that of plugins, and that
// by which a plugin asks for credentials. Its .proto files are written from what
// goes over the wire; make generate makes the rest.
//
// # Invariants
//
// Names of services and methods, numbers and types of fields are those of Argo
// CD; all other names are ours. A field that is not known is skipped, so that a
// newer repo-server is understood.
//
// Nothing happens before main: [Register] must have been called before the first
// message is made.
//
// Callers: plugin/argocd.
//
// # Decisions
//
// Argo CD's own Go packages were not imported: they bring some hundred others
// along. Generated code registers its messages in an init function; that is taken
// out, because it costs every run of the command and serves only this adapter.
package wire
