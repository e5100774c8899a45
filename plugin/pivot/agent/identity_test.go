// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
)

func TestTheKeyIsWrittenBeforeItIsUsed(t *testing.T) {
	w := newWorld(t)
	var atRequest string
	before := func(string) bool {
		atRequest = string(w.secret().Data["tls.key"])
		return true
	}
	w.before.Store(&before)
	a := w.enrolled()
	require.NotEmpty(t, atRequest)
	require.Equal(t, string(w.secret().Data["tls.key"]), atRequest)
	require.NotContains(t, w.secret().Data, "token")
	require.NotEmpty(t, w.secret().Data["tls.crt"])
	got, err := a.identityOf()
	require.NoError(t, err)
	require.Equal(t, identity, got)
}

func TestAKeyThatCannotBeWrittenIsNotUsed(t *testing.T) {
	w := newWorld(t)
	w.faults.Update = func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
		return errors.New("etcd is away")
	}
	require.EqualError(t, w.agent().enrol(t.Context()), "etcd is away")
	require.Zero(t, w.requests.Load())
}

// TestAnAgentThatIsKilledEnrolsWithTheSameKey: after its key was written, and after the parent
// has issued the certificate.
func TestAnAgentThatIsKilledEnrolsWithTheSameKey(t *testing.T) {
	w := newWorld(t)
	loses := func(string) bool { return false }
	w.before.Store(&loses)
	require.Error(t, w.agent().enrol(t.Context()))
	key, issued := string(w.secret().Data["tls.key"]), w.read().Status.Enrolment.Certificate
	require.NotEmpty(t, issued)
	require.NotContains(t, w.secret().Data, "tls.crt")

	w.before.Store(nil)
	w.enrolled()
	require.Equal(t, key, string(w.secret().Data["tls.key"]))
	require.Equal(t, issued, string(w.secret().Data["tls.crt"]))

	// With its Secret it is the same agent.
	requests := w.requests.Load()
	again, err := w.enrolled().identityOf()
	require.NoError(t, err)
	require.Equal(t, identity, again)
	require.Equal(t, requests, w.requests.Load())
}

func TestACertificateThatCannotBeWrittenIsAskedForAgain(t *testing.T) {
	w := newWorld(t)
	a := w.agent()
	w.faults.Update = func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
		if s, ok := o.(*corev1.Secret); ok && len(s.Data["tls.crt"]) > 0 {
			return errors.New("etcd is away")
		}
		return c.Update(ctx, o, opts...)
	}
	require.EqualError(t, a.enrol(t.Context()), "etcd is away")
	_, err := a.identityOf()
	require.EqualError(t, err, "the agent is not enrolled")
	w.faults.Update = nil
	require.NoError(t, a.enrol(t.Context()))
	require.Equal(t, w.read().Status.Enrolment.Certificate, string(w.secret().Data["tls.crt"]))
}

func TestASecretThatIsNoneOfAnAgent(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Secret)
		says   string
	}{
		"no token":         {func(s *corev1.Secret) { delete(s.Data, "token") }, "secret ropewalk-system/ropewalk-agent has no token: make a new one on the parent (spec.agent.rejoin), and put it there"},
		"no data":          {func(s *corev1.Secret) { s.Data = nil }, "secret ropewalk-system/ropewalk-agent has no token"},
		"no authorities":   {func(s *corev1.Secret) { delete(s.Data, "ca.crt") }, "secret ropewalk-system/ropewalk-agent: authorities: expected certificates in PEM"},
		"another pin":      {func(s *corev1.Secret) { s.Data["pins"] = []byte("other") }, "none of the authorities has a pinned key"},
		"a key that is no": {func(s *corev1.Secret) { s.Data["tls.key"] = []byte(canary) }, "secret ropewalk-system/ropewalk-agent: "},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			s := w.secret()
			c.change(s)
			require.NoError(t, w.client.Update(t.Context(), s))
			err := w.agent().enrol(t.Context())
			require.ErrorContains(t, err, c.says)
			showsNo(t, err.Error(), canary)
			require.Zero(t, w.requests.Load())
		})
	}
}

func TestACertificateIsRenewedAtSeventyPercentOfItsLife(t *testing.T) {
	w := newWorld(t)
	a := w.enrolled()
	first, requests := *a.identity.Load(), w.requests.Load()
	due := first.RenewAt()
	require.InDelta(t, 0.7, due.Sub(w.now()).Hours()/enrol.Lifetime.Hours(), 0.051)
	w.clock.Store(due.Add(-time.Second).UnixNano())
	a.look(t.Context())
	require.Equal(t, requests, w.requests.Load())

	w.clock.Store(due.UnixNano())
	a.look(t.Context())
	require.Equal(t, requests+1, w.requests.Load())
	renewed := a.identity.Load()
	require.True(t, renewed.Key.Equal(first.Key))
	require.True(t, renewed.Certificate.NotAfter.After(first.Certificate.NotAfter))
	require.Equal(t, w.read().Status.Enrolment.Certificate, string(w.secret().Data["tls.crt"]))
	a.look(t.Context())
	require.Equal(t, requests+1, w.requests.Load())
}

