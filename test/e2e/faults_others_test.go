// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// nesting is inline CUE that makes a Transform out of the module that it is given.
const nesting = `package m

ropewalk: apiVersion: "v1alpha1"
#Input: {text: string, module: string, repository: string}
input: #Input
context: {name: string, namespace: string, ...}
let given = input
graph: nodes: inner: object: {
	apiVersion: "ropewalk.dev/v1alpha1", kind: "Transform"
	metadata: {name: "\(context.name)-inner", namespace: context.namespace}
	spec: {
		output: oci: {repository: given.repository, insecure: true}
		cueRef: {type: "inline", ref: given.module}
		input: text: given.text
	}
}
`

// TestATransformMayRenderAnother, which is Ready before it, and goes with it.
func TestATransformMayRenderAnother(t *testing.T) {
	n := newTenant(t)
	apply := func(text string) {
		n.Apply(t, fmt.Sprintf(`
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: outer, namespace: %[1]s}
spec:
  output: {oci: {repository: "oci://%[2]s/%[1]s/outer", insecure: true}}
  cueRef:
    type: inline
    ref: |
      %[3]s
  input:
    text: %[5]s
    repository: "oci://%[2]s/%[1]s/inner"
    module: |
      %[4]s
`, n.namespace, n.Registry, indented(nesting, 6), indented(module, 6), text))
	}
	for _, text := range []string{"one", "two"} {
		began := time.Now()
		apply(text)
		n.ready("outer")
		inner := n.ready("outer-inner")
		t.Logf("%s: both are Ready after %s", text, time.Since(began).Round(10*time.Millisecond))
		n.Await(t, soon, "it is applied", func() bool { return n.text("outer-inner") == text })
		require.Len(t, inner.Status.Layers, 1)
	}
	t.Logf("both are gone after %s", n.remove("outer"))
	require.Empty(t, n.text("outer-inner"))
	require.True(t, apierrors.IsNotFound(n.Client.Get(t.Context(), client.ObjectKey{Namespace: n.namespace, Name: "outer-inner"}, &v1alpha1.Transform{})))
}

// TestANamespaceThatIsDeletedTakesItsTransformsAlong, whatever they are at.
func TestANamespaceThatIsDeletedTakesItsTransformsAlong(t *testing.T) {
	long(t)
	n := newTenant(t)
	other := n.Namespace(t)
	// Flux waits for objects that are gone as long as it may: a delivery that is under way
	// holds the namespace for that time.
	const brief = "  delivery: {flux: {timeout: 20s}}\n"
	n.transform("here", "{text: one, replicas: 1}", brief)
	n.transform("there", "{text: one}", "  context: {namespace: "+other+"}\n")
	n.transform("wrong", "{text: 1}", "")
	n.ready("here")
	n.ready("there")
	n.stalled("wrong")
	n.transform("here", "{text: two, replicas: 1}", brief) // it is at work
	began := time.Now()
	require.NoError(t, n.Client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: objectMeta(n.namespace)}))
	n.Await(t, soon, "the Transforms are gone", func() bool {
		var list v1alpha1.TransformList
		require.NoError(t, n.Client.List(t.Context(), &list, client.InNamespace(n.namespace)))
		return len(list.Items) == 0
	})
	t.Logf("the Transforms are gone after %s", time.Since(began).Round(100*time.Millisecond))
	n.Await(t, 2*time.Minute, "the namespace is gone", func() bool {
		return apierrors.IsNotFound(n.Client.Get(t.Context(), client.ObjectKey{Name: n.namespace}, &corev1.Namespace{}))
	})
	t.Logf("the namespace is gone after %s", time.Since(began).Round(100*time.Millisecond))
	require.True(t, n.controller.Running())
	left := n.Kubectl(t, "-n", other, "get", "configmap", "there-config", "--ignore-not-found")
	t.Logf("left in another namespace: %q", left)
	require.Empty(t, left, "Flux takes it away when its Kustomization goes")
	before := len(n.controller.Log())
	time.Sleep(3 * time.Second)
	require.NotContains(t, n.controller.Log()[before:], n.namespace, "nobody works on it any more")
}

// hostile applies Transforms of modules that never end and that take all memory, which
// nobody has seen before, and gives their names.
func (n *tenant) hostile(round int) (names []string) {
	n.t.Helper()
	for _, module := range []string{"unified-unions", "one-block", "nested-for"} {
		text, err := os.ReadFile(filepath.Join("../../render/evaluate/worker/testdata/hostile", module+".cue"))
		require.NoError(n.t, err)
		name := fmt.Sprintf("%s-%d", module, round)
		n.Apply(n.t, fmt.Sprintf(`
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: %s, namespace: %s}
spec:
  output: {oci: {repository: "oci://%s/%s/hostile", insecure: true}}
  delivery: {type: None}
  cueRef:
    type: inline
    ref: |
      %s
  input: {}
`, name, n.namespace, n.Registry, n.namespace, indented(string(text)+"// "+name, 6)))
		names = append(names, name)
	}
	return names
}

