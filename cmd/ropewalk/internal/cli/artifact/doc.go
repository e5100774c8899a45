// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package artifact has the commands that work on artifacts in registries and layouts:
// build, which renders and pushes, deploy, which writes what engines apply, and artifact,
// which pushes, pulls, copies, signs,
// verifies, inspects and prunes.
package artifact
