// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const laptop = `apiVersion: score.dev/v1b1
metadata: {name: api}
containers: {web: {image: ghcr.io/acme/api:1.2.3, variables: {DB: "${resources.db.connection_string}"}}}
resources:
  db: {type: postgres, class: local, params: {size: 2Gi}}
  sql: {type: mysql, class: local}
  documents: {type: mongodb, class: local}
  cache: {type: redis, class: local}
  jobs: {type: amqp, class: local, params: {vhost: jobs}}
  files: {type: s3, class: local}
`

// TestAnAPIServerTakesServersForALaptop applies the servers of class local. Their
// containers are not started: pods are ready and claims are bound by kwok.
func TestAnAPIServerTakesServersForALaptop(t *testing.T) {
	c := Shared(t)
	namespace, dir := c.Namespace(t), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "api.yaml"), []byte(laptop), 0o600))
	manifests := filepath.Join(t.TempDir(), "manifests.yaml")
	require.NoError(t, os.WriteFile(manifests, []byte(c.Ropewalk(t, "render", filepath.Join(dir, "api.yaml"), "--namespace", namespace, "--strict")), 0o600))
	c.Kubectl(t, "apply", "--server-side", "--validate=strict", "-f", manifests)

	var policies networkingv1.NetworkPolicyList
	require.NoError(t, c.Client.List(t.Context(), &policies, client.InNamespace(namespace)))
	require.Len(t, policies.Items, 6)
	c.Await(t, time.Minute, "the servers are ready", func() bool {
		var servers appsv1.StatefulSetList
		require.NoError(t, c.Client.List(t.Context(), &servers, client.InNamespace(namespace)))
		ready := 0
		for _, s := range servers.Items {
			ready += int(s.Status.ReadyReplicas)
		}
		return ready == 6
	})
}
