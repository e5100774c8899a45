// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

func objectMeta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

// many is inline CUE that makes as many ConfigMaps as it is told.
const many = `package m

import "list"

ropewalk: apiVersion: "v1alpha1"
#Input: {count: int, text: string}
input: #Input
context: {name: string, namespace: string, ...}
graph: nodes: {
	for i in list.Range(0, input.count, 1) {
		"c\(i)": object: {
			apiVersion: "v1", kind: "ConfigMap"
			metadata: {name: "c\(i)", namespace: context.namespace}
			data: text: input.text
		}
	}
}
`

// makeMany applies a Transform called many that makes so many objects; more is the rest
// of its spec.
func (n *tenant) makeMany(count int, more string) {
	n.t.Helper()
	n.Apply(n.t, fmt.Sprintf(`
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: many, namespace: %s}
spec:
  output: {oci: {repository: "oci://%s/%s/many", insecure: true}}
  cueRef:
    type: inline
    ref: |
      %s
  input: {count: %d, text: one}
%s`, n.namespace, n.Registry, n.namespace, indented(many, 6), count, more))
}

// peak is the most memory that a process has had, in MiB.
func peak(t *testing.T, pid int) int {
	t.Helper()
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0 // there is no such thing here
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.Atoi(strings.Fields(rest)[0])
			return kib >> 10
		}
	}
	return 0
}

// TestFiftyThousandObjectsAreRenderedPublishedAndCut: into units that Flux can work on.
// Of those, two are applied here: all of them take Flux many minutes.
func TestFiftyThousandObjectsAreRenderedPublishedAndCut(t *testing.T) {
	long(t)
	const count = 50_000
	n := newTenant(t, "--timeout=3m", "--memory-total=3Gi", "--workers=1")
	n.KustomizeController.Kill()
	defer func() {
		n.KustomizeController.Restart(t)
		n.awaitFlux(t, n.KustomizeController)
	}()
	began := time.Now()
	n.makeMany(count, "")
	var published *v1alpha1.Transform
	n.Await(t, 4*time.Minute, "it is published, or refused", func() bool {
		published = n.get("many")
		return published.Status.Artifact != nil || apimeta.IsStatusConditionTrue(published.Status.Conditions, meta.StalledCondition) ||
			reasonOf(published) == v1alpha1.RenderFailedReason
	})
	t.Logf("rendered and published after %s: %s: %s", time.Since(began).Round(100*time.Millisecond), reasonOf(published), messageOf(published))
	require.NotNil(t, published.Status.Artifact)
	require.Equal(t, int32(count), published.Status.NodeCount)
	n.Await(t, 2*time.Minute, "every unit has its objects of Flux", func() bool {
		return len(n.kustomizations("many")) == len(published.Status.Artifact.Layers)
	})
	t.Logf("%d units, released after %s; the controller took %d MiB at most", len(published.Status.Artifact.Layers), time.Since(began).Round(100*time.Millisecond), peak(t, n.controller.Pid()))
	objects := 0
	n.Await(t, soon, "the status has the units", func() bool { return len(n.get("many").Status.Layers) == len(published.Status.Artifact.Layers) })
	for _, l := range n.get("many").Status.Layers {
		require.LessOrEqual(t, l.Objects, int32(1000), l.Name)
		objects += int(l.Objects)
	}
	require.Equal(t, count, objects)

	n.applySome(2)

	// One more is refused, by a limit that says so.
	n.makeMany(count+1, "")
	refused := n.await("many", "is refused", func(t *v1alpha1.Transform) bool {
		return t.Status.ObservedGeneration == t.Generation && reasonOf(t) == v1alpha1.InvalidReason
	})
	t.Logf("one more: %s", messageOf(refused))
	require.Contains(t, messageOf(refused), "more than 50000 objects")
	require.Equal(t, published.Status.Artifact.Digest, refused.Status.Artifact.Digest)
	n.KustomizeController.Kill()
}

// shipped are the flags of deploy/flux that bound memory, and what its pod may have.
const (
	shipped    = "--memory-total=896MiB"
	shippedPod = 1 << 30
)

