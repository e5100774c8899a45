// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// fleet is many Transforms whose inputs change.
type fleet struct {
	*tenant
	// wanted is the text of each Transform that should be there, and split says of its
	// second Deployment that it is in a layer of its own.
	wanted map[string]string
	split  map[string]bool
}

// splitting is the module, in which an input says whether the second Deployment comes
// after the first one, and so whether it changes its layer.
func splitting() string {
	return strings.NewReplacer("replicas: int", "split: bool | *false, replicas: int",
		`dependsOn: ["first"]`, `if input.split {dependsOn: ["first"]}`).Replace(module)
}

func (f *fleet) set(name, text string, split bool) {
	f.t.Helper()
	f.Apply(f.t, fmt.Sprintf(`
apiVersion: ropewalk.dev/v1alpha1
kind: Transform
metadata: {name: %s, namespace: %s}
spec:
  output: {oci: {repository: "oci://%s/%s/%s", insecure: true}}
  delivery: {flux: {retryInterval: 2s}}
  cueRef:
    type: inline
    ref: |
      %s
  input: {text: %s, replicas: 1, split: %t}
`, name, f.namespace, f.Registry, f.namespace, name, indented(splitting(), 6), text, split))
	f.wanted[name], f.split[name] = text, split
}

// settled waits until every Transform is delivered, as it is wanted.
func (f *fleet) settled(within time.Duration) {
	f.t.Helper()
	left := slices.Sorted(maps.Keys(f.wanted))
	for deadline := time.Now().Add(within); len(left) > 0; time.Sleep(50 * time.Millisecond) {
		var list v1alpha1.TransformList
		require.NoError(f.t, f.Client.List(f.t.Context(), &list, client.InNamespace(f.namespace)))
		byName := map[string]*v1alpha1.Transform{}
		for i := range list.Items {
			byName[list.Items[i].Name] = &list.Items[i]
		}
		left = slices.DeleteFunc(left, func(name string) bool {
			t := byName[name]
			return t != nil && t.Status.ObservedGeneration == t.Generation &&
				apimeta.IsStatusConditionTrue(t.Status.Conditions, meta.ReadyCondition) && f.text(name) == f.wanted[name]
		})
		if len(left) > 0 && time.Now().After(deadline) {
			for _, name := range left {
				if t := byName[name]; t != nil {
					f.t.Logf("%s: %s: %s", name, reasonOf(t), messageOf(t))
				}
			}
			require.Empty(f.t, left, "not within %s", within)
		}
	}
}

// exact fails the test where anything is missing, or stays that should not be there: a
// Transform is Ready before Flux has let go of the source of a layer that it has no more.
func (f *fleet) exact() {
	f.t.Helper()
	want := f.named()
	for deadline := time.Now().Add(soon); ; time.Sleep(25 * time.Millisecond) {
		have := f.there()
		require.Subset(f.t, have, want, "what is wanted is there from the beginning")
		if slices.Equal(want, have) {
			return
		}
		if time.Now().After(deadline) {
			require.Equal(f.t, want, have)
		}
	}
}

// named are the objects that should be there.
func (f *fleet) named() (want []string) {
	for name := range f.wanted {
		want = append(want, "ConfigMap "+name+"-config", "Deployment "+name+"-first", "Deployment "+name+"-second")
		units := []string{"layer-00"}
		if f.split[name] {
			units = append(units, "layer-01")
		}
		for _, unit := range units {
			want = append(want, "Kustomization "+name+"-"+unit, "OCIRepository "+name+"-"+unit)
		}
	}
	slices.Sort(want)
	return want
}

// there are those that are.
func (f *fleet) there() (have []string) {
	f.t.Helper()
	collect := func(kind string, list client.ObjectList) {
		require.NoError(f.t, f.Client.List(f.t.Context(), list, client.InNamespace(f.namespace)))
		require.NoError(f.t, apimeta.EachListItem(list, func(o runtime.Object) error {
			at, err := apimeta.Accessor(o)
			if err == nil && at.GetName() != "kube-root-ca.crt" {
				have = append(have, kind+" "+at.GetName())
			}
			return err
		}))
	}
	collect("ConfigMap", &corev1.ConfigMapList{})
	collect("Deployment", &appsv1.DeploymentList{})
	for name := range f.wanted {
		for _, k := range f.kustomizations(name) {
			have = append(have, "Kustomization "+k.Name)
		}
	}
	collect("OCIRepository", &sourcev1.OCIRepositoryList{})
	slices.Sort(have)
	return have
}

