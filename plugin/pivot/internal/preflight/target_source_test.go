// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
)

// pair are two planes, the source with a cluster.
type pair struct {
	source, target *planetest.Server
}

func newPair(workers int) *pair {
	p := &pair{source: planetest.New("source", planetest.ClusterAPI()...), target: planetest.New("target", planetest.ClusterAPI()...)}
	for _, o := range planetest.Cluster("apps", "blue", workers) {
		if o.GetKind() == "Machine" {
			_ = unstructured.SetNestedField(o.Object, "node-"+o.GetName(), "status", "nodeRef", "name")
		}
		p.source.Put(o)
	}
	return p
}

func ref(group, kind, name string) plane.Ref {
	return plane.Ref{Group: group, Kind: kind, Namespace: "apps", Name: name}
}

// set is what is moved, at versions that both planes serve.
func (p *pair) set(t *testing.T, cp ...plane.Ref) (inventory.Set, plane.Kinds) {
	t.Helper()
	ctx := context.Background()
	from, err := p.source.Plane().Kinds(ctx)
	require.NoError(t, err)
	to, err := p.target.Plane().Kinds(ctx)
	require.NoError(t, err)
	kinds := Common(from, to)
	set, err := inventory.Read(ctx, p.source.Plane(), kinds, types.NamespacedName{Namespace: "apps", Name: "blue"}, inventory.Options{Copy: cp})
	require.NoError(t, err)
	return set, kinds
}

// check is what Target finds.
func (p *pair) check(t *testing.T, there bool, cp ...plane.Ref) []string {
	t.Helper()
	set, kinds := p.set(t, cp...)
	return lines(Target(context.Background(), p.target.Plane(), kinds, Samples(set), there))
}

func lines(f inventory.Findings) []string {
	var out []string
	for _, f := range f {
		out = append(out, f.String())
	}
	return out
}

func (p *pair) untouched(t *testing.T) {
	t.Helper()
	for _, s := range []*planetest.Server{p.source, p.target} {
		for _, r := range s.Requests() {
			require.False(t, r.Write(), "%s %s", r.Verb, r.Ref)
		}
	}
}

func TestTwoPlanesThatAreReady(t *testing.T) {
	p := newPair(3)
	set, kinds := p.set(t)
	_, findings := Kinds(kinds, kinds, set)
	require.Empty(t, findings)
	require.Empty(t, lines(Source(context.Background(), p.source.Plane(), kinds, set)))
	require.Empty(t, p.check(t, false))
	p.untouched(t)
	p.target.Put(planetest.Object("v1", "Namespace", "", "apps"))
	require.Empty(t, p.check(t, true))
	p.untouched(t)
	tried := 0
	for _, r := range p.target.Requests() {
		if r.DryRun {
			require.Equal(t, "Strict", r.Validation)
			require.Empty(t, r.Object.GetOwnerReferences())
			tried++
		}
	}
	require.Equal(t, 2*len(planetest.ClusterAPI())-2*3, tried, "one of each kind that the cluster has")
}

func TestSamplesAreOneOfEachShapeAndHaveNoSecrets(t *testing.T) {
	p := newPair(20)
	p.source.Edit(ref(planetest.Core, "Machine", "blue-md-0-7"), "user", func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, "zone-a", "spec", "failureDomain")
	})
	for i := range 20 {
		p.source.Edit(ref(planetest.Bootstrap, "KubeadmConfig", fmt.Sprintf("blue-md-0-%d", i)), "user", func(o *unstructured.Unstructured) {
			_ = unstructured.SetNestedSlice(o.Object, []any{map[string]any{fmt.Sprintf("field%d", i): "x"}}, "spec", "files")
		})
	}
	set, _ := p.set(t)
	count := map[string]int{}
	samples := Samples(set)
	require.Len(t, samples, len(set.Items))
	for _, e := range samples {
		if e.Object != nil {
			count[e.Ref.Kind]++
		}
	}
	require.Equal(t, 2, count["Machine"])
	require.Equal(t, maxShapes, count["KubeadmConfig"])
	require.Zero(t, count["Secret"])
	text, err := json.Marshal(samples)
	require.NoError(t, err)
	require.NotContains(t, string(text), "Y2Eta2V5")
	for _, item := range set.Items {
		require.NotEmpty(t, item.Object, "the set is not altered")
	}
}

