// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
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
    "users": [
     {
      "name": "web",
      "namespace": "front"
     }
    ],
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

func TestAProvisionerSeesAllWorkloadsThatShareAResource(t *testing.T) {
	p, errs := Join(sources(t,
		"metadata: {name: worker, namespace: batch}\nresources: {jobs: {type: postgres, id: orders}}\n",
		"metadata: {name: api}\nresources: {db: {type: postgres, id: orders}, own: {type: postgres}}\n",
		"metadata: {name: other}\nresources: {db: {type: postgres}}\n",
	), testConfig(), testCatalog())
	require.NoError(t, errs.Err())
	users := map[string]string{}
	for _, name := range []string{"api", "other", "worker"} {
		for _, r := range p.Compile(name).Next() {
			resources, _ := r.Input.Get("resources")
			for _, m := range resources.Members {
				v, _ := m.Value.Lookup(object.Fields("resource", "users"))
				users[name+"/"+m.Name] = string(v.JSON())
			}
		}
	}
	require.Equal(t, map[string]string{
		"api/db":   `[{"name":"api","namespace":"prod"},{"name":"worker","namespace":"batch"}]`,
		"api/own":  `[{"name":"api","namespace":"prod"}]`,
		"other/db": `[{"name":"other","namespace":"prod"}]`,
		// Whoever asks first has the answer for all.
		"worker/db": `[{"name":"api","namespace":"prod"},{"name":"worker","namespace":"batch"}]`,
	}, users)
}

func TestARequestGoesOnWithoutTheResourcesThatErrorsAreAbout(t *testing.T) {
	doc := "metadata: {name: api}\nresources:\n  db: {type: postgres}\n  db-two: {type: postgres}\n"
	path := func(p string) object.Errors { return object.Errors{{Path: p, Err: errors.New("wrong")}} }
	for name, c := range map[string]struct {
		doc, path string
		left      []string
	}{
		"a field of one":                       {doc, "resources.db.params.size", []string{"db-two"}},
		"one as a whole":                       {doc, "resources.db-two", []string{"db"}},
		"an item":                              {doc, "resources.db[0]", []string{"db-two"}},
		"something else":                       {doc, "config.domain", nil},
		"no place":                             {doc, "", nil},
		"the path of a document of ours":       {"apiVersion: ropewalk.dev/v1alpha1\nkind: Workload\nmetadata: {name: api}\nspec:\n  containers: {web: {image: nginx}}\n  resources: {db: {type: postgres}, db-two: {type: postgres}}\n", "spec.resources.db.params", []string{"db-two"}},
		"the path of another kind of document": {doc, "spec.resources.db.params", nil},
	} {
		t.Run(name, func(t *testing.T) {
			all := join(t, c.doc).Compile("api").Next()[0]
			less := all.Without(path(c.path))
			require.Equal(t, c.left, less.Resources)
			require.Equal(t, []string{"db", "db-two"}, all.Resources)
			resources, _ := all.Input.Get("resources")
			require.Len(t, resources.Members, 2)
			if c.left != nil {
				left, _ := less.Input.Get("resources")
				require.Len(t, left.Members, 1)
				require.Equal(t, c.left[0], left.Members[0].Name)
			}
		})
	}
}
