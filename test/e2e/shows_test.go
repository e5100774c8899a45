// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/stretchr/testify/require"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// show is the shop on a cluster, by its Transform.
type show struct {
	*tenant
	*ladder
}

// newShow commits the shop and has the Transform deliver it.
func newShow(t *testing.T, namespace string) *show {
	t.Helper()
	n := newTenant(t)
	n.deployer()
	s := &show{n, newLadder(t, n.Cluster, namespace)}
	require.NoError(t, os.RemoveAll(filepath.Join(s.checkout, "deploy")))
	s.withProject(t)
	s.settings("autoscaling: {min: 2, max: 6}")
	s.source(s.url)
	s.deliver(s.usual())
	return s
}

// settings is what the ConfigMap of the storefront says from now on.
func (s *show) settings(values string) {
	s.t.Helper()
	s.Apply(s.t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: storefront, namespace: "+s.namespace+"}\ndata: {values.yaml: '"+values+"'}\n")
}

func (s *show) usual() string {
	return "  inputsFrom: [{kind: ConfigMap, name: storefront, spec: storefront}]\n"
}

func (s *show) deliver(more string) { s.t.Helper(); s.shopOf(more) }

// commit changes a file of the project, and tells the source of it.
func (s *show) commit(file, old, now string) {
	t := s.t
	t.Helper()
	file = filepath.Join(s.checkout, "shop", file)
	text, err := os.ReadFile(file) //nolint:gosec // a file of the test
	require.NoError(t, err)
	require.Contains(t, string(text), old)
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(text), old, now, 1)), 0o600))
	hash := s.push(t)
	s.Kubectl(t, "annotate", "-n", s.namespace, "gitrepository/shop", "--overwrite", "reconcile.fluxcd.io/requestedAt="+hash)
}

// reconciled is what Flux has done for each layer: which revision it has applied, and
// every reconciliation that it remembers.
func (s *show) reconciled() map[string]string {
	s.t.Helper()
	out := map[string]string{}
	for _, k := range s.kustomizations("shop") {
		var b strings.Builder
		fmt.Fprintf(&b, "generation %d, applied %s, asked %q", k.Generation, k.Status.LastAppliedRevision, k.Status.GetLastHandledReconcileRequest())
		for _, h := range k.Status.History {
			fmt.Fprintf(&b, ", %s %s %dx until %s", h.Digest, h.LastReconciledStatus, h.TotalReconciliations, h.LastReconciled.UTC().Format(time.TimeOnly))
		}
		out[k.Name] = b.String()
	}
	return out
}

// print shows what a user sees, and how long it took to come to that.
func (s *show) print(step string, began time.Time) {
	t := s.t
	t.Helper()
	t.Logf("%s, after %s\n%s", step, time.Since(began).Round(10*time.Millisecond),
		s.Kubectl(t, "-n", s.namespace, "get", "transforms,kustomizations,ocirepositories", "--ignore-not-found"))
}

func (s *show) smallest() int32 {
	var scaler autoscalingv2.HorizontalPodAutoscaler
	require.NoError(s.t, s.Client.Get(s.t.Context(), client.ObjectKey{Namespace: s.shop.namespace, Name: "storefront"}, &scaler))
	return *scaler.Spec.MinReplicas
}

// unchanged requires that all layers but some are as they were.
func (s *show) unchanged(before map[string]string, but ...string) {
	t := s.t
	t.Helper()
	now := s.reconciled()
	require.Len(t, now, len(before))
	for name, was := range before {
		if slices.Contains(but, name) {
			require.NotEqual(t, was, now[name], name)
			t.Logf("%s was %s\n  and is %s", name, was, now[name])
		} else {
			require.Equal(t, was, now[name], name)
		}
	}
}

