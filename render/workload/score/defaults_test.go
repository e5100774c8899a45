// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

const project = `
apiVersion: ropewalk.dev/v1alpha1
kind: Project
metadata: {name: shop}
spec:
  workloads:
    defaults:
      labels: {team: shop}
      replicas: 2
      deploy: {strategy: canary}
      container:
        resources: {requests: {cpu: 1, ephemeral-storage: 1Gi, nvidia.com/gpu: 1}}
        livenessProbe: {tcpSocket: {port: 8080}, periodSeconds: 5}
        lifecycle: {preStop: {sleep: {seconds: 5}}}
  environments:
    none: {workloads: {defaults: null}}
    prod: {workloads: {defaults: {replicas: null, container: {livenessProbe: {exec: {command: [check]}}}}}}
`

func TestDefaultsAreBelowWhatADocumentWrites(t *testing.T) {
	for name, c := range map[string]struct{ environment, document, want string }{
		"a Workload": {"", `
apiVersion: ropewalk.dev/v1alpha1
kind: Workload
metadata: {name: api}
spec: {labels: {team: own}, containers: {a: {image: x, resources: {requests: {cpu: 2}}}}}
`, `{"apiVersion":"ropewalk.dev/v1alpha1","kind":"Workload","metadata":{"labels":{"team":"shop"},"name":"api"},"spec":{"containers":{"a":{"image":"x",` +
			`"lifecycle":{"preStop":{"sleep":{"seconds":5}}},"livenessProbe":{"periodSeconds":5,"tcpSocket":{"port":8080}},"resources":{"requests":{"cpu":2,"ephemeral-storage":"1Gi","nvidia.com/gpu":1}}}},` +
			`"deploy":{"strategy":"canary"},"labels":{"team":"own"},"replicas":2}}`},
		"a Score file": {"", `
apiVersion: score.dev/v1b1
metadata: {name: api}
containers: {web: {image: x, livenessProbe: {httpGet: {path: /, port: 80}}}}
`, `{"apiVersion":"score.dev/v1b1","containers":{"web":{"image":"x","livenessProbe":{"httpGet":{"path":"/","port":80}},"resources":{"requests":{"cpu":"1"}}}},` +
			`"metadata":{"containers":{"web":{"lifecycle":{"preStop":{"sleep":{"seconds":5}}},"livenessProbe":{"periodSeconds":5},"resources":{"requests":{"ephemeral-storage":"1Gi","nvidia.com/gpu":"1"}}}},` +
			`"deploy":{"strategy":"canary"},"labels":{"team":"shop"},"name":"api","replicas":2}}`},
		"a Workload that takes defaults away": {"", `
apiVersion: ropewalk.dev/v1alpha1
kind: Workload
metadata: {name: api}
spec: {labels: null, deploy: null, containers: {a: {image: x, livenessProbe: null, lifecycle: null, resources: null}}}
`, `{"apiVersion":"ropewalk.dev/v1alpha1","kind":"Workload","metadata":{"name":"api"},"spec":{"containers":{"a":{"image":"x",` +
			`"lifecycle":null,"livenessProbe":null,"resources":null}},"deploy":null,"labels":null,"replicas":2}}`},
		"an environment that takes all away": {"none", `
apiVersion: ropewalk.dev/v1alpha1
kind: Workload
metadata: {name: api}
spec: {containers: {a: {image: x}}}
`, `{"apiVersion":"ropewalk.dev/v1alpha1","kind":"Workload","metadata":{"name":"api"},"spec":{"containers":{"a":{"image":"x"}}}}`},
		"an environment, and a kind without replicas": {"prod", `
apiVersion: ropewalk.dev/v1alpha1
kind: Workload
metadata: {name: api}
spec: {kind: KnativeService, containers: {a: {image: x}}}
`, `{"apiVersion":"ropewalk.dev/v1alpha1","kind":"Workload","metadata":{"labels":{"team":"shop"},"name":"api"},"spec":{"containers":{"a":{"image":"x",` +
			`"livenessProbe":{"exec":{"command":["check"]},"periodSeconds":5},"resources":{"requests":{"cpu":1,"ephemeral-storage":"1Gi","nvidia.com/gpu":1}}}},"kind":"KnativeService"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			docs, err := spec.Parse([]spec.File{{Name: spec.ProjectFile, Data: []byte(project)}, {Name: "w.yaml", Data: []byte(c.document)}})
			require.NoError(t, err)
			d, errs := score.ReadDefaults(docs.Projects[0], c.environment)
			require.Empty(t, errs)
			w := docs.Workloads[0]
			under := d.Under(w.Value, w.Score)
			require.Equal(t, c.want, string(under.JSON()))
			require.Equal(t, w.Value.Pos, under.Pos)
			require.Equal(t, w.Value.NearestPos(object.Fields("metadata")), under.NearestPos(object.Fields("metadata")))
			_, errs = score.Decode(score.Document{Value: under, Blocks: w.Blocks, Last: w.Last, Score: w.Score})
			require.Empty(t, errs)
		})
	}
}

// The default of a queue is one of the workloads that have such a queue: what they write wins, and
// their server takes the place of the default's.
func TestTheDefaultOfAQueueIsOneOfWorkloadsWithAQueue(t *testing.T) {
	const defaults = "\napiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec:\n  workloads: {defaults: {replicas: {queue: {address: \"v.valkey:6379\", length: 7, database: 2}}}}\n"
	for own, want := range map[string]string{
		"{max: 4, queue: {name: jobs}}":                      `{"max":4,"queue":{"address":"v.valkey:6379","database":2,"length":7,"name":"jobs"}}`,
		"{max: 4, queue: {name: jobs, type: redis}}":         `{"max":4,"queue":{"address":"v.valkey:6379","database":2,"length":7,"name":"jobs","type":"redis"}}`,
		"{max: 4, queue: {name: jobs, resource: a}}":         `{"max":4,"queue":{"database":2,"length":7,"name":"jobs","resource":"a"}}`,
		"{max: 4, queue: {name: jobs, length: 1}}":           `{"max":4,"queue":{"address":"v.valkey:6379","database":2,"length":1,"name":"jobs"}}`,
		"{max: 4, queue: {name: j, type: sqs, region: r}}":   `{"max":4,"queue":{"name":"j","region":"r","type":"sqs"}}`,
		"{max: 4, cron: [{start: a, end: b, replicas: 1}]}":  `{"max":4,"cron":[{"start":"a","end":"b","replicas":1}]}`,
		"{max: 4, queue: null, http: {rate: 1, hosts: [a]}}": `{"max":4,"queue":null,"http":{"rate":1,"hosts":["a"]}}`,
		"3": `3`,
	} {
		docs, err := spec.Parse([]spec.File{{Name: "ropewalk.yaml", Data: []byte(defaults)}})
		require.NoError(t, err)
		d, errs := score.ReadDefaults(docs.Projects[0], "")
		require.Empty(t, errs)
		manifests, err := spec.ParseManifests(spec.File{Name: "w.yaml", Data: []byte("metadata: {name: api}\nspec: {replicas: " + own + "}\n")}, spec.MaxFile)
		require.NoError(t, err)
		under := d.Under(manifests[0].Value, false)
		replicas, _ := under.Lookup(object.Fields("spec", "replicas"))
		require.JSONEq(t, want, string(replicas.JSON()), own)
	}
	without := saidOfReplicas(t, "queue: {group: g}")
	require.Contains(t, without, "a queue of type redis has no group")
	require.Empty(t, saidOfReplicas(t, "queue: {type: kafka, sasl: plaintext}"), "what is missing is in the workloads")
}

// saidOfReplicas returns what is said about defaults of replicas.
func saidOfReplicas(t *testing.T, replicas string) string {
	t.Helper()
	docs, err := spec.Parse([]spec.File{{Name: "ropewalk.yaml", Data: []byte("apiVersion: ropewalk.dev/v1alpha1\nkind: Project\nmetadata: {name: shop}\nspec:\n  workloads: {defaults: {replicas: {" + replicas + "}}}\n")}})
	require.NoError(t, err)
	_, errs := score.ReadDefaults(docs.Projects[0], "")
	return said(errs)
}
