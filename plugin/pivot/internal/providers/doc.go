// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package providers plans which providers of Cluster API a management cluster is to have: what its
// inventory lists, beside the versions by whose definitions Ropewalk checks the objects of clusters.
// Nothing is changed: a plan is a table, or the objects of the Cluster API Operator for GitOps.
//
// Providers come in the order in which they need each other: core, bootstrap, control plane,
// infrastructure, and then all others. No plan goes back to an older version.
package providers
