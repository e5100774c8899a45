// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package manifest loads the Transform of a cluster from its manifest, for a machine without a
// cluster: what the Transform names there is given as folders and manifests.
//
// # Invariants
//
// What a render needs and is not given is an error at its line; nothing is left out. Of a Secret
// a render needs the name alone, so that none is asked for.
//
// Hidden files are not part of a source, as in a cluster.
package manifest