// TestFiftyThousandObjectsAreRefusedWithTheFlagsAsShipped, for they take more than the
// worker has: the condition says which limit it is and which flag raises it, the pod as
// shipped would have been large enough for all that it took, and others are served.
func TestFiftyThousandObjectsAreRefusedWithTheFlagsAsShipped(t *testing.T) {
	n, g := newTenant(t, shipped), &gauge{}
	n.transform("before", "{text: one}", "")
	n.ready("before")
	g.watch(t, n.controller.Process)
	pid, began := n.controller.Pid(), time.Now()
	n.makeMany(50_000, "")
	n.transform("beside", "{text: one}", "")
	n.ready("beside")
	t.Logf("another is Ready beside it after %s", time.Since(began).Round(10*time.Millisecond))
	refused := n.reason("many", v1alpha1.RenderFailedReason)
	t.Logf("refused after %s: %s", time.Since(began).Round(10*time.Millisecond), messageOf(refused))
	// A machine that is slow enough comes to the other limit first.
	require.Regexp(t, `176 MiB.*--memory-total|10s.*--timeout`, messageOf(refused))
	require.Nil(t, refused.Status.Artifact)

	// It is tried again, and refused again, while others are served on.
	for _, text := range []string{"two", "three", "four"} {
		n.transform("before", "{text: "+text+"}", "")
		n.ready("before")
		require.Equal(t, text, n.text("before"))
	}
	require.True(t, n.controller.Running())
	require.Equal(t, pid, n.controller.Pid())
	require.Equal(t, v1alpha1.RenderFailedReason, reasonOf(n.reason("many", v1alpha1.RenderFailedReason)))
	most, _ := g.read()
	t.Logf("the controller and its workers took %s at most (PSS), of %s", mebibytes(most), mebibytes(shippedPod))
	require.NotZero(t, most)
	require.Less(t, most, int64(shippedPod))
}

// TestWhatTheFlagsAsShippedAreEnoughFor prints what the guide has a table of: how many
// small objects are rendered and published with them, and with more.
func TestWhatTheFlagsAsShippedAreEnoughFor(t *testing.T) {
	long(t)
	for _, c := range []struct {
		count int
		flags []string
	}{
		{5_000, []string{shipped}},
		{10_000, []string{shipped}},
		{20_000, []string{shipped, "--workers=1", "--timeout=1m"}},
		{50_000, []string{"--memory-total=1536MiB", "--workers=1", "--timeout=2m"}},
	} {
		t.Run(fmt.Sprintf("%d objects", c.count), func(t *testing.T) {
			n, g := newTenant(t, c.flags...), &gauge{}
			g.watch(t, n.controller.Process)
			began := time.Now()
			n.makeMany(c.count, "  delivery: {type: None}\n")
			made := n.settled("many", "ReconciliationSucceeded", nil)
			most, _ := g.read()
			t.Logf("%v: rendered and published in %s; the controller and its workers took %s at most (PSS); load %s",
				c.flags, time.Since(began).Round(100*time.Millisecond), mebibytes(most), load())
			require.Equal(t, int32(c.count), made.Status.NodeCount) //nolint:gosec // it is small
		})
	}
}

// applySome starts Flux, and has it apply some units of many: the others are suspended.
func (n *tenant) applySome(count int) {
	t := n.t
	t.Helper()
	units := n.kustomizations("many")
	for i := range units[count:] {
		units[count+i].Spec.Suspend = true
		require.NoError(t, n.Client.Update(t.Context(), &units[count+i]))
	}
	n.KustomizeController.Restart(t)
	n.awaitFlux(t, n.KustomizeController)
	began := time.Now()
	for i := range count {
		n.AwaitReady(t, 3*time.Minute, &units[i])
	}
	var list corev1.ConfigMapList
	require.NoError(t, n.Client.List(t.Context(), &list, client.InNamespace(n.namespace)))
	t.Logf("Flux has applied %d units, %d objects, after %s", count, len(list.Items), time.Since(began).Round(100*time.Millisecond))
	require.True(t, slices.ContainsFunc(list.Items, func(m corev1.ConfigMap) bool { return m.Data["text"] == "one" }))
}
