// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package cache keeps what was fetched or computed on disk. A [Store] holds
// entries by kind and key for many processes at once; a [Fetcher] is a
// source.Resolver that reads the store before it asks the resolver behind it.
//
// # Invariants
//
//   - An entry is there completely or not at all: it is written under a temporary
//     name, synced and renamed.
//   - Every read verifies the SHA-256 of the content, and the kind and the key
//     that are written beside it. An entry that does not match is removed and
//     counts as a miss.
//   - A hit is never an authorisation. The scope of the tenant's credentials and
//     the name of the Secret are part of every key of a Fetcher, and a reference
//     with a Secret costs one request to its server even if the tree is cached: a
//     mutable one is resolved again, an immutable one is checked ([Checker]).
//     Immutable references without a Secret, and offline fetches, ask no server.
//   - An unverified tree never answers a request for a verified one: the signature
//     that is required, with its keys, is part of the key too.
//   - The store never makes a fetch fail. A full disk or a directory without write
//     access costs time, is counted, and is reported to a function.
//   - The resolution of a mutable reference is trusted for a time (TTL) and then
//     requested again; if the server does not answer, the old resolution is not used silently.
//
// An entry is DIR/KIND/NAME.entry, where NAME is the SHA-256 of kind and key; its
// first line is a header with digest, size, kind and key, and the rest is the
// content. DIR/tmp holds what is being written; files older than an hour there
// were left by killed processes. The last use of an entry is its time of
// modification, updated at most once a minute. A tree is two entries: its
// canonical tar under its digest, and a pointer from the reference to that digest.
//
// The directory is trusted like the home of its user: write access to it is enough
// to forge an entry, digest and all. It is made with mode 0700.
package cache
