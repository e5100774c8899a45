// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/ropewalk/ropewalk/internal/printable"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/bootstrap"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
)

// The steps of a rotation, as its messages begin.
const (
	added    = "there is a next authority: "
	waiting  = "there is a next authority; waiting until "
	promoted = "the new authority issues certificates; authority "
	holding  = "the new authority issues certificates; the previous one is trusted until "
	dropped  = "the previous authority is not trusted any more: the rotation is done; authority "
)

// annotate sets annotations of the Secret of the authority, as a user does.
func (w *world) annotate(pairs ...string) {
	w.Helper()
	require.NoError(w, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		s := w.authoritySecret()
		for pair := range slices.Chunk(pairs, 2) {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, pair[0], pair[1])
		}
		return w.parent.Update(w.Context(), s)
	}))
}

func (w *world) authoritySecret() *corev1.Secret {
	w.Helper()
	s := &corev1.Secret{}
	require.True(w, w.there(s, "ropewalk-system", AuthoritySecret))
	return s
}

// refresh looks at the Secret, as the endpoints do every few seconds.
func (w *world) refresh() {
	w.Helper()
	err := w.controller.Endpoints.refresh(w.Context(), w.controller.Endpoints.current.Load().endpoint, listeners{})
	require.True(w, err == nil || apierrors.IsConflict(err), "%v", err)
}

// turns takes steps of a rotation until its message begins so, and returns it.
func (w *world) turns(until string) (message string) {
	w.Helper()
	require.Eventually(w, func() bool {
		if message = w.authoritySecret().Annotations[RotationAnnotation]; strings.HasPrefix(message, until) {
			return true
		}
		w.refresh()
		return false
	}, 20*time.Second, 10*time.Millisecond, "%s: %s", until, message)
	return message
}

// trusts waits until the agent has reported that it has the authorities of the parent.
func (w *world) trusts() {
	w.Helper()
	w.refresh()
	w.until(w.controller, "the agent trusts the authorities of now", func(c *v1alpha1.PivotCluster) bool {
		a, err := enrol.DecodeAuthority(w.authoritySecret().Data)
		require.NoError(w, err)
		return slices.Equal(a.Trust().Pins, c.Status.Agent.Pins)
	})
}

// TestAnAuthorityIsRotated while the agent is connected, and while it is away at one of the steps:
// at the end it has a certificate of the new authority, without a token.
func TestAnAuthorityIsRotated(t *testing.T) {
	for name, away := range map[string]string{"connected": "", "away while the next one is announced": added, "away while it begins to issue": promoted} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.connects()
			w.trusts()
			first := w.read().Status.Enrolment
			w.annotate(RotateAnnotation, "1")
			for _, step := range []string{added, promoted, dropped} {
				switch {
				case step == away:
					w.leaves()
					w.until(w.controller, "not connected", func(c *v1alpha1.PivotCluster) bool { _, is := w.controller.children.child(c.UID); return !is })
				case step == dropped && away != "":
					require.Contains(t, w.turns(holding), ": blue")
					w.agent()
				}
				message := w.turns(step)
				t.Log(message)
				if away == "" || step == added && away == promoted || step == dropped {
					w.trusts() // Without this the next step would wait for it.
				}
			}
			s := w.authoritySecret()
			require.Equal(t, "1", s.Annotations[RotatedAnnotation])
			require.Len(t, s.Data, 2, "there is one authority")
			got := w.read()
			require.Equal(t, first.PublicKey, got.Status.Enrolment.PublicKey)
			require.NotEqual(t, first.Certificate, got.Status.Enrolment.Certificate)
			require.Equal(t, first.TokenHash, got.Status.Enrolment.TokenHash)
			// Nothing follows.
			w.refresh()
			require.Equal(t, s.ResourceVersion, w.authoritySecret().ResourceVersion)
		})
	}
}

