// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// three is a module with three ConfigMaps, of which one says what becomes of it where it
// is there already.
const three = `package m

ropewalk: apiVersion: "v1alpha1"
#Input: {own: "Never" | "TakeOwnership" | "Mirror", text: string | *"ours"}
input: #Input
context: {name: string, namespace: string, ...}
_names: ["a", "b", "c"]
graph: nodes: {for n in _names {(n): object: {
	apiVersion: "v1", kind: "ConfigMap"
	metadata: {name: n, namespace: context.namespace}
	data: text: input.text
}}}
graph: nodes: a: apply: adopt: input.own
`

// adopting applies a Transform of three: own is what a says, and adopt what the spec says.
func (n *tenant) adopting(own, adopt string) {
	n.t.Helper()
	n.Apply(n.t, fmt.Sprintf(`
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: web, namespace: %s}
spec:
  output: {oci: {repository: "oci://%s/%s/web", insecure: true}}
  cueRef:
    type: inline
    ref: |
      %s
  input: {own: %s}
  adopt: %s
`, n.namespace, n.Registry, n.namespace, indented(three, 6), own, adopt))
}

// theirs makes ConfigMaps of somebody else.
func (n *tenant) theirs(names ...string) {
	n.t.Helper()
	for _, name := range names {
		n.Kubectl(n.t, "create", "configmap", name, "-n", n.namespace, "--from-literal=text=theirs")
	}
}

// says is what a ConfigMap says.
func (n *tenant) says(name string) string {
	n.t.Helper()
	return n.Kubectl(n.t, "get", "configmap", name, "-n", n.namespace, "-o", "jsonpath={.data.text}")
}

func TestANodeIsTakenAlone(t *testing.T) {
	n := newTenant(t)
	n.theirs("a", "b")
	n.adopting("TakeOwnership", "Never")
	no := n.stalled("web")
	require.Equal(t, v1alpha1.ForeignObjectsReason, no.Reason)
	require.Contains(t, no.Message, "already in the cluster with another owner, and adopt is Never: ConfigMap "+n.namespace+"/b;")
	require.Len(t, n.get("web").Status.Nodes, 1, "a may be taken, and c is not there")
	require.Equal(t, "b", n.get("web").Status.Nodes[0].ID[len("web/"):])
	require.Empty(t, n.kustomizations("web"))
	require.Equal(t, "theirs", n.says("a"))

	n.Kubectl(t, "delete", "configmap", "b", "-n", n.namespace)
	n.ready("web") // Nothing but time tells it.
	for _, name := range []string{"a", "b", "c"} {
		require.Equal(t, "ours", n.says(name))
	}
}

func TestANodeIsRefusedAlone(t *testing.T) {
	n := newTenant(t)
	n.theirs("a", "b")
	n.adopting("Never", "TakeOwnership")
	no := n.stalled("web")
	require.Equal(t, v1alpha1.ForeignObjectsReason, no.Reason)
	require.Len(t, n.get("web").Status.Nodes, 1)
	require.Contains(t, no.Message, "already in the cluster with another owner, and adopt is Never: ConfigMap "+n.namespace+"/a;")
	require.Equal(t, "theirs", n.says("b"), "nothing is taken before all may be")

	n.adopting("TakeOwnership", "TakeOwnership")
	n.ready("web")
	require.Equal(t, "ours", n.says("a"))
	require.Equal(t, "ours", n.says("b"))
}

// A Mirror creates what is not there, and leaves alone what is: also what it has created, and
// also when it goes.
func TestAMirrorCreatesAndChangesNothing(t *testing.T) {
	n := newTenant(t)
	n.theirs("a")
	n.adopting("Mirror", "Mirror")
	first := n.ready("web")
	require.Equal(t, "theirs", n.says("a"))
	require.Equal(t, "ours", n.says("b"))
	require.Equal(t, "ours", n.says("c"))
	uid := n.Kubectl(t, "get", "configmap", "a", "-n", n.namespace, "-o", "jsonpath={.metadata.uid} {.metadata.resourceVersion}")

	n.Kubectl(t, "patch", "transform", "web", "-n", n.namespace, "--type=merge", "-p", `{"spec":{"input":{"text":"new"}}}`)
	second := n.await("web", "is Ready again", func(t *v1alpha1.Transform) bool {
		return t.Status.Artifact.Digest != first.Status.Artifact.Digest && apimeta.IsStatusConditionTrue(t.Status.Conditions, "Ready")
	})
	require.Equal(t, second.Generation, second.Status.ObservedGeneration)
	require.Equal(t, "ours", n.says("b"))

	n.Kubectl(t, "delete", "transform", "web", "-n", n.namespace, "--timeout=1m")
	require.Equal(t, uid, n.Kubectl(t, "get", "configmap", "a", "-n", n.namespace, "-o", "jsonpath={.metadata.uid} {.metadata.resourceVersion}"))
	require.Empty(t, n.Kubectl(t, "get", "configmap", "b", "c", "-n", n.namespace, "--ignore-not-found"))
}

// selected is three ConfigMaps, of which those that overlays select may be taken over: one by its
// kind and name, and one by a label.
const selected = `
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: web, namespace: %s}
spec:
  output: {oci: {repository: "oci://%s/%s/web", insecure: true}}
  component:
    manifests:
      inline: |
        {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: %[1]s}, data: {text: ours}}
        ---
        {apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: %[1]s, labels: {team: shop}}, data: {text: ours}}
        ---
        {apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: %[1]s}, data: {text: ours}}
  adopt: Never
  overlays:
    - {select: {kind: ConfigMap, name: a}, apply: {adopt: TakeOwnership}}
    - {select: {labels: {team: shop}}, apply: {adopt: TakeOwnership}}
`

// TestObjectsAreTakenByNameAndByLabel: what no overlay selects is refused, and then nothing is
// taken.
func TestObjectsAreTakenByNameAndByLabel(t *testing.T) {
	n := newTenant(t, "--requeue-dependency=1s")
	n.theirs("a", "b", "c")
	n.Apply(t, fmt.Sprintf(selected, n.namespace, n.Registry, n.namespace))
	no := n.stalled("web")
	require.Equal(t, v1alpha1.ForeignObjectsReason, no.Reason)
	require.Len(t, n.get("web").Status.Nodes, 1)
	require.Contains(t, no.Message, "adopt is Never: ConfigMap "+n.namespace+"/c;")
	for _, name := range []string{"a", "b", "c"} {
		require.Equal(t, "theirs", n.says(name))
	}

	n.Kubectl(t, "delete", "configmap", "c", "-n", n.namespace)
	n.ready("web")
	for _, name := range []string{"a", "b", "c"} {
		require.Equal(t, "ours", n.says(name))
	}
	allowed(t, n.controller)
}
