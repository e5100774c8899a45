// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package upgrade has the command that finds newer versions of the modules, charts and artifacts
// of a project: what a version asks of its users, what it does to the render, and the edit that
// names it.
package upgrade
