// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package snapshot is what one cluster's objects are, apart from the plane that they are on:
// canonical JSON without what a server or a controller fills in (resourceVersion, UIDs,
// status, managedFields), in an order in which owners come first, with a digest for each
// object and one for all of them.
//
// A snapshot crosses the link, and is staged, in chunks of at most ChunkSize, each with its
// SHA-256. Objects stay bytes all the way, so that the decoded maps take no memory.
package snapshot
