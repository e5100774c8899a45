// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/bootstrap"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// TestABlockedKeyIsCutOff, whatever else is wrong with its PivotCluster.
func TestABlockedKeyIsCutOff(t *testing.T) {
	for name, wrong := range map[string]func(*world){
		"as usual":                    func(*world) {},
		"while the cluster suspended": func(w *world) { w.edit(func(c *v1alpha1.PivotCluster) { c.Spec.Suspend = true }) },
		"while Cluster API is away":   func(w *world) { w.controller.client = broken(w.parent) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.connects()
			server, err := w.controller.children.reach()
			require.NoError(t, err)
			key := w.read().Status.Enrolment.PublicKey
			require.True(t, server.Connected("pc-1"))
			wrong(w)
			w.edit(func(c *v1alpha1.PivotCluster) { c.Spec.Agent.BlockedKeys = []string{key} })
			_, _ = w.reconcile()
			require.Eventually(t, func() bool { return !server.Connected("pc-1") }, time.Second, time.Millisecond)
			require.Never(t, func() bool { return server.Connected("pc-1") }, 1500*time.Millisecond, 50*time.Millisecond)
		})
	}
}

// broken is an API server whose Clusters cannot be read.
func broken(c client.Client) client.Client {
	return interceptor.NewClient(c.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if o.GetObjectKind().GroupVersionKind().Kind == "Cluster" {
				return errors.New("the webhook is away")
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
}

func TestSessionsAreCountedForGood(t *testing.T) {
	w := newWorld(t)
	for want := range int64(3) {
		// Each one by another process.
		n, err := w.reconciler(w.parent, w.from, "parent-uid", &Endpoints{}).children.nextSession(t.Context(), "pc-1")
		require.NoError(t, err)
		require.Equal(t, want+1, n)
	}
	require.Equal(t, int64(3), w.read().Status.Agent.Session)
	_, err := w.controller.children.nextSession(t.Context(), "pc-9")
	require.EqualError(t, err, `there is no PivotCluster with UID "pc-9"`)

	// Another client writes the status at the same time.
	var conflicts atomic.Int32
	w.controller.children.store.direct = interceptor.NewClient(w.parent.(client.WithWatch), interceptor.Funcs{
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			if conflicts.Add(1) < 3 {
				return apierrors.NewConflict(schema.GroupResource{}, o.GetName(), errors.New("changed"))
			}
			return c.SubResource(sub).Update(ctx, o, opts...)
		},
	})
	n, err := w.controller.children.nextSession(t.Context(), "pc-1")
	require.NoError(t, err)
	require.Equal(t, int64(4), n)

	// A session with a number of before would be refused.
	c := w.read()
	c.Status = v1alpha1.PivotClusterStatus{}
	require.NoError(t, w.parent.Status().Update(t.Context(), c))
	n, err = w.controller.children.nextSession(t.Context(), "pc-1")
	require.NoError(t, err)
	require.Equal(t, int64(5), n)
}

func TestWhatAnAgentReportsIsLookedAtWhenItIsNews(t *testing.T) {
	w := newWorld(t)
	k := w.controller.children
	var woken []string
	k.wake = func(name string) { woken = append(woken, name) }
	e := k.events()
	require.NoError(t, e.AgentReady(t.Context(), "pc-1", &wire.AgentReady{AgentVersion: "v1", KubernetesVersion: "v1.36.3"}))
	require.NoError(t, e.AgentReady(t.Context(), "pc-1", &wire.AgentReady{AgentVersion: "v1", KubernetesVersion: "v1.36.3"}))
	require.Equal(t, []string{name}, woken)
	e.Heartbeat(t.Context(), "pc-1", nil)
	require.Len(t, woken, 1)
	e.ClusterHealth(t.Context(), "pc-1", &wire.ClusterHealth{KubernetesVersion: "v1.36.3", Nodes: 3, NodesReady: 2})
	e.BootstrapComplete(t.Context(), "pc-1", &wire.BootstrapComplete{Id: "b1", Error: "denied"})
	require.Len(t, woken, 3)
	c, connected := k.child("pc-1")
	require.False(t, connected)
	require.Equal(t, "denied", c.BootstrapError)
	require.Empty(t, c.Bootstrapped, "it is not complete")
	e.BootstrapComplete(t.Context(), "pc-1", &wire.BootstrapComplete{Id: "b1"})
	c, _ = k.child("pc-1")
	require.Equal(t, "b1", c.Bootstrapped)
	require.Equal(t, int32(2), c.NodesReady)
	e.Lost("pc-1", time.Now())
	require.Len(t, woken, 5)
	for range 2 {
		e.Heartbeat(t.Context(), "pc-1", &wire.Heartbeat{AgentState: wire.AgentState_AGENT_STATE_IMPORTING})
	}
	require.Len(t, woken, 6)
	e.Heartbeat(t.Context(), "pc-9", nil)
	e.Lost("pc-9", time.Now())
	require.Len(t, woken, 6)
}

func TestTheLinkIsNotServedYet(t *testing.T) {
	w := newWorld(t)
	const says = "the link is not served yet"
	require.EqualError(t, w.controller.children.bootstrap(t.Context(), "pc-1", &bootstrap.Bootstrap{}), says)
	_, err := w.controller.children.link("pc-1").Call(t.Context(), state.Request{Op: state.Hello})
	require.EqualError(t, err, says)
	w.controller.children.block(w.read()) // Nothing is connected.
}

// TestABootstrapThatCannotBeMade names the Secrets that are missing, and nothing is sent.
func TestABootstrapThatCannotBeMade(t *testing.T) {
	w := newWorld(t)
	w.connects()
	w.edit(func(c *v1alpha1.PivotCluster) {
		c.Spec.Provider.Credentials = []v1alpha1.ObjectKey{{Namespace: "capa-system", Name: "cloud"}, {Namespace: "capa-system", Name: "role"}}
	})
	c := w.until(w.controller, "failed", phase(v1alpha1.PhaseFailed))
	require.Contains(t, ready(c), "secret capa-system/cloud does not exist on the parent")
	require.Contains(t, ready(c), "secret capa-system/role does not exist on the parent")

	const canary = "canary-5c1d7e"
	for _, name := range []string{"cloud", "role"} {
		require.NoError(t, w.parent.Create(t.Context(), &corev1.Secret{ObjectMeta: named("capa-system", name), Data: map[string][]byte{"key": []byte(canary)}}))
	}
	c = w.until(w.controller, "the message of the engine", func(c *v1alpha1.PivotCluster) bool {
		b := apimeta.FindStatusCondition(c.Status.Conditions, v1alpha1.BootstrappedCondition)
		return b != nil && b.Message == "Flux has not looked at it yet"
	})
	var s corev1.Secret
	require.Eventually(t, func() bool {
		_, err := w.reconcile()
		return (err == nil || apierrors.IsConflict(err)) && w.child.Get(t.Context(), types.NamespacedName{Namespace: "capa-system", Name: "cloud"}, &s) == nil
	}, 20*time.Second, 20*time.Millisecond)
	require.Equal(t, canary, string(s.Data["key"]))
	require.NotContains(t, yamlOf(t, c), canary)
	for len(w.events.Events) > 0 {
		require.NotContains(t, <-w.events.Events, canary)
	}
}

func TestEndpointsHaveTheCellOfTheClusterItself(t *testing.T) {
	w := newWorld(t)
	e := endpoints(w.controller)
	at, err := e.prepare(t.Context())
	require.NoError(t, err)
	require.Nil(t, at, "there is no cell yet")
	other := w.cluster()
	other.Name, other.UID, other.Spec.Cell = "other", "pc-2", &v1alpha1.Cell{Host: "other.test", Port: 1, LinkPort: 2}
	require.NoError(t, w.parent.Create(t.Context(), other))
	at, err = e.prepare(t.Context())
	require.NoError(t, err)
	require.Nil(t, at, "that of a child is not that of the parent")
	own := w.cluster()
	own.Name, own.UID, own.Spec.Cell = "self", "pc-3", &v1alpha1.Cell{Host: "self.test", Port: 8443, LinkPort: 8444}
	own.Annotations = map[string]string{bootstrap.SelfAnnotation: "root-uid/pc-7"}
	require.NoError(t, w.parent.Create(t.Context(), own))
	at, err = e.prepare(t.Context())
	require.NoError(t, err)
	require.Equal(t, own.Spec.Cell, at.cell)
}

func TestTheAuthorityIsMadeOnce(t *testing.T) {
	w := newWorld(t)
	var one, two *Endpoints
	one, two = endpoints(w.controller), endpoints(w.controller)
	var first *enrol.Authority
	two.client = interceptor.NewClient(w.parent.(client.WithWatch), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if first == nil { // Another controller is first.
				var err error
				first, err = one.authority().ensure(ctx)
				require.NoError(t, err)
			}
			return c.Create(ctx, o, opts...)
		},
	})
	second, err := two.authority().ensure(t.Context())
	require.NoError(t, err)
	require.Equal(t, first.Trust().Pins, second.Trust().Pins)
	again, err := one.authority().ensure(t.Context())
	require.NoError(t, err)
	require.Equal(t, first.Trust().Pins, again.Trust().Pins)
}

