// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package network finds the calls between the workloads of a project, the destinations of their
// resources, and the requests that their routes admit.
//
// # Invariants
//
// A call is allowed if both workloads declare it; a one-sided declaration is a warning. Any
// host that a resource outputs is admitted: a policy that cuts a workload off from its
// database would be found in production. Hosts in the cluster are recognized by their
// names, and the ports of a route are read from its objects. Results are sorted.
//
// Tested by render/workload.
package network