// TestTheStepsOfARotation: which agents each one waits for, and for how long.
func TestTheStepsOfARotation(t *testing.T) {
	now := time.Now()
	day := 24 * time.Hour
	old, err := enrol.NewAuthority(now)
	require.NoError(t, err)
	before := old.Trust().Pins[0]
	next := func() (*enrol.Authority, string) {
		data, err := old.Encode()
		require.NoError(t, err)
		a, err := enrol.DecodeAuthority(data)
		require.NoError(t, err)
		require.NoError(t, a.AddNext(now))
		pin, _ := a.Next()
		return a, pin
	}
	agent := func(change func(*standing)) standing {
		s := standing{name: "blue", pins: []string{before}, connected: true, until: now.Add(3 * day)}
		change(&s)
		return s
	}
	for name, c := range map[string]struct {
		promoted bool
		agent    func(pin string) standing
		after    time.Duration
		force    bool
		want     string
	}{
		"an agent that trusts it": {agent: func(pin string) standing {
			return agent(func(s *standing) { s.pins = append(s.pins, pin) })
		}, want: promoted},
		"an agent that does not":           {agent: func(string) standing { return agent(func(*standing) {}) }, want: waiting},
		"an agent that reports nothing":    {agent: func(string) standing { return agent(func(s *standing) { s.pins = nil }) }, want: waiting},
		"an agent that is away":            {agent: func(string) standing { return agent(func(s *standing) { s.connected = false }) }, want: promoted},
		"no agent is waited for":           {agent: func(string) standing { return agent(func(*standing) {}) }, force: true, want: promoted},
		"an agent that has renewed anyway": {agent: func(string) standing { return agent(func(*standing) {}) }, after: 7*day + time.Minute, want: promoted},

		"an agent with a new certificate": {promoted: true, agent: func(pin string) standing {
			return agent(func(s *standing) { s.pins = []string{pin, before} })
		}, want: dropped},
		"an agent with the bundle, and an old certificate": {promoted: true, agent: func(pin string) standing {
			return agent(func(s *standing) { s.pins = []string{before, pin} })
		}, want: holding},
		"an agent with an old certificate that is away": {promoted: true, agent: func(string) standing {
			return agent(func(s *standing) { s.connected = false })
		}, want: holding},
		"an agent whose certificate has ended":        {promoted: true, agent: func(string) standing { return agent(func(*standing) {}) }, after: 3*day + time.Minute, want: dropped},
		"all certificates of before have ended":       {promoted: true, agent: func(string) standing { return agent(func(s *standing) { s.until = now.Add(30 * day) }) }, after: 7*day + time.Minute, want: dropped},
		"no agent is waited for, and one is stranded": {promoted: true, agent: func(string) standing { return agent(func(*standing) {}) }, force: true, want: dropped},
	} {
		t.Run(name, func(t *testing.T) {
			a, pin := next()
			if c.promoted {
				require.NoError(t, a.Promote(now))
			}
			r := rotation{authority: a, agents: []standing{c.agent(pin)}, now: now.Add(c.after), force: c.force}
			message, done, err := r.takeStep()
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(message, c.want), message)
			require.Equal(t, c.want == dropped, done)
			if c.want == waiting || c.want == holding {
				require.True(t, strings.Contains(message, now.Add(7*day).UTC().Format(time.RFC3339)) && strings.HasSuffix(message, ": blue"), message)
			}
		})
	}
}

