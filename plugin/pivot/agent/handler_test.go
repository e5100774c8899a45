// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/bootstrap"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/planetest"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

func TestWhatAnAgentAccepts(t *testing.T) {
	c := &v1alpha1.PivotCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	const capi, outside, kind = "cluster.x-k8s.io", `only objects of namespace "rw-blue" are taken`, "only objects of Cluster API, Secrets and ConfigMaps are taken"
	for _, at := range []struct {
		ref  plane.Ref
		says string
	}{
		{plane.Ref{Group: capi, Kind: "Cluster", Namespace: "rw-blue", Name: name}, ""},
		{plane.Ref{Group: capi, Kind: "Machine", Namespace: "rw-blue", Name: "any"}, ""},
		{plane.Ref{Group: "controlplane." + capi, Kind: "KubeadmControlPlane", Namespace: "rw-blue", Name: "any"}, ""},
		{plane.Ref{Group: "infrastructure." + capi, Kind: "AWSMachine", Namespace: "rw-blue", Name: "any"}, ""},
		{plane.Ref{Group: "infrastructure." + capi, Kind: "AWSClusterStaticIdentity", Name: "any"}, ""},
		{plane.Ref{Kind: "Secret", Namespace: "rw-blue", Name: "any"}, ""},
		{plane.Ref{Kind: "ConfigMap", Namespace: "rw-blue", Name: "any"}, ""},

		{plane.Ref{Group: capi, Kind: "Cluster", Namespace: "rw-blue", Name: "green"}, `only the Cluster "blue" is taken`},
		{plane.Ref{Group: capi, Kind: "Machine", Namespace: "rw-green", Name: "any"}, outside},
		{plane.Ref{Kind: "Secret", Namespace: "kube-system", Name: "any"}, outside},
		{plane.Ref{Kind: "Secret", Namespace: "ropewalk-system", Name: "ropewalk-agent"}, outside},
		{plane.Ref{Kind: "ConfigMap", Namespace: "default", Name: "any"}, outside},
		{plane.Ref{Kind: "Namespace", Name: "rw-blue"}, outside},
		{plane.Ref{Group: "runtime." + capi, Kind: "ExtensionConfig", Name: "any"}, outside},
		{plane.Ref{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "any"}, outside},
		{plane.Ref{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration", Name: "any"}, outside},
		{plane.Ref{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding", Namespace: "rw-blue", Name: "any"}, kind},
		{plane.Ref{Kind: "Pod", Namespace: "rw-blue", Name: "any"}, kind},
		{plane.Ref{Kind: "ServiceAccount", Namespace: "rw-blue", Name: "any"}, kind},
		{plane.Ref{Group: "apps", Kind: "Deployment", Namespace: "rw-blue", Name: "any"}, kind},
		{plane.Ref{Group: "evilcluster.x-k8s.io", Kind: "Machine", Namespace: "rw-blue", Name: "any"}, kind},
		{plane.Ref{Group: "other.test", Kind: "Secret", Namespace: "rw-blue", Name: "any"}, kind},
		{plane.Ref{Group: v1alpha1.Group, Kind: "Transform", Namespace: "rw-blue", Name: name}, kind},
	} {
		if err := accepts(c, at.ref); at.says == "" {
			require.NoError(t, err, "%s", at.ref)
		} else {
			require.EqualError(t, err, at.says, "%s", at.ref)
			row(t, "an import of "+at.ref.String(), "refused", "(none: the answer is "+at.says+")")
		}
	}
}

func TestNothingIsAcceptedBeforeTheBootstrap(t *testing.T) {
	w := newWorld(t)
	says := func(a *Agent) string { return a.Pivot(t.Context(), state.Request{Op: state.Hello}).Message }
	require.Equal(t, "the agent is not enrolled", says(w.agent()))
	a := w.enrolled()
	require.Equal(t, "the child has not been given its PivotCluster yet", says(a))
	require.NoError(t, a.bootstrap(t.Context(), sent(t, nil)))

	answer := a.Pivot(t.Context(), state.Request{Op: state.Hello, Cluster: plane.Ref{Group: "cluster.x-k8s.io", Kind: "Cluster", Namespace: "rw-blue", Name: name}})
	require.Empty(t, answer.Refused, answer.Message)
	answer = a.Pivot(t.Context(), state.Request{Op: state.Hello, Cluster: plane.Ref{Group: "cluster.x-k8s.io", Kind: "Cluster", Namespace: "rw-green", Name: "green"}})
	require.NotEmpty(t, answer.Refused)
	ended, end := context.WithCancel(t.Context())
	end()
	require.Equal(t, state.Unavailable, a.Pivot(ended, state.Request{Op: state.Hello}).Refused)
}

func TestABootstrapThatIsRefusedChangesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		m    func(*testing.T) *wire.Bootstrap
		says string
	}{
		"that of another cluster": {
			func(t *testing.T) *wire.Bootstrap {
				return sent(t, func(b *bootstrap.Bootstrap) { b.Identity = "parent-uid/pc-2" })
			}, `it is that of another cluster, "parent-uid/pc-2": this one is "parent-uid/pc-1"`,
		},
		"that of another parent": {
			func(t *testing.T) *wire.Bootstrap {
				return sent(t, func(b *bootstrap.Bootstrap) { b.Identity = "other-uid/pc-1" })
			}, `it is that of another cluster, "other-uid/pc-1": this one is "parent-uid/pc-1"`,
		},
		"a Secret of the system": {
			func(t *testing.T) *wire.Bootstrap {
				return sent(t, func(b *bootstrap.Bootstrap) { b.Secrets[0].Namespace = "kube-system" })
			}, `Secret kube-system/cloud: credentials may not be in namespace "kube-system"`,
		},
		"a Secret beside that of the agent": {
			func(t *testing.T) *wire.Bootstrap {
				return sent(t, func(b *bootstrap.Bootstrap) { b.Secrets[0].Namespace = "ropewalk-system" })
			}, `credentials may not be in namespace "ropewalk-system"`,
		},
		"a token of a ServiceAccount": {
			func(t *testing.T) *wire.Bootstrap {
				return sent(t, func(b *bootstrap.Bootstrap) { b.Secrets[0].Type = corev1.SecretTypeServiceAccountToken })
			}, `credentials may not be of type "kubernetes.io/service-account-token"`,
		},
		"one of a later version": {
			func(*testing.T) *wire.Bootstrap {
				return &wire.Bootstrap{Id: "1", PivotCluster: []byte(`{"identity":"` + identity + `","` + canary + `":1}`)}
			}, "the bootstrap that the parent sent cannot be read: both must have the same version",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			a := w.enrolled()
			_, address := w.links()
			s := w.secret()
			s.Data["link"] = []byte(address)
			require.NoError(t, w.client.Update(t.Context(), s))
			w.faults.Create = func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
				return fmt.Errorf("%T is not to be written", o)
			}
			w.start(a)
			a.Bootstrap(t.Context(), c.m(t))
			require.Eventually(t, func() bool { return w.lastComplete() != nil }, 20*time.Second, 5*time.Millisecond)
			require.Contains(t, w.lastComplete().GetError(), c.says)
			showsNo(t, w.lastComplete().GetError(), canary)
			row(t, "a bootstrap: "+name, "refused", w.logged("the bootstrap is refused"))
		})
	}
}