func TestAnAuthorityThatIsRotatedIsUsed(t *testing.T) {
	w := newWorld(t)
	e := w.controller.Endpoints
	at, err := e.prepare(t.Context())
	require.NoError(t, err)
	before := at.endpoint.Authority().Trust().Pins
	require.NoError(t, e.refresh(t.Context(), at.endpoint, listeners{}))
	require.Equal(t, before, at.endpoint.Authority().Trust().Pins)

	rotated, err := e.authority().ensure(t.Context())
	require.NoError(t, err)
	require.NoError(t, rotated.AddNext(w.now()))
	require.NoError(t, rotated.Promote(w.now().Add(time.Hour)))
	var s corev1.Secret
	require.True(t, w.there(&s, "ropewalk-system", AuthoritySecret))
	s.Data, err = rotated.Encode()
	require.NoError(t, err)
	require.NoError(t, w.parent.Update(t.Context(), &s))
	require.NoError(t, e.refresh(t.Context(), at.endpoint, listeners{}))
	after := at.endpoint.Authority().Trust().Pins
	require.NotEqual(t, before, after)

	// One that cannot be read, and one that is gone, leave the one before.
	s.Data = map[string][]byte{"ca.crt": []byte("none")}
	require.NoError(t, w.parent.Update(t.Context(), &s))
	require.Error(t, e.refresh(t.Context(), at.endpoint, listeners{}))
	require.NoError(t, w.parent.Delete(t.Context(), &s))
	require.True(t, apierrors.IsNotFound(e.refresh(t.Context(), at.endpoint, listeners{})))
	require.False(t, w.there(&s, "ropewalk-system", AuthoritySecret), "another one would strand all agents")
	require.Equal(t, after, at.endpoint.Authority().Trust().Pins)
}

