// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package application

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
)

func digest(of string) string { return "sha256:" + strings.Repeat(of, 64) }

// rig is an engine before a store of objects, which test/e2e has for real with
// Argo CD behind it; here tests play Argo CD.
type rig struct {
	*Engine
	t         *testing.T
	transform *v1alpha1.Transform
	now       time.Time
}

func newRig(t *testing.T, objects ...client.Object) *rig {
	t.Helper()
	scheme := runtime.NewScheme()
	gvk := GroupVersionKind()
	scheme.AddKnownTypeWithName(gvk, &unstructured.Unstructured{})
	gvk.Kind += "List"
	scheme.AddKnownTypeWithName(gvk, &unstructured.UnstructuredList{})
	r := &rig{t: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	r.Engine = &Engine{
		Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(),
		Allow:  Allow{Namespaces: []string{"argocd"}, Projects: []string{"team/shop"}},
		Now:    func() time.Time { return r.now },
	}
	r.transform = &v1alpha1.Transform{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"},
		Spec: v1alpha1.TransformSpec{
			Output:   &v1alpha1.Output{OCI: &v1alpha1.OCIOutput{Repository: "oci://registry.example/web"}},
			Delivery: &v1alpha1.Delivery{Type: v1alpha1.EngineArgoCD, ArgoCD: &v1alpha1.ArgoCDDelivery{Project: "shop"}},
		},
	}
	return r
}

func want(of string) delivery.Desired {
	return delivery.Desired{Digest: digest(of), Layers: []delivery.Layer{{
		Name: "layer-01", Waves: []int32{1, 0},
		Objects: []delivery.ObjectRef{
			{Node: "web/app", Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "team", Name: "app"},
			{Node: "web/config", Version: "v1", Kind: "ConfigMap", Namespace: "team", Name: "config"},
		},
	}}}
}

func (r *rig) deliver(of string) delivery.Progress {
	r.t.Helper()
	p, err := r.Deliver(r.t.Context(), r.transform, want(of))
	require.NoError(r.t, err)
	require.Len(r.t, p.Layers, 1)
	require.Equal(r.t, p.Ready, p.Layers[0].State == v1alpha1.LayerReady)
	require.Equal(r.t, p.Ready, p.Message == "")
	return p
}

func (r *rig) live() *unstructured.Unstructured {
	r.t.Helper()
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(GroupVersionKind())
	require.NoError(r.t, r.Client.Get(r.t.Context(), client.ObjectKey{Namespace: "argocd", Name: "team.web"}, live))
	return live
}

// argo changes the live Application as Argo CD would: parts of its status.
func (r *rig) argo(parts map[string]any) {
	r.t.Helper()
	live := r.live()
	status, _ := live.Object["status"].(map[string]any)
	if status == nil {
		status = map[string]any{}
	}
	maps.Copy(status, parts)
	live.Object["status"] = status
	delete(live.Object, "operation")
	require.NoError(r.t, r.Client.Update(r.t.Context(), live))
}

func compared(of, status string) map[string]any {
	return map[string]any{"status": status, "revision": digest(of), "comparedTo": map[string]any{
		"source": map[string]any{"repoURL": "oci://registry.example/web", "path": ".", "targetRevision": digest(of)},
	}}
}

func operation(of, phase, message string, finished time.Time) map[string]any {
	out := map[string]any{
		"phase": phase, "message": message,
		"operation":  map[string]any{"sync": map[string]any{"revision": digest(of)}, "initiatedBy": map[string]any{"automated": true}},
		"syncResult": map[string]any{"revision": digest(of)},
	}
	if !finished.IsZero() {
		out["finishedAt"] = finished.Format(time.RFC3339)
	}
	return out
}

func TestAnApplicationIsMadeAndFollowsTheDigest(t *testing.T) {
	r := newRig(t)
	p := r.deliver("a")
	require.Equal(t, []string{"team.web"}, p.Changed)
	require.Equal(t, v1alpha1.LayerStatus{
		Name: "team.web", Waves: []int32{0, 1}, Digest: digest("a"), State: v1alpha1.LayerApplying, Objects: 2,
		Message: "waiting for Argo CD to compare the new digest",
	}, p.Layers[0])

	live := r.live()
	require.Equal(t, map[string]any{
		"project":     "shop",
		"source":      map[string]any{"repoURL": "oci://registry.example/web", "path": ".", "targetRevision": digest("a")},
		"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "team"},
		"syncPolicy": map[string]any{
			"automated": map[string]any{"prune": true, "selfHeal": false},
			"retry":     map[string]any{"limit": int64(3), "backoff": map[string]any{"duration": "5s", "factor": int64(2), "maxDuration": "1m"}},
			// Said also where it is so anyway: what is not said is that of the last sync.
			"syncOptions": []any{"FailOnSharedResource=false"},
		},
	}, live.Object["spec"])
	require.Empty(t, live.GetFinalizers(), "who deletes it by mistake loses nothing")
	require.Equal(t, "web", live.GetLabels()[v1alpha1.LabelTransform])

	r.argo(map[string]any{"sync": compared("a", outOfSync), "operationState": operation("a", phaseRunning, "waiting for healthy state of apps/Deployment/app", time.Time{})})
	require.Contains(t, r.deliver("a").Message, "Application argocd/team.web: waiting for healthy state of apps/Deployment/app")
	r.argo(map[string]any{"sync": compared("a", synced), "health": map[string]any{"status": healthy}, "operationState": operation("a", phaseSucceeded, "", r.now)})
	version := r.live().GetResourceVersion()
	p = r.deliver("a")
	require.True(t, p.Ready)
	require.Equal(t, digest("a"), p.Layers[0].Applied)
	require.Equal(t, version, r.live().GetResourceVersion(), "what is as it should be is not written")

	p = r.deliver("b")
	require.Equal(t, []string{"team.web"}, p.Changed)
	require.False(t, p.Ready)
	require.Equal(t, digest("b"), text(r.live(), "spec", "source", "targetRevision"))
	require.False(t, r.deliver("b").Ready, "the status is that of the digest before")
	r.argo(map[string]any{"sync": compared("b", synced)})
	require.True(t, r.deliver("b").Ready, "a digest that changes no object needs no sync")
}

func TestAFieldThatIsNotWantedAnyMoreGoes(t *testing.T) {
	r := newRig(t)
	r.deliver("a")
	off := false
	r.transform.Spec.Delivery.ArgoCD.Automated = &off
	r.transform.Spec.Adopt = "Never"
	r.transform.Spec.Context = &v1alpha1.Context{Namespace: "prod"}
	require.Empty(t, r.deliver("a").Changed, "the digest is as it was")
	policy := r.live().Object["spec"].(map[string]any)["syncPolicy"].(map[string]any)
	require.NotContains(t, policy, "automated")
	require.Equal(t, []any{"CreateNamespace=true", "FailOnSharedResource=true"}, policy["syncOptions"])

	r.argo(map[string]any{"sync": compared("a", outOfSync)})
	p := r.deliver("a")
	require.Equal(t, v1alpha1.LayerWaiting, p.Layers[0].State)
	require.Contains(t, p.Message, "sync it in Argo CD")
}

func TestWhatSomebodyChangedIsChangedBack(t *testing.T) {
	r := newRig(t)
	r.deliver("a")
	live := r.live()
	live.Object["spec"].(map[string]any)["project"] = "admin"
	require.NoError(t, r.Client.Update(t.Context(), live))
	require.Empty(t, r.deliver("a").Changed)
	require.Equal(t, "shop", text(r.live(), "spec", "project"))
}

func TestWhatIsNotAllowedIsNotWritten(t *testing.T) {
	tests := map[string]struct {
		change  func(r *rig)
		reason  string
		message string
	}{
		"a namespace that is not on the list": {
			func(r *rig) { r.transform.Spec.Delivery.ArgoCD.Namespace = "kube-system" },
			v1alpha1.AccessDeniedReason, `not allowed to put Applications into namespace "kube-system"`,
		},
		"a project of another namespace": {
			func(r *rig) { r.transform.Namespace = "other" }, v1alpha1.AccessDeniedReason, `not allowed to use project "shop" for Transforms of namespace "other"`,
		},
		"the project that Argo CD has by itself": {
			func(r *rig) { r.transform.Spec.Delivery.ArgoCD.Project = "" }, v1alpha1.AccessDeniedReason, `project "default"`,
		},
		"an engine without lists": {
			func(r *rig) { r.Allow = Allow{} }, v1alpha1.AccessDeniedReason, `namespace "argocd"`,
		},
		"an output that Argo CD cannot read": {
			func(r *rig) { r.transform.Spec.Output = nil }, v1alpha1.InvalidReason, "set spec.output.oci",
		},
		"a name that is too long": {
			func(r *rig) { r.transform.Name = strings.Repeat("a", 250) }, v1alpha1.InvalidReason, "longer than 253",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			test.change(r)
			p := r.deliver("a")
			require.True(t, p.Stalled)
			require.Equal(t, test.reason, p.Reason)
			require.Contains(t, p.Message, test.message)
			var list unstructured.UnstructuredList
			list.SetGroupVersionKind(GroupVersionKind())
			require.NoError(t, r.Client.List(t.Context(), &list))
			require.Empty(t, list.Items)
		})
	}
}

