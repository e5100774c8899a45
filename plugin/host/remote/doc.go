// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package remote connects to OCI registries for every adapter: it logs in, retries,
// limits times and sizes, and explains errors. It returns the remote.Repository of
// oras-go.
//
// # Invariants
//
// Nothing is read from the environment: proxies, paths and credentials are options.
// Plain http is used only with the hosts that the caller names, the loopback
// included, and no redirect leads from https to http.
//
// Each set of credentials for a host has its own cache of tokens and its own connections;
// an authority in a Secret is trusted beside those of the system.
//
// Errors hold no credentials: they name hosts and no URLs, and the credentials of a
// request are removed from error responses.
//
// A response must begin within a time-out and may not stall for longer than it;
// manifests and lists are bounded in size. Uploads are ended by the context alone.
//
// Responses 408, 429, 500 and 502 to 504 and broken connections are retried by
// oras-go's transport; time-outs and refused connections are not. A Retry-After
// beyond the limit, or beyond the deadline of the caller, ends the retries.
//
// A pull secret may not name a credential helper: helpers are programs, and write
// access to a Secret must not be enough to choose one.
package remote
