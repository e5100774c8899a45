// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/spec"
)

// wantRequest is schema.#Requests with every field that can be there.
const wantRequest = `{
 "config": {
  "domain": "example.com"
 },
 "resources": {
  "api": {
   "params": {},
   "provisioner": 4,
   "resource": {
    "class": "default",
    "id": "web-api",
    "metadata": {
     "note": "n"
    },
    "name": "api",
    "namespace": "front",
    "ports": {
     "http": {
      "port": 80,
      "protocol": "TCP",
      "target": 8080
     }
    },
    "secrets": "external-secrets",
    "shared": false,
    "store": {
     "kind": "ClusterSecretStore",
     "name": "default",
     "refreshInterval": "1h"
    },
    "target": {
     "known": true,
     "name": "api",
     "namespace": "prod",
     "ports": {
      "http": {
       "port": 81,
       "protocol": "TCP",
       "target": 81
      },
      "udp": {
       "port": 53,
       "protocol": "UDP",
       "target": 53
      }
     }
    },
    "type": "service",
    "uid": "service.default#web.api",
    "workload": "web"
   }
  }
 }
}`

func TestConfigAndTargetReachTheProvisioner(t *testing.T) {
	config := testConfig()
	value, err := spec.ParseValue(spec.File{Name: "project.yaml", Data: []byte("domain: example.com\n")})
	require.NoError(t, err)
	config.Config = value
	p, errs := Join(sources(t, `
metadata: {name: web, namespace: front}
service: {ports: {http: {port: 80, targetPort: 8080}}}
resources:
  api: {type: service, metadata: {note: n}}
`, `
metadata: {name: api}
service: {ports: {http: {port: 81}, udp: {port: 53, protocol: UDP}}}
`), config, testCatalog())
	require.NoError(t, errs.Err())
	requests := p.Compile("web").Next()
	require.Len(t, requests, 1)
	require.Equal(t, wantRequest, pretty(t, requests[0].Input))
	require.Equal(t, "front", requests[0].Context.Namespace)
}