// TestACertificateIsRenewedWhenTheParentHasOtherAuthorities, at once, and once for each bundle.
func TestACertificateIsRenewedWhenTheParentHasOtherAuthorities(t *testing.T) {
	w := newWorld(t)
	server, address := w.links()
	w.give(address)
	a := w.agent()
	w.start(a)
	const cluster = "pc-1"
	connected := func() bool { return server.Connected(cluster) && a.link.Connected() }
	require.Eventually(t, connected, 10*time.Second, time.Millisecond)
	before := w.requests.Load()
	for i, change := range []func(*enrol.Authority) error{
		func(a *enrol.Authority) error { return a.AddNext(w.now()) },
		func(a *enrol.Authority) error { return a.Promote(w.now()) },
		func(a *enrol.Authority) error { a.DropPrevious(); return nil },
	} {
		data, err := w.endpoint.Authority().Encode()
		require.NoError(t, err)
		changed, err := enrol.DecodeAuthority(data)
		require.NoError(t, err)
		require.NoError(t, change(changed))
		w.endpoint.Use(changed)
		require.Eventually(t, func() bool {
			_ = server.Reconcile(t.Context(), cluster) // It may be between two sessions.
			return string(w.secret().Data["pins"]) == strings.Join(changed.Trust().Pins, "\n")
		}, 20*time.Second, 10*time.Millisecond)
		// The Secret has it before the agent itself.
		require.Eventually(t, func() bool { return slices.Equal(a.identity.Load().Trust.Pins, changed.Trust().Pins) }, 10*time.Second, time.Millisecond)
		ready, err := a.ready(t.Context())
		require.NoError(t, err)
		require.Equal(t, changed.Trust().Pins, ready.GetPins())
		require.Eventually(t, connected, 10*time.Second, time.Millisecond)
		for range 3 {
			a.look(t.Context())
		}
		require.Equal(t, before+int64(i)+1, w.requests.Load())
	}
	require.NotContains(t, w.log.String(), "is not renewed")
}

func TestARenewalThatFailsIsTriedAgainAfterAMinute(t *testing.T) {
	w := newWorld(t)
	a := w.enrolled()
	requests := w.requests.Load()
	loses := func(string) bool { return false }
	w.before.Store(&loses)
	w.clock.Store(a.identity.Load().RenewAt().UnixNano())
	for range 3 {
		a.look(t.Context())
		w.pass(10 * time.Second)
	}
	require.Equal(t, requests+1, w.requests.Load())
	require.Equal(t, 1, strings.Count(w.log.String(), "the certificate is not renewed"))
	w.before.Store(nil)
	w.pass(40 * time.Second)
	a.look(t.Context())
	require.Equal(t, requests+2, w.requests.Load())
	require.NoError(t, a.identity.Load().Valid(w.now().Add(6*24*time.Hour)))
}

func TestANewTokenInTheSecretIsUsedAtOnce(t *testing.T) {
	w := newWorld(t)
	a := w.enrolled()
	first, key := *a.identity.Load(), w.read().Status.Enrolment.PublicKey
	w.edit(func(c *v1alpha1.PivotCluster) { c.Spec.Agent.BlockedKeys = []string{key} })

	w.mint("second")
	w.give("127.0.0.1:1") // The user has deleted the Secret, and the script has made it again.
	a.look(t.Context())
	require.False(t, a.identity.Load().Key.Equal(first.Key))
	require.Equal(t, "second", w.read().Status.Enrolment.Rejoin)
	require.NotEqual(t, key, w.read().Status.Enrolment.PublicKey)
	require.NotContains(t, w.secret().Data, "token")

	// With its key, as the parent only wants a new token.
	key = w.read().Status.Enrolment.PublicKey
	w.mint("third")
	s := w.secret()
	s.Data["token"] = []byte(w.token)
	require.NoError(t, w.client.Update(t.Context(), s))
	a.look(t.Context())
	require.Equal(t, key, w.read().Status.Enrolment.PublicKey)
	require.NotContains(t, w.secret().Data, "token")
}