func TestWhatIsKnownOfAgents(t *testing.T) {
	w := newWorld(t)
	at := metav1.NewTime(time.Now().Add(time.Hour).Truncate(time.Second))
	later := metav1.NewTime(at.Add(time.Hour))
	for _, c := range []*v1alpha1.PivotCluster{
		{ObjectMeta: named("", "self"), Status: v1alpha1.PivotClusterStatus{Enrolment: &v1alpha1.EnrolmentStatus{Expires: &at}}},
		{ObjectMeta: named("", "token"), Status: v1alpha1.PivotClusterStatus{Enrolment: &v1alpha1.EnrolmentStatus{Expires: &at}}},
		{ObjectMeta: named("", "away"), Status: v1alpha1.PivotClusterStatus{
			Enrolment: &v1alpha1.EnrolmentStatus{Expires: &at, NotAfter: &later}, Agent: &v1alpha1.AgentStatus{Pins: []string{"a", "b"}},
		}},
	} {
		if c.Name == "self" {
			c.Annotations = map[string]string{bootstrap.SelfAnnotation: "root/pc"}
		}
		c.UID = types.UID("uid-" + c.Name)
		require.NoError(t, w.parent.Create(t.Context(), c))
		require.NoError(t, w.parent.Status().Update(t.Context(), c))
	}
	all, err := findStandings(t.Context(), w.controller.children.store.cache, w.controller.children.child)
	require.NoError(t, err)
	slices.SortFunc(all, func(a, b standing) int { return strings.Compare(a.name, b.name) })
	for i := range all {
		all[i].until = all[i].until.UTC()
	}
	require.Equal(t, []standing{
		{name: "away", pins: []string{"a", "b"}, until: later.UTC()}, {name: "token", until: at.UTC()},
	}, all, "blue has no token yet, and the cluster itself is no agent of its own")
	require.Equal(t, "a, b, c, d, e, f, g, h, i, j and 2 more", printable.List(strings.Split("abcdefghijkl", ""), 10))
	require.Empty(t, reported([]string{strings.Repeat("a", 300)}))
	require.NoError(t, w.controller.children.events().AgentReady(t.Context(), "pc-1", &wire.AgentReady{Pins: []string{"a", "b"}}))
	known, _ := w.controller.children.child("pc-1")
	require.Equal(t, "a b", known.Pins)
}

func TestWhatAnAgentReportedCountsMoreThanItsStatus(t *testing.T) {
	c := &v1alpha1.PivotCluster{ObjectMeta: named("", name), Status: v1alpha1.PivotClusterStatus{
		Enrolment: &v1alpha1.EnrolmentStatus{}, Agent: &v1alpha1.AgentStatus{Pins: []string{"a"}},
	}}
	require.Equal(t, standing{name: name, pins: []string{"a"}}, standingOf(c, func(types.UID) (Child, bool) { return Child{}, false }))
	require.Equal(t, standing{name: name, pins: []string{"b", "c"}, connected: true}, standingOf(c, func(types.UID) (Child, bool) { return Child{Pins: "b c"}, true }))
}

func TestARotationIsWrittenOnceForEachStep(t *testing.T) {
	now := time.Now()
	a, err := enrol.NewAuthority(now)
	require.NoError(t, err)
	data, err := a.Encode()
	require.NoError(t, err)
	secret := &corev1.Secret{Data: data}
	require.False(t, wantsRotation(secret))
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, RotateAnnotation, "1")
	require.True(t, wantsRotation(secret))

	// The agent does not trust the next authority, so that the second step waits.
	agents := []standing{{name: name, pins: []string{a.Trust().Pins[0]}, connected: true, until: now.Add(time.Hour)}}
	for _, want := range []string{added, waiting, ""} {
		message, err := rotateSecret(secret, agents, now)
		require.NoError(t, err)
		require.True(t, want == message || want != "" && strings.HasPrefix(message, want), message)
	}
	require.True(t, wantsRotation(secret))

	// Without agents it goes on to its end.
	for _, want := range []string{promoted, dropped} {
		message, err := rotateSecret(secret, nil, now)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(message, want), message)
	}
	require.Equal(t, "1", secret.Annotations[RotatedAnnotation])
	require.False(t, wantsRotation(secret))
}

// TestASecretThatCannotBeWrittenIsNotUsed: an authority is in use only once its Secret has it.
func TestASecretThatCannotBeWrittenIsNotUsed(t *testing.T) {
	w := newWorld(t)
	w.placed()
	e := w.controller.Endpoints
	endpoint := e.current.Load().endpoint
	before := endpoint.Authority().Trust().Pins
	w.annotate(RotateAnnotation, "1")
	stale := w.authoritySecret()
	w.annotate("example.com/other", "1")
	require.True(t, apierrors.IsConflict(e.rotate(t.Context(), stale)))
	require.Equal(t, before, endpoint.Authority().Trust().Pins)
	require.NoError(t, e.refresh(t.Context(), endpoint, listeners{}))
	require.Equal(t, before, endpoint.Authority().Trust().Pins)
	require.NoError(t, e.refresh(t.Context(), endpoint, listeners{}))
	require.Len(t, endpoint.Authority().Trust().Pins, 2)
	require.Contains(t, <-w.events.Events, added)
}
