// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// mapsModule is inline CUE: ConfigMaps of the names and the texts of its input.
const mapsModule = `package m

ropewalk: apiVersion: "v1alpha1"
#Input: {maps: [string]: string}
input: #Input
context: {name: string, namespace: string, ...}
graph: nodes: {for n, t in input.maps {(n): object: {
	apiVersion: "v1", kind: "ConfigMap"
	metadata: {name: n, namespace: context.namespace}
	data: text: t
}}}
`

// holder is a Transform of some ConfigMaps.
type holder struct {
	name string
	maps map[string]string
	// more is the rest of its spec.
	more string
}

func (n *tenant) holder(h holder) string {
	var input []string
	for _, name := range slices.Sorted(maps.Keys(h.maps)) {
		input = append(input, fmt.Sprintf("%s: %q", name, h.maps[name]))
	}
	return fmt.Sprintf(`---
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: %s, namespace: %s}
spec:
  output: {oci: {repository: "oci://%s/%s/%s", insecure: true}}
  retryInterval: 2s
  cueRef:
    type: inline
    ref: |
      %s
  input: {maps: {%s}}
%s
`, h.name, n.namespace, n.Registry, n.namespace, h.name, indented(mapsModule, 6), strings.Join(input, ", "), h.more)
}

// kubectlApply applies Transforms in one go, in this order.
func (n *tenant) kubectlApply(all ...holder) {
	n.t.Helper()
	var text strings.Builder
	for _, h := range all {
		text.WriteString(n.holder(h))
	}
	file := filepath.Join(n.t.TempDir(), "all.yaml")
	require.NoError(n.t, os.WriteFile(file, []byte(text.String()), 0o600))
	n.Kubectl(n.t, "apply", "-f", file)
}

// configMap is one; its UID is "" where there is none.
func (n *tenant) configMap(name string) *corev1.ConfigMap {
	n.t.Helper()
	m := &corev1.ConfigMap{}
	err := n.Client.Get(n.t.Context(), client.ObjectKey{Namespace: n.namespace, Name: name}, m)
	require.NoError(n.t, client.IgnoreNotFound(err))
	return m
}

func (n *tenant) mapUIDs(names ...string) map[string]types.UID {
	n.t.Helper()
	out := map[string]types.UID{}
	for _, name := range names {
		out[name] = n.configMap(name).UID
		require.NotEmpty(n.t, out[name], name)
	}
	return out
}

// owned waits until a ConfigMap is owned by a Transform, for good, with a text.
func (n *tenant) owned(name, by, text string) {
	n.t.Helper()
	n.Await(n.t, soon, name+" is owned by "+by, func() bool {
		m := n.configMap(name)
		return m.Labels["kustomize.toolkit.fluxcd.io/name"] == by+"-layer-00" && m.Data["text"] == text &&
			m.Annotations["kustomize.toolkit.fluxcd.io/prune"] == ""
	})
}

func (n *tenant) goneTransform(name string) {
	n.t.Helper()
	n.Await(n.t, soon, "Transform "+name+" is gone", func() bool {
		return apierrors.IsNotFound(n.Client.Get(n.t.Context(), client.ObjectKey{Namespace: n.namespace, Name: name}, &v1alpha1.Transform{}))
	})
}

// TestASuspendedTransformThatIsDeletedLeavesWhatItDelivered: as Flux does with a
// Kustomization that is suspended.
func TestASuspendedTransformThatIsDeletedLeavesWhatItDelivered(t *testing.T) {
	n := newTenant(t)
	n.kubectlApply(holder{name: "web", maps: map[string]string{"one": "1", "two": "2"}})
	n.ready("web")
	kustomization := n.kustomizations("web")[0]
	repository := &sourcev1.OCIRepository{}
	require.NoError(t, n.Client.Get(t.Context(), client.ObjectKeyFromObject(&kustomization), repository))
	before := n.mapUIDs("one", "two")

	n.Kubectl(t, "-n", n.namespace, "patch", "transform", "web", "--type=merge", "-p", `{"spec":{"suspend":true}}`)
	n.Kubectl(t, "-n", n.namespace, "delete", "transform", "web", "--timeout=30s")
	n.goneTransform("web")
	time.Sleep(3 * time.Second) // What is deleted after all would be by now.
	live := n.kustomizations("web")
	require.Len(t, live, 1)
	require.Equal(t, kustomization.UID, live[0].UID)
	require.True(t, live[0].DeletionTimestamp.IsZero())
	require.NoError(t, n.Client.Get(t.Context(), client.ObjectKeyFromObject(&kustomization), repository))
	after := n.mapUIDs("one", "two")
	t.Logf("UIDs before %v and after %v", before, after)
	require.Equal(t, before, after)

	// Its engine goes on.
	n.Kubectl(t, "-n", n.namespace, "delete", "configmap", "one")
	n.Kubectl(t, "-n", n.namespace, "annotate", "kustomization", kustomization.Name, "reconcile.fluxcd.io/requestedAt=now", "--overwrite")
	n.Await(t, soon, "Flux restores it", func() bool { return n.configMap("one").UID != "" })

	// A new Transform of that name takes it up, and its deletion deletes.
	n.kubectlApply(holder{name: "web", maps: map[string]string{"one": "1", "two": "new"}})
	n.ready("web")
	n.owned("two", "web", "new")
	require.Equal(t, before["two"], n.configMap("two").UID)
	n.Kubectl(t, "-n", n.namespace, "delete", "transform", "web", "--timeout=60s")
	require.Empty(t, n.configMap("two").UID)
	require.Empty(t, n.kustomizations("web"))
}

