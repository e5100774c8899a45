// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package network knows which workloads of a project talk to which, what their resources
// lead to, and what their routes let in.
//
// # Invariants
//
// A call is allowed where both workloads declare it; what only one declares is a warning. Any
// host that a resource outputs is let through: a policy that cuts a workload off from its
// database would be found in production. Hosts in the cluster are told from others by their
// names, and what a route opens is read from its objects. Results are sorted.
//
// Tested by render/workload.
package network
