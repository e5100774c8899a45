// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package conformance asserts that every adapter gives identical objects, in
// the same order, for the same request. It has no code of its own, only tests:
// the cases of package cases (the examples in every environment and dialect, and
// projects of its own with secrets, values, Timoni modules and plain packages) and a
// table of ways to render them. A new adapter is one more way. go test -v prints both as one
// table.
//
// The ways run the built command, as its users do, and are compared as data:
// adapters write YAML or JSON, and mark what they made each in its own manner. What
// a way adds for itself it takes away again, and nothing else is forgiven. What a
// way cannot be asked it says.
//
// The stock way runs the commands of deploy/argocd/plugin.yaml, as argocd-cmp-server does:
// without a shell, in the folder of the application, with the request in the
// environment. That server itself is in test/argocd, and the controller of Flux, which
// needs a cluster, is asked for the same cases in test/e2e.
package conformance