// TestWhoeverIsKilledAtAnyMomentLosesNothing kills the controller 50 times at random
// moments, while 20 Transforms change, and some of them are deleted.
func TestWhoeverIsKilledAtAnyMomentLosesNothing(t *testing.T) {
	const count, kills = 20, 50
	n := newTenant(t, "--enable-leader-election=false")
	f := &fleet{tenant: n, wanted: map[string]string{}, split: map[string]bool{}}
	j := n.journal(t, n.namespace, corev1.SchemeGroupVersion.WithKind("ConfigMap"), appsv1.SchemeGroupVersion.WithKind("Deployment"))
	random := rand.New(rand.NewPCG(6, 50)) //nolint:gosec // which ones, and when
	began := time.Now()
	for i := range count {
		f.set(fmt.Sprintf("t%02d", i), "start", i%2 == 0)
	}
	gone, moved := map[string]bool{}, 0
	for kill := range kills {
		name := fmt.Sprintf("t%02d", random.IntN(count))
		for range 3 {
			if split := random.IntN(3) == 0; !gone[name] {
				if split {
					moved++
				}
				f.set(name, fmt.Sprintf("text-%d", kill), f.split[name] != split)
			}
			name = fmt.Sprintf("t%02d", random.IntN(count))
		}
		if kill%15 == 14 {
			n.Kubectl(t, "-n", n.namespace, "delete", "transform", name, "--wait=false", "--ignore-not-found")
			gone[name] = true
			delete(f.wanted, name)
			delete(f.split, name)
		}
		time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond)
		n.controller.Kill()
		for name := range f.wanted {
			if random.IntN(5) == 0 {
				n.whole(name)
			}
		}
		n.controller.Restart(t)
		if kill%5 != 0 {
			// Some are killed before they are up.
			n.Await(t, startup, "it lives", func() bool { _, ok := page(t.Context(), n.controller.health, "/readyz"); return ok })
		}
	}
	ended := time.Now()
	f.settled(3 * time.Minute)
	t.Logf("%d kills in %s; %d Deployments were to change their layer; all %d Transforms are Ready %s after the last kill",
		kills, ended.Sub(began).Round(time.Second), moved, len(f.wanted), time.Since(ended).Round(100*time.Millisecond))
	n.Await(t, soon, "those that were deleted are gone", func() bool {
		return !slices.ContainsFunc(slices.Collect(maps.Keys(gone)), func(name string) bool {
			return !apierrors.IsNotFound(n.Client.Get(t.Context(), client.ObjectKey{Namespace: n.namespace, Name: name}, &v1alpha1.Transform{}))
		})
	})
	f.exact()
	for _, what := range j.deletions(t) {
		_, name, _ := strings.Cut(what, "/")
		owner, _, _ := strings.Cut(name, "-")
		require.True(t, gone[owner], "%s was deleted, and is wanted", what)
	}
	tags := 0
	for name := range f.wanted {
		tags += n.whole(name)
		require.Equal(t, n.get(name).Status.Artifact.Digest, n.tagged(name))
	}
	t.Logf("%d tags, all of them whole; deleted: %v and nothing else", tags, slices.Sorted(maps.Keys(gone)))
}

// TestTheNextReplicaGoesOnWhereTheLastOneWasKilled: two of them, with Transforms in the
// middle of a change.
func TestTheNextReplicaGoesOnWhereTheLastOneWasKilled(t *testing.T) {
	n := newTenant(t)
	f := &fleet{tenant: n, wanted: map[string]string{}, split: map[string]bool{}}
	for i := range 6 {
		f.set(fmt.Sprintf("t%02d", i), "one", i%2 == 0)
	}
	f.settled(soon)
	second := startReplica(t, n.Cluster, "ropewalk-controller-2")
	for i := range 6 {
		f.set(fmt.Sprintf("t%02d", i), "two", i%2 == 1)
	}
	time.Sleep(400 * time.Millisecond)
	n.controller.Kill()
	began := time.Now()
	f.settled(soon)
	t.Logf("6 Transforms that were being changed are Ready %s after the kill, the lease of 15s included", time.Since(began).Round(100*time.Millisecond))
	f.exact()
	n.controller = second
	allowed(t, second)
}

// TestAnAPIServerThatIsRestartedHoldsNobodyUp: in the middle of a change, too.
func TestAnAPIServerThatIsRestartedHoldsNobodyUp(t *testing.T) {
	long(t)
	n := newTenant(t, "--enable-leader-election=false")
	f := &fleet{tenant: n, wanted: map[string]string{}, split: map[string]bool{}}
	for i := range 6 {
		f.set(fmt.Sprintf("t%02d", i), "one", i%2 == 0)
	}
	f.settled(soon)
	for round := range 3 {
		for i := range 6 {
			f.set(fmt.Sprintf("t%02d", i), fmt.Sprintf("round-%d", round), (i+round)%2 == 1)
		}
		time.Sleep(time.Duration(200*(round+1)) * time.Millisecond)
		began := time.Now()
		n.RestartAPIServer(t)
		back := time.Now()
		f.settled(soon)
		t.Logf("the API server was away for %s; all are Ready %s after that", back.Sub(began).Round(100*time.Millisecond), time.Since(back).Round(100*time.Millisecond))
		f.exact()
	}
	require.True(t, n.controller.Running())
	_, ok := page(t.Context(), n.controller.health, "/readyz")
	require.True(t, ok)
}