func TestClusterThatIsNotAtRest(t *testing.T) {
	p := newPair(1)
	p.source.Edit(ref(planetest.Core, "Cluster", "blue"), "argocd", func(o *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(o.Object, true, "spec", "paused")
		o.SetAnnotations(map[string]string{"cluster.x-k8s.io/paused": ""})
	})
	p.source.Edit(ref(planetest.Core, "Machine", "blue-md-0-0"), "user", func(o *unstructured.Unstructured) {
		unstructured.RemoveNestedField(o.Object, "status", "nodeRef")
	})
	p.source.Terminate("nowhere")
	set, kinds := p.set(t)
	for i := range set.Items {
		if set.Items[i].Ref.Kind == "DevMachine" {
			set.Items[i].Busy = []string{inventory.Deleting}
		}
		if set.Items[i].Ref.Kind == "DevCluster" {
			set.Items[i].Busy, set.Items[i].Stays = []string{inventory.Deleting}, true
		}
	}
	got := lines(Source(context.Background(), p.source.Plane(), kinds, set))
	require.Equal(t, []string{
		"Cluster.cluster.x-k8s.io apps/blue: is paused on the source plane already, by an unknown field manager, annotation: let that end and unpause the Cluster; or, where a pivot paused it, resume or abort that pivot",
		"Machine.cluster.x-k8s.io apps/blue-md-0-0: is not at rest on the source plane: has no node yet: wait until its controller is done, or see in its conditions what keeps it",
		"DevMachine.infrastructure.cluster.x-k8s.io apps/blue-cp-0: is not at rest on the source plane: is being deleted: wait until it is gone, or see which of its finalizers are left",
		"DevMachine.infrastructure.cluster.x-k8s.io apps/blue-md-0-0: is not at rest on the source plane: is being deleted: wait until it is gone, or see which of its finalizers are left",
	}, got)
}

func TestMissingRightsAreReportedAllAtOnce(t *testing.T) {
	p := newPair(1)
	set, kinds := p.set(t)
	p.source.Denied = map[plane.Right]bool{
		{Verb: "delete", Group: planetest.Core, Resource: "machines", Namespace: "apps"}: true,
		{Verb: "update", Group: planetest.Core, Resource: "machines", Namespace: "apps"}: true,
		{Verb: "create", Resource: "configmaps", Namespace: "apps"}:                      true,
	}
	require.Equal(t, []string{
		`Cluster.cluster.x-k8s.io apps/blue: user tester of the source plane may not create configmaps in namespace apps: grant it with a Role with apiGroups [""], resources ["configmaps"], verbs ["create"]`,
		`Cluster.cluster.x-k8s.io apps/blue: user tester of the source plane may not delete, update machines.cluster.x-k8s.io in namespace apps: grant it with a Role with apiGroups ["cluster.x-k8s.io"], resources ["machines"], verbs ["delete", "update"]`,
	}, lines(Source(context.Background(), p.source.Plane(), kinds, set)))

	p.target.Denied = map[plane.Right]bool{
		{Verb: "create", Resource: "namespaces"}:                                         true,
		{Verb: "list", Group: planetest.Core, Resource: "machines", Namespace: "apps"}:   true,
		{Verb: "create", Group: planetest.Core, Resource: "machines", Namespace: "apps"}: true,
		{Verb: "list", Resource: "secrets", Namespace: "apps"}:                           true,
	}
	p.target.Before = func(r planetest.Request) error {
		require.False(t, r.Ref.Kind == "Machine" && (r.DryRun || r.Verb == "list"), "what is forbidden is not tried")
		return nil
	}
	require.Equal(t, []string{
		`Cluster.cluster.x-k8s.io apps/blue: user tester of the target plane may not create namespaces in all namespaces: grant it with a ClusterRole with apiGroups [""], resources ["namespaces"], verbs ["create"]`,
		`Cluster.cluster.x-k8s.io apps/blue: user tester of the target plane may not create, list machines.cluster.x-k8s.io in namespace apps: grant it with a Role with apiGroups ["cluster.x-k8s.io"], resources ["machines"], verbs ["create", "list"]`,
		`Cluster.cluster.x-k8s.io apps/blue: user tester of the target plane may not list secrets in namespace apps: grant it with a Role with apiGroups [""], resources ["secrets"], verbs ["list"]`,
	}, lines(Target(context.Background(), p.target.Plane(), kinds, Samples(set), false)))
	p.untouched(t)
}

