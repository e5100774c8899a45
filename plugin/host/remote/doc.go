// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package remote connects to OCI registries for every adapter: it logs in,
// tries again, gives up in time, and says in plain words what went wrong. What
// it gives is the remote.Repository of oras-go.
//
// # Invariants
//
// Nothing is read from the environment, from the clock only how long to wait:
// proxies, paths and credentials are the caller's to say. Plain http is spoken
// only with hosts that the caller names, the loopback included, and no
// redirect leads from https to http.
//
// Whoever logs in with other credentials has another cache of tokens, so that
// nobody travels on the token of somebody else. Connections are shared between
// all who trust the same certificate authorities.
//
// No error holds a credential: errors name hosts and no URLs, and what a
// server answers is searched for the credentials that it was sent before
// anyone reads it, because some servers repeat them.
//
// A server cannot make a client wait or read for ever: answers must begin
// within a time-out and may not pause for longer than it, manifests and lists
// are bounded in size. Uploads that a server does not take are ended by the
// context alone.
//
// Callers: the command line and the adapters, for source/oci and artifact.
//
// # Decisions
//
// The retries are ours, below those who log in, and oras-go's are not used:
// they wait at random, which tests cannot count, wait 3 s when a server asks
// for 30, and do not say how often they tried. Time-outs are not tried again,
// since the user has waited long enough by then, and refused connections are
// not either: the adapter knows whether there is a later.
//
// A pull secret may not name a credential helper. Helpers are programs, and who
// may write a Secret must not choose which ones run.
//
// An authority in a Secret is trusted beside those of the system and not in
// their place, because the server that gives the tokens may be a public one.
package remote