// TestTheShopIsChangedRefusedRolledBackAndDeleted is what a user does with a Transform in
// its life.
func TestTheShopIsChangedRefusedRolledBackAndDeleted(t *testing.T) {
	began := time.Now()
	s := newShow(t, "shop-life")
	succeeded := func(also func(*v1alpha1.Transform) bool) *v1alpha1.Transform {
		t.Helper()
		return s.settled("shop", v1alpha1.SucceededReason, also)
	}
	first := succeeded(nil)
	s.print("the shop is there", began)
	s.stands(t, "first", began)
	before := s.reconciled()

	// An input is changed: only the layer with the storefront is touched.
	began = time.Now()
	s.settings("autoscaling: {min: 3, max: 10}")
	second := succeeded(func(now *v1alpha1.Transform) bool { return now.Status.Artifact.Digest != first.Status.Artifact.Digest })
	require.Equal(t, int32(3), s.smallest())
	s.print("an input is changed", began)
	s.unchanged(before, "shop-layer-03")

	s.refused(second)

	// Back, and on again: the same layer, and no other one.
	began = time.Now()
	before = s.reconciled()
	s.Kubectl(t, "-n", s.namespace, "patch", "transform", "shop", "--type=merge", "-p", `{"spec":{"rollback":{"digest":"`+first.Status.Artifact.Digest+`"}}}`)
	rolled := s.settled("shop", v1alpha1.RolledBackReason, func(now *v1alpha1.Transform) bool { return now.Status.Rendered != nil })
	require.Equal(t, int32(2), s.smallest())
	require.Equal(t, second.Status.Artifact.Tree, rolled.Status.Rendered.Tree, "it is known what comes when the rollback ends")
	s.print("rolled back", began)
	s.unchanged(before, "shop-layer-03")
	began = time.Now()
	before = s.reconciled()
	s.Kubectl(t, "-n", s.namespace, "patch", "transform", "shop", "--type=json", "-p", `[{"op":"remove","path":"/spec/rollback"}]`)
	ended := succeeded(func(now *v1alpha1.Transform) bool { return now.Status.Artifact.Tree == second.Status.Artifact.Tree })
	require.Nil(t, ended.Status.Rendered)
	require.Equal(t, int32(3), s.smallest())
	s.print("the rollback is ended", began)
	s.unchanged(before, "shop-layer-03")
	s.stands(t, "all of it", began)

	s.orphaned()
	s.pruned()
	allowed(t, s.controller)
}

// refused breaks a policy by a commit: nothing changes in the cluster, and the condition
// says which line of which file it is.
func (s *show) refused(last *v1alpha1.Transform) {
	t := s.t
	t.Helper()
	before, uids, pushed := s.reconciled(), len(s.journal.all(t)), len(s.pushes())
	began := time.Now()
	const good, bad = "image: docker.io/nginxinc/nginx-unprivileged:1.29.4-alpine", "image: docker.io/evil/miner:1.0.0"
	s.commit("storefront.yaml", good, bad)
	broken := s.settled("shop", v1alpha1.PolicyViolationReason, nil)
	s.print("a policy is violated", began)
	t.Logf("%s", s.Kubectl(t, "-n", s.namespace, "get", "transform", "shop", "-o",
		`jsonpath={range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}{range .status.violations[*]}{.severity} {.position} {.policy}: {.message}{"\n"}{end}`))
	require.Contains(t, messageOf(broken), "shop/storefront.yaml:11:12: ")
	require.Equal(t, "shop/storefront.yaml:11:12", broken.Status.Violations[0].Position)
	time.Sleep(3 * time.Second)
	require.Equal(t, before, s.reconciled())
	require.Equal(t, last.Status.Artifact.Digest, s.get("shop").Status.Artifact.Digest)
	for _, c := range s.journal.all(t)[uids:] {
		require.NotEqual(t, watch.Deleted, c.kind, "%s", c.identity())
		t.Logf("in the meantime: %s %s", c.kind, c.identity())
	}
	require.Len(t, s.pushes(), pushed, "nothing is pushed")
	s.commit("storefront.yaml", bad, good)
	s.settled("shop", v1alpha1.SucceededReason, nil)
	require.Equal(t, before, s.reconciled())
}