func TestWhatStaysIsNeverDeletedFromTheSource(t *testing.T) {
	p := newPair(0)
	set, kinds := p.set(t)
	for i := range set.Items {
		set.Items[i].Stays = set.Items[i].Ref.Kind == "DevCluster"
	}
	p.source.Denied = map[plane.Right]bool{
		{Verb: "delete", Group: planetest.Infrastructure, Resource: "devclusters", Namespace: "apps"}: true,
		{Verb: "get", Group: planetest.Infrastructure, Resource: "devclusters", Namespace: "apps"}:    true,
	}
	got := lines(Source(context.Background(), p.source.Plane(), kinds, set))
	require.Len(t, got, 1)
	require.Contains(t, got[0], "may not get devclusters")
}

func TestPlaneThatDoesNotAnswer(t *testing.T) {
	p := newPair(0)
	set, kinds := p.set(t)
	p.target.Kill(0)
	require.Empty(t, lines(Target(context.Background(), p.target.Plane(), kinds, Samples(set), false)), "a review is no write")
	p.target.Before = func(r planetest.Request) error {
		if r.Ref.Group == "authorization.k8s.io" || r.Verb == "list" {
			return planetest.ErrKilled
		}
		return nil
	}
	got := lines(Target(context.Background(), p.target.Plane(), kinds, Samples(set), false))
	require.Len(t, got, 2)
	require.Contains(t, got[0], "looking for objects that are there already: ")
	require.Contains(t, got[1], "the rights of the user of its kubeconfig cannot be reviewed: ")

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.NotEmpty(t, Target(ctx, p.target.Plane(), kinds, Samples(set), false))
}

func TestUserWithoutAName(t *testing.T) {
	p := newPair(0)
	set, kinds := p.set(t)
	p.source.User = ""
	p.source.Denied = map[plane.Right]bool{{Verb: "get", Resource: "namespaces"}: true}
	got := lines(Source(context.Background(), p.source.Plane(), kinds, set))
	require.Len(t, got, 1)
	require.Contains(t, got[0], "user of the kubeconfig of the source plane may not get namespaces in all namespaces")
}

func TestKindsOfBothPlanes(t *testing.T) {
	p := newPair(1)
	set, from := p.set(t)
	gk := func(group, kind string) schema.GroupKind { return schema.GroupKind{Group: group, Kind: kind} }
	to := Common(from, from)
	delete(to, gk(planetest.Core, "MachineSet"))
	delete(to, gk(planetest.Addons, "ClusterResourceSet"))
	change := func(group, kind string, f func(*plane.Kind)) {
		k := to[gk(group, kind)]
		f(&k)
		to[gk(group, kind)] = k
	}
	change(planetest.Core, "Machine", func(k *plane.Kind) { k.Served = []string{"v1beta3"} })
	change(planetest.Core, "Cluster", func(k *plane.Kind) { k.Served = []string{"v1beta1"} })
	change(planetest.Infrastructure, "DevCluster", func(k *plane.Kind) { k.Namespaced = false })
	change(planetest.Infrastructure, "DevMachine", func(k *plane.Kind) { k.Resource = "devmachineses" })
	got, findings := Kinds(from, to, set)
	require.Equal(t, []string{
		"CustomResourceDefinition.apiextensions.k8s.io machines.cluster.x-k8s.io: has no version that both planes serve: the source plane serves v1beta2, v1beta1, the target plane v1beta3: upgrade the provider on the plane that has the older one",
		"CustomResourceDefinition.apiextensions.k8s.io machinesets.cluster.x-k8s.io: is not on the target plane, and 1 objects of kind MachineSet are to be moved: install the CustomResourceDefinition there, with the provider that it belongs to, in the version of the source plane",
		"CustomResourceDefinition.apiextensions.k8s.io devclusters.infrastructure.cluster.x-k8s.io: has another scope, or another plural name, on the target plane: install the same provider in the same version on both planes",
		"CustomResourceDefinition.apiextensions.k8s.io devmachines.infrastructure.cluster.x-k8s.io: has another scope, or another plural name, on the target plane: install the same provider in the same version on both planes",
	}, lines(findings))
	require.Equal(t, "v1beta1", got[gk(planetest.Core, "Cluster")].Version)
	require.Equal(t, "v1beta2", got[gk(planetest.Core, "MachineDeployment")].Version)
	require.Equal(t, "v1beta2", from[gk(planetest.Core, "Cluster")].Version, "the argument is not altered")
	require.True(t, strings.HasPrefix(findings.Error(), "CustomResourceDefinition"))
}