func TestASecretOfTheChildIsNotReplaced(t *testing.T) {
	w := newWorld(t)
	a := w.enrolled()
	require.NoError(t, w.client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "capa-system", Name: "cloud"}, Data: map[string][]byte{"key": []byte("mine")}}))
	require.ErrorContains(t, a.bootstrap(t.Context(), sent(t, nil)), "Secret capa-system/cloud is on the child already, with other data")
	var s corev1.Secret
	require.NoError(t, w.client.Get(t.Context(), types.NamespacedName{Namespace: "capa-system", Name: "cloud"}, &s))
	require.Equal(t, "mine", string(s.Data["key"]))
	require.Error(t, w.client.Get(t.Context(), types.NamespacedName{Name: name}, &v1alpha1.PivotCluster{}))
}

// TestAServerThatQuotesASecret: what an API server says of a request may hold its values.
func TestAServerThatQuotesASecret(t *testing.T) {
	w := newWorld(t)
	a := w.enrolled()
	w.faults.Create = func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		if s, ok := o.(*corev1.Secret); ok {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, s.Name, errors.New("denied: "+string(s.Data["key"])))
		}
		return c.Create(ctx, o, opts...)
	}
	a.Bootstrap(t.Context(), sent(t, nil)) // What is logged is looked at when the test ends.
	require.Contains(t, w.log.String(), "Secret capa-system/cloud on the child: Forbidden")
}

