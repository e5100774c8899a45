// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package snapshot describes the objects of a cluster apart from their plane: canonical JSON without
// the fields that a server or a controller fills in (resourceVersion, UIDs, status, managedFields),
// in an order in which owners come first, with a digest for each object and a digest for all.
//
// A snapshot crosses the link, and is staged, in chunks of at most ChunkSize, each with its
// SHA-256. Objects stay bytes all the way, so that the decoded maps take no memory.
package snapshot