func TestTheStarAllowsEverything(t *testing.T) {
	r := newRig(t)
	r.Allow = Allow{Namespaces: []string{"*"}, Projects: []string{"*"}}
	require.False(t, r.deliver("a").Stalled)
}

func TestAnApplicationOfSomebodyElseIsLeftAlone(t *testing.T) {
	other := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"project": "theirs"}}}
	other.SetGroupVersionKind(GroupVersionKind())
	other.SetNamespace("argocd")
	other.SetName("team.web")
	r := newRig(t, other)
	p := r.deliver("a")
	require.True(t, p.Stalled)
	require.Equal(t, v1alpha1.ForeignObjectsReason, p.Reason)
	require.Equal(t, "theirs", text(r.live(), "spec", "project"))

	done, _, err := r.Withdraw(t.Context(), r.transform)
	require.NoError(t, err)
	require.True(t, done)
	r.live()
}

// observed is a status of Argo CD, and what it means.
type observed struct {
	status  map[string]any
	state   string
	message string
	nodes   []v1alpha1.NodeStatus
	stalled bool
}

func observations() map[string]observed { //nolint:funlen // a table
	ok, now := map[string]any{"status": healthy}, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	deployment := func(more map[string]any) []any {
		out := map[string]any{"group": "apps", "kind": "Deployment", "namespace": "team", "name": "app", "status": synced}
		maps.Copy(out, more)
		return []any{out}
	}
	return map[string]observed{
		"degraded, and which object is": {
			status: map[string]any{
				"sync": compared("a", synced), "health": map[string]any{"status": degraded},
				"resources": deployment(map[string]any{"health": map[string]any{"status": degraded, "message": "exceeded its progress deadline"}}),
			},
			state: v1alpha1.LayerFailed, message: degraded,
			nodes: []v1alpha1.NodeStatus{{ID: "web/app", Object: "apps/Deployment team/app", State: "Failed", Message: "exceeded its progress deadline"}},
		},
		"progressing": {
			status: map[string]any{
				"sync": compared("a", synced), "health": map[string]any{"status": progressing},
				"resources": deployment(map[string]any{"health": map[string]any{"status": progressing, "message": "1 of 3"}}),
			},
			state: v1alpha1.LayerApplying, message: progressing,
			nodes: []v1alpha1.NodeStatus{{ID: "web/app", Object: "apps/Deployment team/app", State: "InProgress", Message: "1 of 3"}},
		},
		"a sync that failed, and what the API server said": {
			status: map[string]any{
				"sync": compared("a", outOfSync), "health": ok, "resources": deployment(map[string]any{"status": outOfSync}),
				"operationState": map[string]any{
					"phase": phaseFailed, "message": "one or more objects failed to apply", "finishedAt": now.Format(time.RFC3339),
					"syncResult": map[string]any{"revision": digest("a"), "resources": []any{map[string]any{
						"group": "apps", "kind": "Deployment", "namespace": "team", "name": "app", "status": "SyncFailed", "message": "field is immutable",
					}}},
				},
			},
			state: v1alpha1.LayerFailed, message: "one or more objects failed to apply",
			nodes: []v1alpha1.NodeStatus{{ID: "web/app", Object: "apps/Deployment team/app", State: "Failed", Message: "field is immutable"}},
		},
		"a registry that Argo CD cannot read": {
			status: map[string]any{"sync": compared("a", "Unknown"), "health": ok, "conditions": []any{
				map[string]any{"type": "ComparisonError", "message": "401 Unauthorized"},
			}},
			state: v1alpha1.LayerFailed, message: "ComparisonError: 401 Unauthorized",
		},
		"a project that forbids the destination waits for somebody": {
			status: map[string]any{"sync": compared("0", "Unknown"), "conditions": []any{
				map[string]any{"type": "ComparisonError", "message": "of the digest before"}, map[string]any{"type": invalidSpec, "message": "not permitted in project"},
			}},
			state: v1alpha1.LayerFailed, message: "not permitted in project", stalled: true,
		},
		"an object that is kept from being pruned": {
			status: map[string]any{
				"sync": compared("a", outOfSync), "health": ok, "operationState": operation("a", phaseSucceeded, "", now),
				"resources": deployment(map[string]any{"status": outOfSync, "requiresPruning": true}),
			},
			state: v1alpha1.LayerReady,
		},
		"an object that was pruned and is still there": {
			status: map[string]any{
				"sync": compared("a", outOfSync), "health": ok, "resources": deployment(map[string]any{"status": outOfSync, "requiresPruning": true}),
				"operationState": map[string]any{"phase": phaseSucceeded, "syncResult": map[string]any{"revision": digest("a"), "resources": deployment(map[string]any{"status": pruned})}},
			},
			state: v1alpha1.LayerApplying, message: outOfSync,
			nodes: []v1alpha1.NodeStatus{{ID: "web/app", Object: "apps/Deployment team/app", State: "InProgress", Message: "it is being deleted"}},
		},
		"an object that is yet to be pruned": {
			status: map[string]any{
				"sync": compared("a", outOfSync), "health": ok, "operationState": operation("0", phaseSucceeded, "", now),
				"resources": deployment(map[string]any{"status": outOfSync, "requiresPruning": true}),
			},
			state: v1alpha1.LayerApplying, message: outOfSync,
		},
		"a hook after the sync is under way": {
			status: map[string]any{"sync": compared("a", synced), "health": ok, "operationState": operation("a", phaseRunning, "", time.Time{})},
			state:  v1alpha1.LayerApplying, message: "syncing",
		},
		"another repository was compared": {
			status: map[string]any{"sync": map[string]any{"status": synced, "revision": digest("a"), "comparedTo": map[string]any{
				"source": map[string]any{"repoURL": "oci://registry.example/old", "targetRevision": digest("a")},
			}}, "health": ok},
			state: v1alpha1.LayerApplying, message: "to compare the new digest",
		},
	}
}

