// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/ropewalk/ropewalk/render/object"
)

// differences returns the paths that differ between a live object and a render.
func differences(t *testing.T, live, rendered string) []string {
	t.Helper()
	parse := func(text string) object.Object {
		data, err := yaml.YAMLToJSON([]byte(text))
		require.NoError(t, err)
		out, err := object.Decode(data)
		require.NoError(t, err)
		return out
	}
	was, is := parse(live), parse(rendered)
	report, err := Compare(t.Context(), Snapshot{Rendered: true, Items: []Item{{Object: Owned(was, is)}}}, Snapshot{Rendered: true, Items: []Item{{Object: is}}})
	require.NoError(t, err)
	out := []string{}
	for _, c := range report.Changes {
		require.NotEqual(t, Created, c.Kind)
		for _, f := range c.Fields {
			out = append(out, f.Path)
		}
	}
	return out
}

func TestALiveObjectDiffersInWhatTheRenderSets(t *testing.T) {
	const live = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: api
  namespace: shop
  uid: 1
  generation: 4
  labels: {app: api, team: others}
  annotations: {deployment.kubernetes.io/revision: "3"}
spec:
  replicas: 5
  progressDeadlineSeconds: 600
  template:
    metadata: {labels: {app: api}}
    spec:
      dnsPolicy: ClusterFirst
      containers:
      - {name: proxy, image: "mesh:1"}
      - name: api
        image: "api:1"
        imagePullPolicy: Always
        args: [serve, --debug]
        env: [{name: ADDED, value: x}, {name: LEVEL, value: info}, {name: EMPTY}]
        ports: [{containerPort: 80, protocol: TCP}]
        resources: {limits: {cpu: "1"}}
      volumes: [{name: token, projected: {}}, {name: cache, hostPath: {path: /}}]
status: {replicas: 5}
`
	rendered := func(replicas, arguments, volume string) string {
		return `
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, labels: {app: api}, annotations: {}, creationTimestamp: null}
spec:
  replicas: ` + replicas + `
  paused: false
  template:
    metadata: {labels: {app: api}}
    spec:
      nodeSelector: {}
      containers:
      - name: api
        image: "api:1"
        args: ` + arguments + `
        env: [{name: LEVEL, value: info}, {name: EMPTY, value: ""}]
        ports: [{containerPort: 80}]
        resources: {limits: {cpu: 1000m}}
      volumes: [{name: cache, ` + volume + `}]
status: {}
`
	}
	require.Empty(t, differences(t, live, rendered("5", "[serve, --debug]", "hostPath: {path: /}")))
	require.Equal(t, []string{"spec.replicas", "spec.template.spec.containers[api].args[1]"}, differences(t, live, rendered("2", "[serve]", "hostPath: {path: /}")))
	require.Equal(t, []string{"spec.template.spec.volumes[cache].emptyDir"}, differences(t, live, rendered("5", "[serve, --debug]", "emptyDir: {}")), "an empty map can be a choice")
}

func TestAListWithOneOwnerDiffersByAnEntryTooMany(t *testing.T) {
	const head = `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a}, subjects: [{kind: User, name: ann}]}`
	require.Equal(t, []string{"subjects[eve]"}, differences(t,
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a}, subjects: [{kind: User, name: eve}, {kind: User, name: ann, apiGroup: rbac.authorization.k8s.io}]}`, head))
	require.Empty(t, differences(t,
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: a}, subjects: [{kind: User, name: ann, apiGroup: rbac.authorization.k8s.io}]}`, head))
}

func TestOfALiveSecretOnlyTheMetadataIsCompared(t *testing.T) {
	require.Equal(t, []string{"metadata.labels.app"}, differences(t,
		`{apiVersion: v1, kind: Secret, metadata: {name: a, labels: {app: b}}}`,
		`{apiVersion: v1, kind: Secret, metadata: {name: a, labels: {app: a}}, type: Opaque, stringData: {key: value}}`))
}
