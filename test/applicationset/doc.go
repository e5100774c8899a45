// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package applicationset generates Applications by the generators and templates of Argo CD itself,
// and holds the goldens of plugin/host/gitops against them. It has no code of its own, only tests.
//
//	testdata/applicationsets/sets.yaml ── Argo CD, here ──────────── applications.yaml
//	                                   └─ the front end, in its tests ─┘
//
// # Decisions
//
// The package is a module of its own, because the generators link the clients of all hosters of
// Git, and apart from test/argocd, whose repo-server needs none of them. The front end has no
// command that prints an Application, and cannot be linked beside another version of Kubernetes:
// the two meet in a file. The go.mod began as that of test/argocd, which has the same Argo CD.
package applicationset
