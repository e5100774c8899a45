// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package wire is the protocol of Argo CD's sockets: of the socket of a plugin, and of the socket
// by which a plugin requests credentials. Its .proto files are written from the wire format; make
// generate makes the rest.
//
// # Invariants
//
// Names of services and methods, numbers and types of fields come from Argo CD; all other names are
// ours. An unknown field is skipped, so that a newer repo-server is understood.
//
// Nothing happens before main: [Register] must have been called before the first
// message is made.
//
// Tested by plugin/argocd.
package wire