func TestABootstrapIsCompleteOnceTheEngineHasAppliedIt(t *testing.T) {
	w := newWorld(t)
	a := w.enrolled()
	server, address := w.links()
	s := w.secret()
	s.Data["link"] = []byte(address)
	require.NoError(t, w.client.Update(t.Context(), s))
	w.start(a)
	require.Eventually(t, func() bool { return server.Connected("pc-1") }, 20*time.Second, 5*time.Millisecond)
	does := func(s wire.AgentState) func() bool {
		return func() bool { return wire.AgentState(a.doing.Load()) == s }
	}
	require.Eventually(t, does(wire.AgentState_AGENT_STATE_WAITING), 20*time.Second, 5*time.Millisecond)
	m := sent(t, nil)
	require.NoError(t, server.Bootstrap(t.Context(), "pc-1", m))
	reported := func(message string) func() bool {
		return func() bool {
			got := w.lastComplete()
			return got != nil && got.GetId() == m.GetId() && got.GetError() == message
		}
	}
	require.Eventually(t, reported("Flux has not looked at it yet"), 20*time.Second, 5*time.Millisecond)
	require.Eventually(t, does(wire.AgentState_AGENT_STATE_BOOTSTRAPPING), 20*time.Second, 5*time.Millisecond)

	k := &unstructured.Unstructured{}
	k.SetGroupVersionKind(schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"})
	for _, c := range []struct{ status, says, want string }{{"False", "Deployment capi-controller-manager is not ready", "Deployment capi-controller-manager is not ready"}, {"True", "applied", ""}} {
		require.NoError(t, w.client.Get(t.Context(), types.NamespacedName{Namespace: "flux-system", Name: bootstrap.Name}, k))
		k.Object["status"] = map[string]any{
			"observedGeneration": k.GetGeneration(), "lastAppliedRevision": "latest@" + digest,
			"conditions": []any{map[string]any{"type": "Ready", "status": c.status, "message": c.says}},
		}
		require.NoError(t, w.client.Update(t.Context(), k))
		require.Eventually(t, reported(c.want), 20*time.Second, 5*time.Millisecond)
	}
	require.Eventually(t, does(wire.AgentState_AGENT_STATE_BOOTSTRAPPED), 20*time.Second, 5*time.Millisecond)
}

func TestAfterThePivotABootstrapChangesNothing(t *testing.T) {
	w := newWorld(t)
	a := w.enrolled()
	require.NoError(t, a.bootstrap(t.Context(), sent(t, nil)))
	later := sent(t, func(b *bootstrap.Bootstrap) {
		b.Spec.KubernetesVersion = "v1.40.0"
		b.Secrets[0].Data["key"] = []byte("other")
	})
	for _, step := range []state.Step{state.Activating, state.Active, state.Done} {
		w.receipt(step)
		require.NoError(t, a.bootstrap(t.Context(), later))
		own, err := a.own(t.Context())
		require.NoError(t, err)
		require.Equal(t, "v1.36.3", own.Spec.KubernetesVersion)
		require.NotEqual(t, later.GetId(), own.Annotations[bootstrapAnnotation])
		var s corev1.Secret
		require.NoError(t, w.client.Get(t.Context(), types.NamespacedName{Namespace: "capa-system", Name: "cloud"}, &s))
		require.Equal(t, canary, string(s.Data["key"]))
		row(t, "a bootstrap, after the pivot is "+string(step), "ignored", w.logged("the bootstrap is ignored"))
	}
	// Before the commit the parent may change it.
	w.receipt(state.Imported)
	require.NoError(t, a.bootstrap(t.Context(), later))
	own, err := a.own(t.Context())
	require.NoError(t, err)
	require.Equal(t, "v1.40.0", own.Spec.KubernetesVersion)
	require.Equal(t, later.GetId(), own.Annotations[bootstrapAnnotation])
}

func TestTheRightsOfAnImportEndWithIt(t *testing.T) {
	w := newWorld(t)
	a := w.enrolled()
	bound := func() error {
		var b rbacv1.RoleBinding
		if err := w.client.Get(t.Context(), types.NamespacedName{Namespace: "rw-blue", Name: bootstrap.MoverRole}, &b); err != nil {
			return err
		}
		require.Equal(t, rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "ropewalk-pivot-mover"}, b.RoleRef)
		require.Equal(t, []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "ropewalk-system", Name: "ropewalk-controller"}}, b.Subjects)
		return nil
	}
	require.Error(t, bound())
	require.NoError(t, a.bootstrap(t.Context(), sent(t, nil)))
	require.NoError(t, a.bootstrap(t.Context(), sent(t, nil)))
	for step, does := range map[state.Step]wire.AgentState{
		state.Prepared: wire.AgentState_AGENT_STATE_IMPORTING, state.Imported: wire.AgentState_AGENT_STATE_IMPORTING, state.Active: wire.AgentState_AGENT_STATE_IN_CHARGE,
	} {
		w.receipt(step)
		require.NoError(t, a.report(t.Context()))
		require.NoError(t, bound(), "%s", step)
		require.Equal(t, does, wire.AgentState(a.doing.Load()), "%s", step)
	}
	w.receipt(state.Done)
	require.NoError(t, a.report(t.Context()))
	require.True(t, apierrors.IsNotFound(bound()))
	require.NoError(t, a.report(t.Context()))
	// A parent cannot give them back.
	require.NoError(t, a.bootstrap(t.Context(), sent(t, nil)))
	require.True(t, apierrors.IsNotFound(bound()))
}

