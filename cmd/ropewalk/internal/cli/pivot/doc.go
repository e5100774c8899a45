// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package pivot has the commands that move the Cluster API objects of a cluster from one
// management cluster to another: plan, run, status, abort and takeover; and install, by which a
// bootstrap cluster makes the first one.
package pivot
