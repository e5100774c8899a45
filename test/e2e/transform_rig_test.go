// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// tenant is a namespace with a controller at work.
type tenant struct {
	*Cluster
	t          *testing.T
	namespace  string
	controller replica
}

// newTenant installs the controller, starts it, and makes a namespace.
func newTenant(t *testing.T, flags ...string) *tenant {
	t.Helper()
	c := Shared(t)
	install(t, c)
	n := &tenant{Cluster: c, t: t, namespace: c.Namespace(t)}
	n.controller = startReplica(t, c, "ropewalk-controller", flags...)
	return n
}

// module is inline CUE: a ConfigMap with a text, and a Deployment that comes after it,
// where it has replicas.
const module = `package m

ropewalk: apiVersion: "v1alpha1"
#Input: {text: string, replicas: int & >=0 | *0, secret?: {name: string, key?: string}}
input: #Input
context: {name: string, namespace: string, ...}
graph: nodes: config: object: {
	apiVersion: "v1", kind: "ConfigMap"
	metadata: {name: "\(context.name)-config", namespace: context.namespace}
	data: text: input.text
	if input.secret != _|_ {data: secret: input.secret.name}
}
if input.replicas > 0 {
	graph: nodes: first: object: _deployment & {metadata: name: "\(context.name)-first"}
	graph: nodes: second: {
		object: _deployment & {metadata: name: "\(context.name)-second"}
		dependsOn: ["first"]
	}
}
_deployment: {
	apiVersion: "apps/v1", kind: "Deployment"
	metadata: {name: string, namespace: context.namespace}
	spec: {
		replicas: input.replicas
		selector: matchLabels: app: metadata.name
		template: {
			metadata: {labels: app: selector.matchLabels.app, annotations: text: input.text}
			spec: containers: [{name: "a", image: "registry.example/a:1"}]
		}
	}
}
`

// indented is text as a block of YAML.
func indented(text string, by int) string {
	return strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+strings.Repeat(" ", by))
}

// transform applies a Transform with the module; more is the rest of its spec.
func (n *tenant) transform(name, input, more string) {
	n.t.Helper()
	n.Apply(n.t, fmt.Sprintf(`
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: %s, namespace: %s}
spec:
  output: {oci: {repository: "oci://%s/%s/%s", insecure: true}}
  cueRef:
    type: inline
    ref: |
      %s
  input: %s
%s`, name, n.namespace, n.Registry, n.namespace, name, indented(module, 6), input, more))
}

func (n *tenant) get(name string) *v1alpha1.Transform {
	n.t.Helper()
	out := &v1alpha1.Transform{}
	require.NoError(n.t, n.Client.Get(n.t.Context(), client.ObjectKey{Namespace: n.namespace, Name: name}, out))
	return out
}

// await waits until a Transform is as wanted, and gives it.
func (n *tenant) await(name, what string, is func(*v1alpha1.Transform) bool) *v1alpha1.Transform {
	n.t.Helper()
	var last *v1alpha1.Transform
	defer func() {
		if n.t.Failed() && last != nil {
			n.t.Logf("%s: %+v", name, last.Status)
		}
	}()
	n.Await(n.t, soon, name+": "+what, func() bool { last = n.get(name); return is(last) })
	return last
}

// ready waits until a Transform is Ready at its generation.
func (n *tenant) ready(name string) *v1alpha1.Transform {
	n.t.Helper()
	return n.await(name, "is Ready", func(t *v1alpha1.Transform) bool {
		return t.Status.ObservedGeneration == t.Generation && apimeta.IsStatusConditionTrue(t.Status.Conditions, meta.ReadyCondition)
	})
}

// stalled waits until a Transform is Stalled at its generation, and gives the condition.
func (n *tenant) stalled(name string) metav1.Condition {
	n.t.Helper()
	t := n.await(name, "is Stalled", func(t *v1alpha1.Transform) bool {
		return t.Status.ObservedGeneration == t.Generation && apimeta.IsStatusConditionTrue(t.Status.Conditions, meta.StalledCondition)
	})
	return *apimeta.FindStatusCondition(t.Status.Conditions, meta.ReadyCondition)
}

// text is what the ConfigMap of a Transform says; "" where there is none.
func (n *tenant) text(name string) string {
	m := &corev1.ConfigMap{}
	_ = n.Client.Get(n.t.Context(), client.ObjectKey{Namespace: n.namespace, Name: name + "-config"}, m) // it may not be there
	return m.Data["text"]
}

func (n *tenant) kustomizations(name string) []kustomizev1.Kustomization {
	n.t.Helper()
	var list kustomizev1.KustomizationList
	require.NoError(n.t, n.Client.List(n.t.Context(), &list, client.InNamespace(n.namespace), client.MatchingLabels{v1alpha1.LabelTransform: name}))
	return list.Items
}

// allowed fails where a controller was told that it has not the right to something: one
// is missing in deploy.
func allowed(t *testing.T, controller interface{ Log() string }) {
	t.Helper()
	neverSaid(t, controller, "forbidden")
}

// neverSaid fails where a controller has a text in its log, but for what is to come into a
// namespace that is being deleted, as that of the test before may be: that is forbidden to
// everybody. A replica that ends loses its lease, and controller-runtime sometimes logs
// that after its stop has begun (manager/internal.go, engageStopProcedure), or client-go that
// its look at the lease was cancelled by that.
func neverSaid(t *testing.T, controller interface{ Log() string }, text string) {
	t.Helper()
	for line := range strings.Lines(controller.Log()) {
		ends := strings.Contains(line, "error received after stop sequence was engaged") && strings.Contains(line, "leader election lost") ||
			strings.Contains(line, "Error retrieving lease lock") && strings.Contains(line, `"error":"context canceled"`)
		if !ends && !strings.Contains(line, "because it is being terminated") {
			require.NotContains(t, line, text)
		}
	}
}