// orphaned deletes the Transform and leaves its objects, which a new one takes over.
func (s *show) orphaned() {
	t := s.t
	t.Helper()
	began := time.Now()
	s.Kubectl(t, "-n", s.namespace, "patch", "transform", "shop", "--type=merge", "-p", `{"spec":{"delivery":{"deletionPolicy":"Orphan"}}}`)
	s.Kubectl(t, "-n", s.namespace, "delete", "transform", "shop", "--timeout=2m")
	s.print("deleted with Orphan (nothing is left of Flux)", began)
	require.Empty(t, s.kustomizations("shop"))
	s.staysSo(t)
	began = time.Now()
	s.deliver(s.usual())
	s.settled("shop", v1alpha1.SucceededReason, nil)
	s.print("there again, with the objects that were left", began)
	s.stands(t, "orphans are adopted", began)
}

// pruned deletes the Transform with its objects, the last layer first.
func (s *show) pruned() {
	t := s.t
	t.Helper()
	began := time.Now()
	told := len(s.journal.all(t))
	s.Kubectl(t, "-n", s.namespace, "delete", "transform", "shop", "--timeout=3m")
	s.print("deleted with what was applied", began)
	require.Empty(t, s.kustomizations("shop"))
	var list kustomizev1.KustomizationList
	require.NoError(t, s.Client.List(t.Context(), &list, client.InNamespace(s.namespace)))
	require.Empty(t, list.Items)
	var order []string
	s.Await(t, soon, "the last one is told", func() bool {
		order = nil
		for _, c := range s.journal.all(t)[told:] {
			if c.kind == watch.Deleted && runs(c.identity()) {
				order = append(order, c.object.GetName())
			}
		}
		return len(order) == 7
	})
	t.Logf("workloads in the order in which they were deleted: %s", strings.Join(order, ", "))
	at := func(name string) int { return slices.Index(order, name) }
	require.Equal(t, 0, at("storefront"))
	require.Equal(t, 1, at("checkout"))
	for _, data := range []string{"cart-db", "catalog-db", "payment"} {
		require.Greater(t, at(data), 3)
	}
	t.Logf("what stays:\n%s", s.Kubectl(t, "-n", s.shop.namespace, "get", "all,configmaps,persistentvolumeclaims,networkpolicies,ingresses", "--ignore-not-found"))
	require.True(t, apierrors.IsNotFound(s.Client.Get(t.Context(), client.ObjectKey{Namespace: s.shop.namespace, Name: "storefront"}, &autoscalingv2.HorizontalPodAutoscaler{})))
}

// gate is inline CUE: an Engine, of which nobody but the test says that it is ready, beside
// a Deployment, and a ConfigMap that comes after it.
const gate = `package gate

ropewalk: apiVersion: "v1alpha1"
#Input: {text: string}
input: #Input
context: {name: string, namespace: string, ...}
graph: nodes: {
	web: object: {
		apiVersion: "apps/v1", kind: "Deployment"
		metadata: {name: "web", namespace: context.namespace}
		spec: {
			selector: matchLabels: app: "web"
			template: {
				metadata: labels: app: "web"
				spec: containers: [{name: "a", image: "registry.example/a:1"}]
			}
		}
	}
	engine: {
		object: {
			apiVersion: "e2e.ropewalk.dev/v1", kind: "Engine"
			metadata: {name: "main", namespace: context.namespace}
			spec: members: 3
		}
		readyWhen: [{type: "CEL", expr: "object.status.phase == 'Running'"}]
	}
	user: {
		object: {
			apiVersion: "v1", kind: "ConfigMap"
			metadata: {name: "user", namespace: context.namespace}
			data: text: input.text
		}
		dependsOn: ["engine", "web"]
	}
}
`

// gated applies a Transform called gate of that module.
func (n *tenant) gated(text, more string) {
	n.t.Helper()
	n.Apply(n.t, fmt.Sprintf(`
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: gate, namespace: %[1]s}
spec:
  output: {oci: {repository: "oci://%[2]s/%[1]s/gate", insecure: true}}
  delivery: {flux: {timeout: 10s, retryInterval: 5s}}
  cueRef:
    type: inline
    ref: |
      %[3]s
  input: {text: %[4]s}
%[5]s`, n.namespace, n.Registry, indented(gate, 6), text, more))
}

