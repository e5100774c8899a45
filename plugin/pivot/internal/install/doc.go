// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package install makes the first management cluster by a bootstrap cluster.
//
//	check ── PivotCluster, ClusterResourceSet ── controller: provision, pivot ── follow
//
// A bootstrap cluster is thrown away, and often runs where a new cluster cannot call it. So
// there is neither a token nor a link: a ClusterResourceSet installs the controller on the new
// cluster, and the controller of the bootstrap cluster reaches it by the kubeconfig that Cluster
// API makes (plugin/pivot/controller, install.go). This package applies what that needs, and
// waits for the end.
//
// # Invariants
//
// The truth is in the bootstrap cluster: a run that ends early loses nothing, and another one
// goes on. Nothing is applied where something is missing, and all that is missing is reported at
// once. The ClusterResourceSet is applied until the cluster has been reached, and never after:
// it must not move with the cluster. A kubeconfig is passed to the caller, and printed nowhere.
package install