func TestEndpointsThatCannotListen(t *testing.T) {
	w := newWorld(t)
	w.controller.Endpoints.Link = "127.0.0.1:none"
	require.ErrorContains(t, w.controller.Endpoints.Start(t.Context()), "tcp/none: unknown port")
	w.controller.Endpoints.Registration = "127.0.0.1:none"
	require.ErrorContains(t, w.controller.Endpoints.Start(t.Context()), "tcp/none: unknown port")
	require.True(t, w.controller.Endpoints.NeedLeaderElection())
	// Without a cell there is nothing to serve.
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	require.NoError(t, (&Endpoints{serving: w.controller.serving(logr.Discard())}).Start(ctx))
}

func TestAFloodOfNewsIsLookedAtOnce(t *testing.T) {
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	begun := time.Now()
	for range 1000 {
		soon().Generic(t.Context(), event.GenericEvent{Object: &v1alpha1.PivotCluster{ObjectMeta: named("", name)}}, q)
	}
	got, _ := q.Get()
	require.Equal(t, name, got.Name)
	require.GreaterOrEqual(t, time.Since(begun), settle)
	q.Done(got)
	require.Zero(t, q.Len())
}

// Another authority would strand all agents in silence.
func TestAnAuthorityThatIsLostIsNotReplaced(t *testing.T) {
	w := newWorld(t)
	e := w.controller.Endpoints
	first, err := e.authority().ensure(t.Context())
	require.NoError(t, err)
	c := w.read()
	c.Status.Enrolment = &v1alpha1.EnrolmentStatus{PublicKey: strings.Repeat("a", 64)}
	require.NoError(t, w.parent.Status().Update(t.Context(), c))
	var s corev1.Secret
	require.True(t, w.there(&s, "ropewalk-system", AuthoritySecret))
	require.NoError(t, w.parent.Delete(t.Context(), &s))

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- e.Start(ctx) }()
	const why = "the Secret ropewalk-system/ropewalk-pivot-authority is gone, and the agents of 1 PivotClusters take no other authority than that: restore it from a backup; " +
		"or create it without data, change spec.agent.rejoin of all of them, and give each agent its new token"
	require.Eventually(t, func() bool { return e.problem.Load() != nil }, time.Minute, 10*time.Millisecond)
	_, err = w.controller.Endpoints.placeOf(t.Context(), c)
	require.EqualError(t, err, "children are not served: "+why)
	require.False(t, w.there(&s, "ropewalk-system", AuthoritySecret))
	stop()
	require.NoError(t, <-ended)

	require.NoError(t, w.parent.Create(t.Context(), &corev1.Secret{ObjectMeta: named("ropewalk-system", AuthoritySecret)}))
	second, err := e.authority().ensure(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, first.Trust().Pins, second.Trust().Pins)
	kept, err := e.authority().ensure(t.Context())
	require.NoError(t, err)
	require.Equal(t, second.Trust().Pins, kept.Trust().Pins)
}