// look prints a Transform as a user sees it, and gives it as it is then.
func (n *tenant) look(name, when string) *v1alpha1.Transform {
	n.t.Helper()
	n.t.Logf("%s:\n%s%s", when, n.Kubectl(n.t, "-n", n.namespace, "get", "transform", name, "-o", "wide"),
		n.Kubectl(n.t, "-n", n.namespace, "get", "transform", name, "-o",
			`jsonpath={range .status.layers[*]}{.name} waves {.waves} {.state}: {.message}{"\n"}{end}{range .status.nodes[*]}{.id} {.object} {.layer} {.state}: {.message}{"\n"}{end}`))
	return n.get(name)
}

// TestTheStatusSaysWhatIsNotReady: the nodes that a layer waits for, while it waits and
// after Flux has given up for a while.
func TestTheStatusSaysWhatIsNotReady(t *testing.T) {
	n := newTenant(t)
	n.Apply(t, engineDefinition)
	n.awaitDefinitions()
	n.gated("one", "")
	// Flux goes through all of this again and again, so that what it is at is over when the
	// next one looks.
	now := n.await("gate", "waits for the first layer", func(t *v1alpha1.Transform) bool {
		return len(t.Status.Layers) == 2 && strings.Contains(messageOf(t), "Running health checks") &&
			t.Status.Progress == "0/2" && len(t.Status.Nodes) == 2
	})
	n.look("gate", "while Flux waits")
	require.Equal(t, []v1alpha1.WaveStatus{{Wave: 0, Layer: "layer-00", Nodes: 2}, {Wave: 1, Layer: "layer-01", Nodes: 1}}, now.Status.Waves)
	require.Equal(t, v1alpha1.LayerApplying, now.Status.Layers[0].State)
	require.Equal(t, v1alpha1.LayerWaiting, now.Status.Layers[1].State)
	require.Equal(t, []string{"gate/web", "gate/engine"}, []string{now.Status.Nodes[0].ID, now.Status.Nodes[1].ID}, "all that Flux waits for")

	now = n.await("gate", "says that it is not ready in time, and the Deployment is", func(t *v1alpha1.Transform) bool {
		return t.Status.Layers[0].State == v1alpha1.LayerFailed && len(t.Status.Nodes) == 1
	})
	n.look("gate", "after Flux has given up")
	require.Equal(t, "InProgress", now.Status.Nodes[0].State)
	require.Equal(t, "gate/engine", now.Status.Nodes[0].ID)
	require.Equal(t, "e2e.ropewalk.dev/Engine "+n.namespace+"/main", now.Status.Nodes[0].Object)

	ready := time.Now()
	setStatus(t, n.Cluster, identity{engineKind.Group, engineKind.Kind, n.namespace, "main"}, `{"phase": "Running"}`)
	n.ready("gate")
	t.Logf("Ready %s after its Engine is", time.Since(ready).Round(10*time.Millisecond))
	now = n.look("gate", "when all is Ready")
	require.Empty(t, now.Status.Nodes)
	require.Equal(t, "2/2", now.Status.Progress)
	n.suspended()
}

// TestANodeThatPassesItsTimeoutIsNamed: the Engine has 5 seconds, and Flux waits for half a minute.
func TestANodeThatPassesItsTimeoutIsNamed(t *testing.T) {
	n := newTenant(t)
	n.Apply(t, engineDefinition)
	n.awaitDefinitions()
	began := time.Now()
	n.gated("one", `  overlays: [{select: {kind: Engine}, readyWhen: [{type: CEL, expr: "object.status.phase == 'Running'", timeout: 5s}]}]
`)
	now := n.await("gate", "names the Engine", func(t *v1alpha1.Transform) bool {
		return strings.Contains(messageOf(t), "; past their timeout: gate/engine since ")
	})
	took := time.Since(began)
	n.look("gate", "when the timeout has passed")
	require.Len(t, now.Status.Nodes, 1)
	require.Equal(t, "gate/engine", now.Status.Nodes[0].ID)
	since := now.Status.Nodes[0].TimedOutAt
	require.NotNil(t, since)
	t.Logf("reported after %s: it passed its timeout %s after it was written", took.Round(time.Second), since.Sub(began).Round(time.Second))
	require.Less(t, since.Sub(began), took-20*time.Second, "5 seconds of the 30 that Flux waited")

	// While Flux tries again it keeps its time.
	again := n.await("gate", "waits again", func(t *v1alpha1.Transform) bool {
		return strings.Contains(messageOf(t), "Running health checks")
	})
	require.Contains(t, messageOf(again), "; past their timeout: gate/engine since "+since.UTC().Format(time.RFC3339))
	setStatus(t, n.Cluster, identity{engineKind.Group, engineKind.Kind, n.namespace, "main"}, `{"phase": "Running"}`)
	require.NotContains(t, messageOf(n.ready("gate")), "timeout")
}

