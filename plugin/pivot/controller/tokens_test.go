// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
)

// token is that of the Secret, whose sum the status has.
func (w *world) token() string {
	w.Helper()
	var s corev1.Secret
	require.True(w, w.there(&s, "rw-"+name, EnrolSecret(name)))
	require.Equal(w, enrol.TokenHash(string(s.Data["token"])), w.read().Status.Enrolment.TokenHash)
	return string(s.Data["token"])
}

func TestATokenIsMadeOnceAndIsOnlyInItsSecret(t *testing.T) {
	w := newWorld(t)
	w.placed()
	w.settle()
	token := w.token()
	var s corev1.Secret
	require.True(t, w.there(&s, "rw-blue", "blue-enrol"))
	require.Equal(t, "https://"+w.registration, string(s.Data["endpoint"]))
	require.Equal(t, w.controller.Endpoints.current.Load().endpoint.Authority().Trust().PEM(), s.Data["ca.crt"])
	require.Contains(t, s.Labels, "clusterctl.cluster.x-k8s.io/move")
	for range 3 {
		w.settle()
		require.Equal(t, token, w.token())
	}
	require.NotContains(t, yamlOf(t, w.read()), token)
	var transform v1alpha1.Transform
	require.True(t, w.there(&transform, "rw-blue", name))
	require.NotContains(t, yamlOf(t, &transform), token)
	for len(w.events.Events) > 0 {
		require.NotContains(t, <-w.events.Events, token)
	}
}

func TestATokenThatIsLostBetweenTheTwoWritesIsMadeAgain(t *testing.T) {
	w := newWorld(t)
	w.placed()
	lose := true
	w.controller.client = interceptor.NewClient(w.parent.(client.WithWatch), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if o.GetName() == EnrolSecret(name) && lose {
				return errors.New("etcd is away")
			}
			return c.Create(ctx, o, opts...)
		},
	})
	_, err := w.reconcile()
	require.NoError(t, err)
	c, err := w.reconcile()
	require.EqualError(t, err, "etcd is away")
	first := c.Status.Enrolment.TokenHash
	require.NotEmpty(t, first, "its sum is written first")
	require.Equal(t, "etcd is away", ready(c))
	lose = false
	w.settle()
	require.NotEqual(t, first, w.read().Status.Enrolment.TokenHash)
	w.token()
}

func TestATokenIsExtendedWhileItsMachinesAreMade(t *testing.T) {
	w := newWorld(t)
	w.placed()
	w.settle()
	token, expires := w.token(), w.read().Status.Enrolment.Expires.Time
	w.pass(enrol.TokenLifetime/2 - time.Minute)
	w.settle()
	require.Equal(t, expires, w.read().Status.Enrolment.Expires.Time)
	w.pass(2 * time.Minute)
	w.settle()
	require.True(t, w.read().Status.Enrolment.Expires.After(expires))
	// Also where the controller was away for longer than that.
	w.pass(2 * enrol.TokenLifetime)
	c := w.settle()
	require.False(t, enrol.Expired(c.Status.Enrolment, w.now()))
	require.Equal(t, token, w.token())

	// Once the API server of the cluster answers, the machine has had its time.
	w.provision()
	w.settle()
	expires = w.read().Status.Enrolment.Expires.Time
	w.pass(enrol.TokenLifetime + time.Minute)
	c = w.settle()
	require.Equal(t, expires, c.Status.Enrolment.Expires.Time)
	require.Equal(t, token, w.token(), "the machines have it")
	require.Equal(t, v1alpha1.PhaseProvisioning, c.Status.Phase)
	require.Contains(t, ready(c), "the token of the agent has expired at "+expires.UTC().Format(time.RFC3339)+", unused: ")
	require.Contains(t, ready(c), "change spec.agent.rejoin")

	// The clock jumps ahead, and back.
	w.pass(8 * 24 * time.Hour)
	w.edit(func(c *v1alpha1.PivotCluster) { c.Spec.Agent.Rejoin = "0" })
	w.settle()
	w.pass(-8 * 24 * time.Hour)
	require.LessOrEqual(t, w.settle().Status.Enrolment.Expires.Sub(w.now()), enrol.TokenLifetime)

	// Rejoin makes another, once.
	w.edit(func(c *v1alpha1.PivotCluster) { c.Spec.Agent.Rejoin = "1" })
	c = w.settle()
	require.NotEqual(t, token, w.token())
	require.Equal(t, "1", c.Status.Enrolment.Rejoin)
	require.Equal(t, "waiting for the agent to call", ready(c))
	token = w.token()
	w.settle()
	require.Equal(t, token, w.token())
}

func TestATokenThatWasUsedIsNotReplacedByItself(t *testing.T) {
	w := newWorld(t)
	w.connects()
	before := *w.read().Status.Enrolment
	require.NotEmpty(t, before.PublicKey)
	w.pass(2 * enrol.TokenLifetime)
	require.NoError(t, w.parent.Delete(t.Context(), &corev1.Secret{ObjectMeta: named("rw-blue", EnrolSecret(name))}))
	w.settle()
	require.Equal(t, before.TokenHash, w.read().Status.Enrolment.TokenHash)
	require.Equal(t, before.PublicKey, w.read().Status.Enrolment.PublicKey)

	w.edit(func(c *v1alpha1.PivotCluster) { c.Spec.Agent.Rejoin = "again" })
	w.settle()
	w.token()
	require.Empty(t, w.read().Status.Enrolment.PublicKey)
}