func TestASessionBeginsWithThePivot(t *testing.T) {
	w := newWorld(t)
	a := w.enrolled()
	m, err := a.ready(t.Context())
	require.NoError(t, err)
	require.Equal(t, "v0.1.0 v1.36.3", m.GetAgentVersion()+" "+m.GetKubernetesVersion())
	require.Equal(t, string(w.child.Object(plane.Ref{Kind: "Namespace", Name: "kube-system"}).GetUID()), m.GetClusterUid())
	require.Empty(t, m.GetPivotId())
	require.NoError(t, a.bootstrap(t.Context(), sent(t, nil)))
	w.receipt(state.Active)
	m, err = a.ready(t.Context())
	require.NoError(t, err)
	require.Equal(t, "p1 Active", m.GetPivotId()+" "+m.GetPivotStep())

	w.child.Before = func(r planetest.Request) error {
		if r.Ref.Kind == "ConfigMap" {
			return errors.New("etcd is away")
		}
		return nil
	}
	_, err = a.ready(t.Context())
	require.ErrorContains(t, err, "etcd is away")
	require.ErrorContains(t, a.report(t.Context()), "etcd is away")
	require.ErrorContains(t, a.bootstrap(t.Context(), sent(t, nil)), "etcd is away")
}

func TestTheHealthOfAChildHasItsNodes(t *testing.T) {
	w := newWorld(t)
	a := w.enrolled()
	for i, ready := range []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown} {
		require.NoError(t, w.client.Create(t.Context(), &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i)},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue}, {Type: corev1.NodeReady, Status: ready}}},
		}))
	}
	m := a.Status(t.Context())
	require.EqualValues(t, 4, m.GetNodes())
	require.EqualValues(t, 2, m.GetNodesReady())
	require.Equal(t, "v1.36.3", m.GetKubernetesVersion())
}