func TestTheStateIsReadBack(t *testing.T) {
	for name, test := range observations() {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.deliver("a")
			r.argo(test.status)
			p := r.deliver("a")
			require.Equal(t, test.state, p.Layers[0].State)
			require.Contains(t, p.Layers[0].Message, test.message)
			require.Equal(t, test.state == v1alpha1.LayerFailed, p.Failed)
			require.Equal(t, test.stalled, p.Stalled)
			require.Equal(t, test.nodes, p.Nodes)
		})
	}
}

func TestWithdrawingDeletesWhatWasApplied(t *testing.T) {
	r := newRig(t)
	r.deliver("a")
	done, waiting, err := r.Withdraw(t.Context(), r.transform)
	require.NoError(t, err)
	require.False(t, done)
	require.Contains(t, waiting, "argocd/team.web")
	live := r.live()
	require.Equal(t, []string{cascade}, live.GetFinalizers())
	require.NotNil(t, live.GetDeletionTimestamp())
	require.Contains(t, r.deliver("a").Message, "Argo CD is deleting the Application")

	r.argo(map[string]any{"conditions": []any{map[string]any{"type": "DeletionError", "message": "the cluster does not answer"}}})
	_, waiting, err = r.Withdraw(t.Context(), r.transform)
	require.NoError(t, err)
	require.Contains(t, waiting, "the cluster does not answer")

	live = r.live()
	live.SetFinalizers(nil) // Argo CD has deleted the objects
	require.NoError(t, r.Client.Update(t.Context(), live))
	done, waiting, err = r.Withdraw(t.Context(), r.transform)
	require.NoError(t, err)
	require.True(t, done)
	require.Empty(t, waiting)
}

