// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package cache keeps what was fetched or computed on disk. A [Store] holds
// entries by kind and key for many processes at once; a [Fetcher] is a
// source.Resolver that asks the store before it asks the one behind it; a
// [Memory] is a small store of values in front of either.
//
// Invariants:
//
//   - An entry is there as a whole or not at all. It is written under a
//     temporary name, synced and renamed, so that a process may die at any
//     point and no reader ever sees a half.
//   - Every read verifies the SHA-256 of the content, and the kind and the key
//     that are written beside it. An entry that does not match is removed and
//     counts as a miss.
//   - A hit is never an authorisation. The scope of the tenant's credentials and
//     the name of the Secret are part of every key of a Fetcher, and a reference
//     with a Secret costs one question to its server also where the tree is
//     there: a mutable one is resolved anew, an immutable one is checked
//     ([Checker]). An immutable reference without a Secret asks nobody.
//   - A tree that nobody verified never answers a request that wants it verified:
//     the signature that is asked for, with the keys, is part of the key too.
//   - The store never makes a fetch fail. A full disk or a directory that
//     cannot be written costs time, is counted, and is reported to a function.
//   - Where a mutable reference led is believed for a time (TTL) and then asked
//     again; when the server does not answer, the old answer is not used
//     silently.
//
// The directory is trusted as the home of its user is: whoever may write into
// it can forge an entry, digest and all. It is made with mode 0700.
//
// Packages below source read no clock by custom; this one is at the edge and
// has to, for the last use of an entry and the age of a resolution. Now of
// [StoreOptions] takes its place in tests.
//
// Callers: plugin/host wraps the fetchers of Git, OCI and Flux in a Fetcher and
// keeps renders in a Store and a Memory of its own; the command line lists,
// prunes and verifies a Store; source/git finds trees by their Git id.
//
// # Layout
//
// An entry is DIR/KIND/NAME.entry, where NAME is the SHA-256 of kind and key;
// its first line is a header with digest, size, kind and key, so that a listing
// can say what it is, and the rest is the content. DIR/tmp holds what is being
// written, each file locked by its writer (flock), which tells those that were
// left behind by a killed process from those in use; every write clears the
// former. DIR/lock is held while entries are counted and evicted, and its text
// is the number of bytes of all entries.
//
// A tree is two entries: its canonical tar under its digest, and a pointer from
// the reference to that digest. A hundred commits that leave a module as it was
// are a hundred pointers to one tar.
//
// # Decisions
//
// The question to the server was chosen over a scope or a hash made of the
// credentials: nothing that comes from a secret value is written down, whoever
// loses access loses it at once, and what two users with good credentials get is
// kept once. Only an offline fetch asks nobody: it is for whoever may read the
// directory.
//
// Plain files and a number, not an index in a database: the file system is the
// index, nothing has to be repaired after a crash, and a user can look and
// delete. The number may be too high (a process died between counting and
// renaming, an entry was replaced), never too low for long; passing the limit
// leads to a full scan, which corrects it.
//
// The last use of an entry is its time of modification, touched at most once a
// minute. The time of access was not chosen: most mounts do not keep it.
//
// Content is not compressed: trees are small, a hit is to cost microseconds,
// and the digest of the content is that of the tree.
//
// Fetches that several callers share are flights (package flight below this one),
// which end when the last caller has left, and which that one waits for: what a
// fetch has started, such as git, must not outlive a command.
package cache
