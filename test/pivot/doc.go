// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package pivot proves the move of a Cluster from one management cluster to another on
// real Cluster API. Nothing is in a container: all of it is processes of this machine on
// the loopback.
//
//	plane A: etcd ── kube-apiserver ──┬── garbage collector, namespaces
//	                                  ├── Cluster API core, kubeadm bootstrap, kubeadm control plane ──┐
//	                                  ├── capi-cloud: DevCluster, DevMachine ── machines in memory ── API servers
//	plane B: the same, with programs  ├── (the one cloud of all planes)                                of Clusters
//	of its own                        │
//	                                  └── the auditor, and ropewalk pivot, whose requests may go
//	                                      through a proxy that injects faults
//
// A hierarchy has a plane C, which is as B is.
//
// In the tests of the link the controller of the parent and the agent of the child are
// processes of the command in a network namespace each, with a wire between them:
//
//	parent (plane A) ── namespace ── wire, load balancer ── namespace ── agent (plane B)
//
// Package harness starts the planes and makes Clusters, package audit observes that the
// invariants of a move hold, and package faults is the proxy. Package network has namespaces
// and wires, and package skew moves the clock of a process. The programs are built by package
// programs of test/e2e, once on a machine.
//
// Callers: make pivot runs all tests, and make e2e those that fit.
//
// # What is real, and what is not
//
// The API servers, the garbage collector and all controllers of Cluster API are those of
// their releases, but that versions of definitions that are not stored are not served, for
// nothing converts them. The machines of the cloud are objects in memory; it outlives the
// planes, so that a machine that is made again shows by its time of creation. Nodes and API
// servers of a Cluster are answers of the cloud: no kubelet runs, and no bootstrap data is
// executed.
package pivot
