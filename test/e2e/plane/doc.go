// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package plane runs the control plane of Kubernetes as processes of this machine on the
// loopback: etcd, an API server with RBAC, and, where it is wanted, the controller manager; and
// Argo CD, where a test wants it.
// It has what that takes: processes that end with the test binary, an authority that signs
// certificates, and ports.
//
// Callers: package e2e, which makes a whole cluster of it, and test/pivot, which makes two
// management clusters of it. They say by a Launch how a program is found and where its log
// is.
package plane
