// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package service renders for the tenants of a process: it bounds how many evaluations run at
// once and how much memory renders take, both shared fairly, and keeps what was evaluated and
// rendered.
//
// A render is one [Session]: open it for the tenant, load and render by it, and close it. The
// command and the KRM function render for one user and once, and call host and render
// themselves.
package service
