// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"
)

// gitRepository applies a GitRepository of Flux for the branch main, which looks for
// commits when it is told to.
func (c *Cluster) gitRepository(t testing.TB, namespace, name, url string) {
	t.Helper()
	c.Apply(t, fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: %s, namespace: %s}
spec: {url: %q, ref: {branch: main}, interval: 1h}
`, name, namespace, url))
}

// fetch tells a GitRepository that there is a commit.
func (c *Cluster) fetch(t testing.TB, namespace, name, hash string) {
	t.Helper()
	c.Kubectl(t, "annotate", "-n", namespace, "gitrepository", name, "reconcile.fluxcd.io/requestedAt="+hash, "--overwrite")
}

// appOf applies the Transform called app of the project in a GitRepository called app.
func (n *tenant) appOf(url string) {
	n.t.Helper()
	n.gitRepository(n.t, n.namespace, "app", url)
	n.Apply(n.t, fmt.Sprintf(`
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: app, namespace: %[1]s}
spec:
  sourceRef: {kind: GitRepository, name: app, path: app}
  output: {oci: {repository: "oci://%[2]s/%[1]s/app", insecure: true}}
`, n.namespace, n.Registry))
}