func TestATokenThatIsRefusedLeavesTheCertificate(t *testing.T) {
	w := newWorld(t)
	a := w.enrolled()
	first := a.identity.Load()
	s := w.secret()
	s.Data["token"] = []byte("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	require.NoError(t, w.client.Update(t.Context(), s))
	requests := w.requests.Load()
	for range 3 {
		a.look(t.Context())
		w.pass(time.Hour)
	}
	require.Equal(t, requests+1, w.requests.Load(), "it is not tried again")
	require.Same(t, first, a.identity.Load())
	require.Contains(t, w.log.String(), "the token in secret ropewalk-system/ropewalk-agent: TokenUnknown: no PivotCluster has this token")
	showsNo(t, w.log.String(), "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")

	// A process that begins with both uses what is valid, and renews it in time.
	again := w.agent()
	require.NoError(t, again.enrol(t.Context()))
	w.clock.Store(first.RenewAt().UnixNano())
	again.look(t.Context())
	require.True(t, again.identity.Load().Certificate.NotAfter.After(first.Certificate.NotAfter))
}

// TestAParentThatIsAwayForEver: the certificate has ended, and no endpoint answers. The agent
// goes on, and does not do so in a loop without a pause.
func TestAParentThatIsAwayForEver(t *testing.T) {
	w := newWorld(t)
	a := w.enrolled()
	w.clock.Store(a.identity.Load().Certificate.NotAfter.Add(time.Hour).UnixNano())
	requests := w.requests.Load()
	a = w.agent()
	a.Often = time.Millisecond
	ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	require.NoError(t, a.Start(ctx))
	require.NoError(t, a.Healthy())
	require.Equal(t, requests, w.requests.Load())
	require.Equal(t, 1, strings.Count(w.log.String(), "the certificate is not renewed"))
	require.Contains(t, w.log.String(), "the certificate of the agent is expired")
	_, err := a.parent(t.Context())
	require.ErrorContains(t, err, "the certificate of the agent is expired")
}

func TestAnAgentWaitsForItsParent(t *testing.T) {
	w := newWorld(t)
	loses := func(string) bool { return false }
	w.before.Store(&loses)
	ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	a := w.agent()
	require.NoError(t, a.Start(ctx))
	require.EqualValues(t, 1, w.requests.Load())
	require.Contains(t, w.log.String(), `"msg"="not enrolled"`)
	_, err := a.parent(t.Context())
	require.EqualError(t, err, "the agent is not enrolled")

	w.before.Store(nil)
	ctx, stop = context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Start(ctx) }()
	require.Eventually(t, func() bool { return a.identity.Load() != nil }, 10*time.Second, 5*time.Millisecond)
	stop()
	require.NoError(t, <-ended)
}

func TestAnAgentIsPartOfAManager(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	mgr, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		MapperProvider: func(*rest.Config, *http.Client) (apimeta.RESTMapper, error) {
			return apimeta.NewDefaultRESTMapper(nil), nil
		},
	})
	require.NoError(t, err)
	a := &Agent{Namespace: "ropewalk-system"}
	require.NoError(t, a.SetupWithManager(mgr))
	require.Equal(t, 10*time.Second, a.Often)
	require.NoError(t, a.Healthy())
	require.WithinDuration(t, time.Now(), a.Now(), time.Minute)
	_, err = a.Discovery.ServerVersion()
	require.ErrorContains(t, err, "127.0.0.1:1") // Of the configuration of the manager.
}

// The certificate was stolen: its key is blocked, and the agent has a new token.
func TestAnAgentWhoseKeyIsBlockedEnrolsWithAnother(t *testing.T) {
	w := newWorld(t)
	a := w.enrolled()
	before := a.identity.Load()
	sum, err := enrol.PublicKeySum(&before.Key.PublicKey)
	require.NoError(t, err)
	w.edit(func(c *v1alpha1.PivotCluster) { c.Spec.Agent.BlockedKeys = []string{sum} })
	w.mint("stolen")
	s := w.secret()
	s.Data["token"] = []byte(w.token)
	require.NoError(t, w.client.Update(t.Context(), s))
	require.NoError(t, a.renew(t.Context()))
	after := a.identity.Load()
	require.False(t, after.Key.Equal(before.Key))
	was, err := before.Identity()
	require.NoError(t, err)
	is, err := after.Identity()
	require.NoError(t, err)
	require.Equal(t, was, is)
	kept, err := enrol.DecodeCredentials(w.secret().Data)
	require.NoError(t, err)
	require.True(t, kept.Key.Equal(after.Key))
	require.NotContains(t, w.secret().Data, "token")
}

// Both take time, in which a user may act.
func TestATokenThatComesWithARenewalIsKept(t *testing.T) {
	w := newWorld(t)
	a := w.enrolled()
	w.pass(5*24*time.Hour + 12*time.Hour)
	put := func(string) bool {
		s := w.secret()
		s.Data["token"] = []byte("another")
		require.NoError(t, w.client.Update(t.Context(), s))
		return true
	}
	w.before.Store(&put)
	require.NoError(t, a.renew(t.Context()))
	require.Equal(t, "another", string(w.secret().Data["token"]))
}