// TestAnObjectMovesBetweenTransforms in one kubectl apply, in any order.
func TestAnObjectMovesBetweenTransforms(t *testing.T) {
	n := newTenant(t)
	j := n.journal(t, n.namespace, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	after := func(name string) string { return "  dependsOn: [" + name + "]\n" }
	x := map[string]string{"x": "old", "own-a": "1"}
	for i, move := range []struct {
		name          string
		before, after []holder
		owner         string
	}{
		{
			"the loser is written first",
			[]holder{{name: "a", maps: x}, {name: "b", maps: map[string]string{"own-b": "1"}}},
			[]holder{{name: "a", maps: map[string]string{"own-a": "1"}}, {name: "b", maps: map[string]string{"own-b": "1", "x": "new"}}}, "b",
		},
		{
			"the new owner is written first",
			[]holder{{name: "a", maps: x}, {name: "b", maps: map[string]string{"own-b": "1"}}},
			[]holder{{name: "b", maps: map[string]string{"own-b": "1", "x": "new"}}, {name: "a", maps: map[string]string{"own-a": "1"}}}, "b",
		},
		{
			"into a Transform that is new, the loser first",
			[]holder{{name: "a", maps: x}},
			[]holder{{name: "a", maps: map[string]string{"own-a": "1"}}, {name: "b", maps: map[string]string{"x": "new"}}}, "b",
		},
		{
			"the loser keeps its name for something else, and the new owner depends on it",
			[]holder{{name: "a", maps: map[string]string{"x": "old"}}, {name: "b", maps: map[string]string{"own-b": "1"}, more: after("a")}},
			[]holder{{name: "a", maps: map[string]string{"own-a": "1"}}, {name: "b", maps: map[string]string{"own-b": "1", "x": "new"}, more: after("a")}}, "b",
		},
		{
			"the loser depends on the new owner",
			[]holder{{name: "a", maps: x, more: after("b")}, {name: "b", maps: map[string]string{"own-b": "1"}}},
			[]holder{{name: "b", maps: map[string]string{"own-b": "1", "x": "new"}}, {name: "a", maps: map[string]string{"own-a": "1"}, more: after("b")}}, "b",
		},
		{
			"two objects change places",
			[]holder{{name: "a", maps: x}, {name: "b", maps: map[string]string{"own-b": "1"}}},
			[]holder{{name: "a", maps: map[string]string{"own-b": "1"}}, {name: "b", maps: map[string]string{"x": "new", "own-a": "1"}}}, "b",
		},
	} {
		named := func(all []holder) (out []holder) {
			for _, h := range all {
				here := holder{name: fmt.Sprintf("%s%d", h.name, i), maps: map[string]string{}, more: h.more}
				for _, name := range []string{"a", "b"} {
					here.more = strings.ReplaceAll(here.more, "["+name+"]", fmt.Sprintf("[%s%d]", name, i))
				}
				for name, text := range h.maps {
					here.maps[fmt.Sprintf("%s-%d", name, i)] = text
				}
				out = append(out, here)
			}
			return out
		}
		object := fmt.Sprintf("x-%d", i)
		n.kubectlApply(named(move.before)...)
		for _, h := range named(move.before) {
			n.ready(h.name)
		}
		before := n.mapUIDs(object)
		began := time.Now()
		n.kubectlApply(named(move.after)...)
		n.owned(object, fmt.Sprintf("%s%d", move.owner, i), "new")
		moved := time.Since(began)
		for _, h := range named(move.after) {
			n.ready(h.name)
		}
		n.owned(object, fmt.Sprintf("%s%d", move.owner, i), "new")
		t.Logf("%s: UIDs before %v and after %v; %s until it was owned, %s until both were Ready",
			move.name, before, n.mapUIDs(object), moved.Round(10*time.Millisecond), time.Since(began).Round(10*time.Millisecond))
		require.Equal(t, before, n.mapUIDs(object), move.name)
	}
	require.Empty(t, j.deletions(t), "nothing is ever deleted")
	allowed(t, n.controller)

	// What nothing wants any more is deleted all the same.
	began := time.Now()
	n.kubectlApply(holder{name: "b0", maps: map[string]string{"own-b-0": "1"}})
	n.Await(t, soon, "x-0 is deleted", func() bool { return n.configMap("x-0").UID == "" })
	n.ready("b0")
	t.Logf("what nothing wants is deleted after %s", time.Since(began).Round(10*time.Millisecond))
}

// TestAnObjectInTwoTransformsIsReported, and a deletion leaves what another one wants.
func TestAnObjectInTwoTransformsIsReported(t *testing.T) {
	n := newTenant(t)
	warn := "  delivery: {sharedObjects: Warn}\n"
	n.kubectlApply(holder{name: "first", maps: map[string]string{"cm-x": "1", "cm-y": "1", "cm-z": "1"}})
	n.ready("first")
	before := n.mapUIDs("cm-x", "cm-y", "cm-z")

	n.kubectlApply(holder{name: "second", maps: map[string]string{"cm-x": "2", "own": "2"}})
	no := n.stalled("second")
	require.Equal(t, v1alpha1.SharedObjectsReason, no.Reason)
	for _, part := range []string{"ConfigMap " + n.namespace + "/cm-x", n.namespace + "/first", n.namespace + "/second", "sharedObjects: Warn"} {
		require.Contains(t, no.Message, part)
	}
	t.Logf("refused: %s", no.Message)
	require.Empty(t, n.kustomizations("second"), "nothing is applied")
	require.Equal(t, "1", n.configMap("cm-x").Data["text"])

	n.kubectlApply(holder{name: "third", maps: map[string]string{"cm-y": "3", "own-3": "3"}, more: warn})
	third := n.ready("third")
	shared := apimeta.FindStatusCondition(third.Status.Conditions, v1alpha1.SharedObjectsCondition)
	require.NotNil(t, shared)
	require.Contains(t, shared.Message, n.namespace+"/first")
	require.Contains(t, shared.Message, n.namespace+"/third")
	t.Logf("warned: %s", shared.Message)
	require.Nil(t, apimeta.FindStatusCondition(n.ready("first").Status.Conditions, v1alpha1.SharedObjectsCondition))

	// The first one gives x away: the second goes on by itself.
	n.kubectlApply(holder{name: "first", maps: map[string]string{"cm-y": "1", "cm-z": "1"}})
	n.ready("second")
	n.owned("cm-x", "second", "2")
	n.ready("first")

	// The first one is deleted: what the others want stays.
	n.kubectlApply(holder{name: "fourth", maps: map[string]string{"cm-z": "4"}})
	require.Equal(t, v1alpha1.SharedObjectsReason, n.stalled("fourth").Reason)
	began := time.Now()
	n.Kubectl(t, "-n", n.namespace, "delete", "transform", "first", "--timeout=60s")
	t.Logf("the first one is gone after %s", time.Since(began).Round(10*time.Millisecond))
	n.owned("cm-y", "third", "3")
	n.ready("fourth")
	n.owned("cm-z", "fourth", "4")
	after := n.mapUIDs("cm-x", "cm-y", "cm-z")
	t.Logf("UIDs before %v and after %v", before, after)
	require.Equal(t, before, after)
	n.await("third", "owns all that it has", func(t *v1alpha1.Transform) bool {
		return apimeta.FindStatusCondition(t.Status.Conditions, v1alpha1.SharedObjectsCondition) == nil &&
			apimeta.IsStatusConditionTrue(t.Status.Conditions, meta.ReadyCondition)
	})

	// Another one may delete it without this controller: it is requested from Flux at once.
	n.kubectlApply(holder{name: "fifth", maps: map[string]string{"cm-y": "5"}, more: warn})
	n.ready("fifth")
	n.Kubectl(t, "-n", n.namespace, "patch", "transform", "fifth", "--type=merge", "-p", `{"spec":{"suspend":true}}`)
	n.Kubectl(t, "-n", n.namespace, "delete", "transform", "fifth", "--timeout=30s")
	n.Await(t, soon, "the third restores it", func() bool {
		k := &kustomizev1.Kustomization{}
		require.NoError(t, n.Client.Get(t.Context(), client.ObjectKey{Namespace: n.namespace, Name: "third-layer-00"}, k))
		return k.Annotations[meta.ReconcileRequestAnnotation] != ""
	})
	n.owned("cm-y", "third", "3")
	require.Equal(t, before["cm-y"], n.configMap("cm-y").UID)
	allowed(t, n.controller)
}

// TestAnObjectMovesBetweenApplications as far as the tracking of Argo CD permits: the
// Application that loses it must not prune before the other one is synced.
func TestAnObjectMovesBetweenApplications(t *testing.T) {
	n, _ := newArgoTenant(t)
	keeps := strings.Replace(byArgo, "namespace: argocd", "namespace: argocd, prune: false", 1)
	tracked := func(name string) string {
		id, _, _ := strings.Cut(n.configMap(name).Annotations["argocd.argoproj.io/tracking-id"], ":")
		return id
	}
	n.kubectlApply(
		holder{name: "a", maps: map[string]string{"cm-x": "old", "own-a": "1"}, more: byArgo},
		holder{name: "b", maps: map[string]string{"own-b": "1"}, more: byArgo},
	)
	n.ready("a")
	n.ready("b")
	before := n.mapUIDs("cm-x")
	require.Equal(t, n.namespace+".a", tracked("cm-x"))

	n.kubectlApply(
		holder{name: "a", maps: map[string]string{"own-a": "1"}, more: keeps},
		holder{name: "b", maps: map[string]string{"own-b": "1", "cm-x": "new"}, more: byArgo},
	)
	n.Await(t, soon, "the other Application tracks it", func() bool { return tracked("cm-x") == n.namespace+".b" })
	n.ready("a")
	n.ready("b")
	n.kubectlApply(holder{name: "a", maps: map[string]string{"own-a": "2"}, more: byArgo})
	n.Await(t, soon, "the first one is synced with prune", func() bool { return n.configMap("own-a").Data["text"] == "2" })
	n.ready("a")
	after := n.mapUIDs("cm-x")
	t.Logf("UIDs before %v and after %v", before, after)
	require.Equal(t, before, after)
	require.Equal(t, "new", n.configMap("cm-x").Data["text"])

	// Without that, the one that is synced first prunes it.
	n.kubectlApply(holder{name: "b", maps: map[string]string{"own-b": "1"}, more: byArgo})
	n.Await(t, soon, "it is pruned", func() bool { return n.configMap("cm-x").UID == "" })
	n.kubectlApply(holder{name: "a", maps: map[string]string{"own-a": "2", "cm-x": "again"}, more: byArgo})
	n.ready("a")
	require.NotEqual(t, before, n.mapUIDs("cm-x"))
	n.Kubectl(t, "-n", n.namespace, "delete", "transform", "--all", "--timeout=2m")
}

// TestAStatusThatFluxForgotIsWrittenAgain gives a Kustomization the status that Flux leaves
// behind where it applies a revision again before its cache has the last status: the
// condition says what was applied, and the rest what was before.
func TestAStatusThatFluxForgotIsWrittenAgain(t *testing.T) {
	n := newTenant(t)
	n.kubectlApply(holder{name: "web", maps: map[string]string{"a": "one"}})
	n.ready("web")
	before := n.mapUIDs("a")
	k := n.kustomizations("web")[0]
	applied := k.Status.LastAppliedRevision
	patch := client.MergeFrom(k.DeepCopy())
	k.Status.LastAppliedRevision = "sha256:" + strings.Repeat("0", 64)
	k.Status.LastAttemptedRevision = k.Status.LastAppliedRevision
	require.NoError(t, n.Client.Status().Patch(t.Context(), &k, patch))
	n.await("web", "is not Ready", func(t *v1alpha1.Transform) bool {
		return !apimeta.IsStatusConditionTrue(t.Status.Conditions, meta.ReadyCondition)
	})
	began := time.Now()
	n.ready("web")
	t.Logf("Ready again after %s", time.Since(began).Round(100*time.Millisecond))
	require.Equal(t, applied, n.kustomizations("web")[0].Status.LastAppliedRevision)
	require.Equal(t, before, n.mapUIDs("a"))
	allowed(t, n.controller)
}