// TestObjectsThatAreNotReadyAreReadOnRequest: long before Flux names them, also once their timeout
// has passed.
func TestObjectsThatAreNotReadyAreReadOnRequest(t *testing.T) {
	n := newTenant(t, "--requeue-dependency=1s")
	n.Apply(t, engineDefinition)
	n.awaitDefinitions()
	n.deployer()
	n.gated("one", `  serviceAccountName: deployer
  overlays: [{select: {kind: Engine}, readyWhen: [{type: CEL, expr: "object.status.phase == 'Running'", timeout: 3s}]}]
`)
	n.Kubectl(t, "-n", n.namespace, "patch", "transform", "gate", "--type", "merge", "-p", `{"spec": {"delivery": {"flux": {"reportNodes": true, "timeout": "10m"}}}}`)
	now := n.await("gate", "counts what is ready", func(t *v1alpha1.Transform) bool {
		return len(t.Status.Layers) == 2 && t.Status.Layers[0].ReadyObjects != nil && *t.Status.Layers[0].ReadyObjects == 1
	})
	n.look("gate", "while Flux waits")
	require.Equal(t, int32(2), now.Status.Layers[0].ReadObjects)
	require.Len(t, now.Status.Nodes, 1)
	require.Equal(t, "gate/engine", now.Status.Nodes[0].ID)
	require.Contains(t, now.Status.Nodes[0].Message, "its readyWhen cannot be evaluated yet: ")
	now = n.await("gate", "names the Engine that passed its timeout", func(t *v1alpha1.Transform) bool {
		return strings.Contains(messageOf(t), "; past their timeout: gate/engine since ")
	})
	require.NotNil(t, now.Status.Nodes[0].TimedOutAt)
	setStatus(t, n.Cluster, identity{engineKind.Group, engineKind.Kind, n.namespace, "main"}, `{"phase": "Running"}`)
	now = n.ready("gate")
	require.NotContains(t, messageOf(now), "timeout")
	require.Nil(t, now.Status.NodesReadAt)
	require.Nil(t, now.Status.Layers[0].ReadyObjects)
}

// suspended suspends the Transform, changes it, and asks for a reconciliation, which
// nobody makes before it is resumed.
func (n *tenant) suspended() {
	t := n.t
	t.Helper()
	before := n.get("gate")
	n.gated("two", "  suspend: true\n")
	n.Kubectl(t, "-n", n.namespace, "annotate", "transform", "gate", "--overwrite", "reconcile.fluxcd.io/requestedAt=first")
	n.await("gate", "has handled the request", func(t *v1alpha1.Transform) bool { return t.Status.LastHandledReconcileAt == "first" })
	time.Sleep(2 * time.Second)
	now := n.look("gate", "suspended, with a change")
	require.Equal(t, before.Status.Artifact, now.Status.Artifact)
	require.Equal(t, before.Status.ObservedGeneration, now.Status.ObservedGeneration)
	n.Kubectl(t, "-n", n.namespace, "patch", "transform", "gate", "--type=merge", "-p", `{"spec":{"suspend":false}}`)
	resumed := n.ready("gate")
	require.NotEqual(t, before.Status.Artifact.Digest, resumed.Status.Artifact.Digest)
	n.look("gate", "resumed")

	n.Kubectl(t, "-n", n.namespace, "annotate", "transform", "gate", "--overwrite", "reconcile.fluxcd.io/requestedAt=second")
	asked := n.await("gate", "has handled the request", func(t *v1alpha1.Transform) bool { return t.Status.LastHandledReconcileAt == "second" })
	require.Equal(t, resumed.Status.Artifact, asked.Status.Artifact)
	n.Kubectl(t, "-n", n.namespace, "delete", "transform", "gate", "--timeout="+soon.String())
}
