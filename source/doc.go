// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package source gets module trees from where teams keep them. A [Tree] is
// regular files in memory with a digest; a [Fetcher] gets one for a reference.
// Each backend is a sibling package, and a cache decorates a fetcher.
//
// Trees never hold symlinks, devices or paths that leave their root, and are
// bounded in size and count, whatever backend they come from.
//
// The package knows nothing of rendering: source and render meet as fs.FS and
// digests in plugin/host.
package source
