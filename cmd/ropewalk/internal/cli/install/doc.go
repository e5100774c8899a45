// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package install has the commands that write the manifests by which Ropewalk is installed beside
// an engine. They apply nothing.
package install