func TestTheSecretFollowsTheAuthorityAndTheCell(t *testing.T) {
	w := newWorld(t)
	w.placed()
	w.settle()
	token := w.token()
	at := w.controller.Endpoints.current.Load()
	authority := at.endpoint.Authority()
	require.NoError(t, authority.AddNext(w.now()))
	at.endpoint.Use(authority)
	at.cell.Port = 9443
	w.settle()
	var s corev1.Secret
	require.True(t, w.there(&s, "rw-blue", EnrolSecret(name)))
	require.Equal(t, 2, strings.Count(string(s.Data["ca.crt"]), "BEGIN CERTIFICATE"))
	require.Equal(t, "https://127.0.0.1:9443", string(s.Data["endpoint"]))
	require.Equal(t, token, w.token())
}

func TestAControllerWithoutEndpointsHasNoChildren(t *testing.T) {
	w := newWorld(t)
	_, err := w.reconcile()
	require.NoError(t, err)
	_, err = w.reconcile()
	require.EqualError(t, err, "the endpoints for children are not served yet")
	w.controller.Endpoints, w.controller.children = nil, nil
	require.Equal(t, "this controller serves no children", ready(w.settle()))
}

func TestAManifestThatCannotBeReadIsNotSent(t *testing.T) {
	w := newWorld(t)
	w.placed()
	w.controller.ChildManifest = func() ([]byte, error) { return nil, errors.New("open agent.yaml: permission denied") }
	_, err := w.controller.parts().manifests.machine(t.Context(), w.read(), "a-token")
	require.EqualError(t, err, "the manifest of agents: open agent.yaml: permission denied")
}

// TestTwoClustersAtOnce have nothing in common.
func TestTwoClustersAtOnce(t *testing.T) {
	w := newWorld(t)
	w.placed()
	green := w.cluster()
	green.Name, green.UID = "green", "pc-2"
	require.NoError(t, w.parent.Create(t.Context(), green))
	ended := make(chan error, 2)
	for _, name := range []string{"blue", "green"} {
		go func() {
			for range 10 {
				_, err := w.controller.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}})
				if err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		}()
	}
	require.NoError(t, errors.Join(<-ended, <-ended))
	tokens := map[string]bool{}
	for _, name := range []string{"blue", "green"} {
		var s corev1.Secret
		require.True(t, w.there(&s, "rw-"+name, EnrolSecret(name)))
		tokens[string(s.Data["token"])] = true
		var transform v1alpha1.Transform
		require.True(t, w.there(&transform, "rw-"+name, name))
		require.Equal(t, name, transform.Labels[ClusterLabel])
		c, err := w.controller.children.store.ByToken(t.Context(), enrol.TokenHash(string(s.Data["token"])))
		require.NoError(t, err)
		require.Equal(t, name, c.Name)
	}
	require.Len(t, tokens, 2)
}

func TestATokenIsMadeWhereNoneCanBeUsed(t *testing.T) {
	hash := enrol.TokenHash("token")
	for name, c := range map[string]struct {
		enrolment     *v1alpha1.EnrolmentStatus
		rejoin, token string
		needs         bool
	}{
		"there is no enrolment":              {token: "token", needs: true},
		"there is no sum":                    {enrolment: &v1alpha1.EnrolmentStatus{}, token: "token", needs: true},
		"the user wants another":             {enrolment: &v1alpha1.EnrolmentStatus{TokenHash: hash, PublicKey: "a"}, rejoin: "1", token: "token", needs: true},
		"it was lost between two writes":     {enrolment: &v1alpha1.EnrolmentStatus{TokenHash: hash}, needs: true},
		"it is the one of the enrolment":     {enrolment: &v1alpha1.EnrolmentStatus{TokenHash: hash}, token: "token"},
		"it was used, and the Secret edited": {enrolment: &v1alpha1.EnrolmentStatus{TokenHash: hash, PublicKey: "a"}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.needs, needsToken(c.enrolment, c.rejoin, c.token)) })
	}
}

func TestATokenLivesOnWhileItsMachineIsMade(t *testing.T) {
	now := time.Now()
	in := func(d time.Duration) *v1alpha1.EnrolmentStatus {
		return &v1alpha1.EnrolmentStatus{Expires: &metav1.Time{Time: now.Add(d)}}
	}
	half := enrol.TokenLifetime / 2
	require.True(t, extendsToken(in(half-time.Second), false, now))
	require.False(t, extendsToken(in(half), false, now), "each write of a status is a write to etcd")
	require.False(t, extendsToken(in(-time.Hour), true, now), "the machine has it, and the status shows that it has expired")
	require.True(t, extendsToken(in(enrol.TokenLifetime+time.Second), true, now), "it was made while the clock was ahead")
	require.True(t, extendsToken(&v1alpha1.EnrolmentStatus{}, false, now))
	require.False(t, extendsToken(&v1alpha1.EnrolmentStatus{}, true, now))
	used := in(-time.Hour)
	used.PublicKey = "a"
	require.False(t, extendsToken(used, false, now))
}
