// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package e2e runs a cluster for tests in which the real engines apply what
// Ropewalk renders to a real API server. Nothing is in a container and there is no
// kubelet: all of it is processes of this machine on the loopback.
//
//	etcd ── kube-apiserver ──┬── kube-controller-manager, kube-scheduler
//	        RBAC is on       ├── kwok: three nodes, whose pods are ready at once
//	                         ├── source-controller ─────── registry, Git server
//	                         ├── kustomize-controller ──── source-controller
//	                         ├── Argo CD: controller ── repo-server ── registry, Git
//	                         │   server                └── the plugin of Ropewalk
//	                         └── what a test starts, with a token of its own
//
// Shared gives the one cluster of a run, which the first test that wants it starts
// in less than ten seconds; Argo CD comes when it is asked for. Package programs
// builds what is not there yet, once on a machine, for about a quarter of an hour.
//
// Whatever a test starts by Process ends with it, and all the rest ends with the
// run, also when the test binary is killed. What programs say is in files of
// Cluster.Dir, which is removed after the run unless ROPEWALK_E2E_KEEP is set; a
// test that fails prints the end of what each said while it ran.
//
// Callers: the tests in this folder. A package of tests elsewhere in this module
// has a TestMain that calls Run, and gets a cluster of its own.
//
// # What is real, and what is not
//
// The API server, its controllers and the scheduler are those of a release, with
// their own rights and default flags. etcd does not wait for the disk. Pods are
// ready, jobs complete and claims are bound at once, by the stages that kwok comes
// with; two of ours give addresses to an Ingress and to a Service of type
// LoadBalancer. Nothing runs in a pod, and no metrics are served: an autoscaler
// has nothing to scale by, and says so.
//
// The controllers of Flux run with default flags but for addresses, under the
// service accounts and with the rights that their modules have manifests for:
// source-controller may do little, kustomize-controller is an administrator.
// Tests that want other flags have them by Flags. Argo CD is its core
// installation, with all its rights; the two programs run outside, and the
// controller takes its own configuration for that of the cluster it is in.
//
// # Decisions
//
// The cluster is shared by all tests of a run, and they keep apart by namespaces.
// One for each test was not chosen: it would take an hour. Tests that kill what
// all share, such as the API server, leave it running, and do not run in parallel.
//
// What is started for a run needs a test whose end is that of the run, which there
// is none of: type run stands in for one, so that test/servers needs no second
// form.
//
// Ports are taken from below those that the system gives to clients: one that is
// free when it is chosen may be taken a moment later by any connection otherwise,
// and a dozen programs start at once here.
//
// The module requires the project by a replace line, unlike test/argocd, for its
// client libraries are those that the project has.
package e2e
