// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package plane reads and writes one management plane: an API server that serves Cluster
// API, as objects without Go types.
//
// A Ref names an object in any version. Kinds come from the server's CustomResourceDefinitions:
// the kinds, the versions that are served, and their labels. No version and no provider is written
// down here.
//
// Every request is repeated while the server does not answer, or answers 429 or 5xx, until
// Options.Patience is over; 4xx are returned at once. Update reads again after a conflict.
// All writes can be repeated, as a request whose answer was lost may have been handled.
package plane