func TestWithdrawingMayLeaveTheObjects(t *testing.T) {
	r := newRig(t)
	r.deliver("a")
	live := r.live()
	live.SetFinalizers([]string{cascade + "/foreground", "example.com/other"})
	require.NoError(t, r.Client.Update(t.Context(), live))
	r.transform.Spec.Delivery = &v1alpha1.Delivery{DeletionPolicy: "Orphan"} // without a template any more
	done, _, err := r.Withdraw(t.Context(), r.transform)
	require.NoError(t, err)
	require.False(t, done, "somebody else has something to do first")
	require.Equal(t, []string{"example.com/other"}, r.live().GetFinalizers())
}

func TestAnApplicationMovesWithItsObjects(t *testing.T) {
	r := newRig(t)
	r.Allow.Namespaces = []string{"argocd", "argocd-2"}
	r.deliver("a")
	r.transform.Spec.Delivery.ArgoCD.Namespace = "argocd-2"
	require.Contains(t, r.deliver("a").Message, `moves here from namespace "argocd"`)
	require.NotEmpty(t, r.deliver("a").Changed)
	owned, err := r.Owned(t.Context(), r.Client, r.transform)
	require.NoError(t, err)
	require.Len(t, owned, 1)
	require.Equal(t, "argocd-2", owned[0].GetNamespace())
}