// wave is how long so many good Transforms take until they are Ready. They are gone after
// it, so that the next one finds what this one has found.
func (n *tenant) wave(count int, prefix string) time.Duration {
	n.t.Helper()
	began := time.Now()
	for i := range count {
		n.transform(fmt.Sprintf("%s-%03d", prefix, i), fmt.Sprintf("{text: %s-%d}", prefix, i), "  delivery: {type: None}\n")
	}
	within := func(is func(*v1alpha1.Transform) bool) (found int) {
		var list v1alpha1.TransformList
		require.NoError(n.t, n.Client.List(n.t.Context(), &list, client.InNamespace(n.namespace)))
		for i := range list.Items {
			if strings.HasPrefix(list.Items[i].Name, prefix+"-") && is(&list.Items[i]) {
				found++
			}
		}
		return found
	}
	n.Await(n.t, 3*time.Minute, "all are Ready", func() bool {
		return within(func(t *v1alpha1.Transform) bool {
			return apimeta.IsStatusConditionTrue(t.Status.Conditions, meta.ReadyCondition)
		}) == count
	})
	took := time.Since(began)
	for i := range count {
		n.discard(fmt.Sprintf("%s-%03d", prefix, i))
	}
	n.Await(n.t, 3*time.Minute, "all are gone", func() bool {
		return within(func(*v1alpha1.Transform) bool { return true }) == 0
	})
	return took
}

// stopped waits until hostile ones say why they are not rendered, and takes them away.
func (n *tenant) stopped(names []string) {
	n.t.Helper()
	for _, name := range names {
		at := n.await(name, "is stopped", func(t *v1alpha1.Transform) bool {
			return reasonOf(t) == v1alpha1.RenderFailedReason || reasonOf(t) == v1alpha1.InvalidReason
		})
		n.t.Logf("%s: %s: %s", name, reasonOf(at), messageOf(at))
		require.Nil(n.t, at.Status.Artifact)
	}
	for _, name := range names {
		n.remove(name) // One that is evaluated once more is gone after that.
	}
}

// discard deletes a Transform and waits for nothing.
func (n *tenant) discard(name string) {
	n.t.Helper()
	require.NoError(n.t, n.Client.Delete(n.t.Context(), &v1alpha1.Transform{ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: name}}))
}

// TestAHostileModuleStarvesNoOtherNamespace has modules that never end and that take all
// memory in one namespace, and 100 good ones in another. What else the machine does must be
// no part of it: each round measures alone, beside them, and alone again, a round in which
// the machine was not as busy at its end as at its begin is measured anew, and the one in
// the middle of three counts.
func TestAHostileModuleStarvesNoOtherNamespace(t *testing.T) {
	long(t)
	const count, most = 100, 6
	const timeout = 10 * time.Second // the default of --timeout
	n := newTenant(t)
	other := &tenant{Cluster: n.Cluster, t: t, namespace: n.Namespace(t), controller: n.controller}
	n.wave(count, "first") // Workers are started, and the module is compiled.
	var over []time.Duration
	for round := 0; len(over) < 3; round++ {
		before := n.wave(count, fmt.Sprintf("before%d", round))
		names := other.hostile(round)
		during := n.wave(count, fmt.Sprintf("during%d", round))
		other.stopped(names)
		after := n.wave(count, fmt.Sprintf("after%d", round))
		alone := (before + after) / 2
		t.Logf("%d Transforms alone: %s and %s; beside %d hostile ones: %s, x%.2f; load %s", count, before.Round(100*time.Millisecond),
			after.Round(100*time.Millisecond), len(names), during.Round(100*time.Millisecond), float64(during)/float64(alone), load())
		if max(before, after) <= 3*min(before, after)/2 || round >= most-3 {
			over = append(over, during-3*alone)
		}
	}
	slices.Sort(over)
	require.Less(t, over[1], timeout, "they have half of the workers and of the slots, and all of them for one timeout at most")
	require.True(t, n.controller.Running())
	text, ok := page(t.Context(), n.controller.metrics, "/metrics")
	require.True(t, ok)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "process_resident_memory_bytes") || strings.HasPrefix(line, "ropewalk_worker_peak_bytes") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

// silent is a server that takes every connection and says nothing; held is how many it has
// taken.
func silent(t *testing.T) (address string, held func() int) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var (
		mu    sync.Mutex
		taken []net.Conn // who is not kept is closed
	)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			taken = append(taken, conn)
			mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range taken {
			_ = conn.Close()
		}
	})
	return listener.Addr().String(), func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(taken)
	}
}

// TestServersThatSayNothingHoldNoOtherNamespaceUp has more Transforms wait for such servers
// than are rendered at once. Each waits for two minutes.
func TestServersThatSayNothingHoldNoOtherNamespaceUp(t *testing.T) {
	const count, concurrent = 24, 10
	address, held := silent(t)
	n := newTenant(t, fmt.Sprintf("--concurrent=%d", concurrent), "--plain-http="+address)
	other := &tenant{Cluster: n.Cluster, t: t, namespace: n.Namespace(t), controller: n.controller}
	other.transform("warm", "{text: one}", "")
	other.ready("warm")
	for i := range count {
		n.Apply(t, fmt.Sprintf(`
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: web%d, namespace: %s}
spec:
  output: {oci: {repository: "oci://%s/%s/web", insecure: true}}
  cueRef: {type: git, ref: "http://%s/m%d.git?branch=main"}
`, i, n.namespace, n.Registry, n.namespace, address, i))
	}
	n.Await(t, soon, "half of the slots are taken", func() bool { return held() >= concurrent/2 })
	began := time.Now()
	other.transform("good", "{text: one}", "")
	other.ready("good")
	took := time.Since(began)
	t.Logf("Ready after %s, with %d that wait for a server", took.Round(10*time.Millisecond), held())
	require.Less(t, took, 30*time.Second)
	allowed(t, n.controller)
}
