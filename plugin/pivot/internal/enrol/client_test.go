// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package enrol

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAClockThatIsWrongIsNamedWithItsDifference(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	at := func(d time.Duration) Client {
		return Client{Endpoint: "https://" + w.address, Now: func() time.Time { return w.now().Add(d) }}
	}
	agent := w.enrolled("blue")
	token := w.token("green")

	_, err := at(-3*time.Minute).Enrol(ctx, w.agent(), token)
	require.NoError(t, err, "certificates are backdated")

	_, err = at(-time.Hour).Enrol(ctx, w.agent(), token)
	require.ErrorContains(t, err, "the certificate of the parent is not valid yet")
	require.Regexp(t, `which is (54m5\d|55m0)s too early: set the clock`, err.Error())
	_, err = at(8*24*time.Hour).Enrol(ctx, w.agent(), token)
	require.ErrorContains(t, err, "the certificate of the parent is expired")
	require.Regexp(t, `which is (24h0m\d|23h59m5\d)s too late`, err.Error())

	_, err = at(-time.Hour).Renew(ctx, agent)
	require.ErrorContains(t, err, "the certificate of the agent is not valid yet")
	_, err = at(8*24*time.Hour).Renew(ctx, agent)
	require.ErrorContains(t, err, "the certificate of the agent is expired")
	require.ErrorContains(t, err, "or enrol again")
	require.ErrorContains(t, w.agent().Valid(w.now()), "not enrolled")
	_, err = w.client().Renew(ctx, w.agent())
	require.ErrorContains(t, err, "not enrolled")
}

func TestAnAgentWhoseClockIsBehindThatOfTheParentNamesIt(t *testing.T) {
	w := newWorld(t)
	agent := w.enrolled("blue")
	w.later(8 * 24 * time.Hour) // The clock of the parent; that of the agent stays.
	w.endpoint.Use(w.endpoint.Authority())
	_, err := Client{Endpoint: "https://" + w.address, Now: time.Now}.Renew(context.Background(), agent)
	require.ErrorContains(t, err, "the certificate of the parent is not valid yet")
}

func TestAnAgentThatIsExpiredEnrolsAgain(t *testing.T) {
	w := newWorld(t)
	agent := w.enrolled("blue")
	w.later(8 * 24 * time.Hour)
	again, err := w.client().Enrol(context.Background(), agent, w.token("blue"))
	require.NoError(t, err)
	require.NoError(t, again.Valid(w.now()))
}

func TestRenewalsAreAtSeventyPercentAndNotTogether(t *testing.T) {
	w := newWorld(t)
	a := w.endpoint.Authority()
	begin := w.now()
	earliest, latest := begin.Add(Lifetime), begin
	for range 200 {
		key := newKey(t)
		c := &Credentials{Key: key, Certificate: must(a.Issue(&key.PublicKey, Identity{parentUID, "uid-blue"}, begin)), Trust: a.Trust()}
		at := c.RenewAt()
		require.Equal(t, at, must(DecodeCredentials(must(c.Encode()))).RenewAt(), "it is the same after a restart")
		if at.Before(earliest) {
			earliest = at
		}
		if at.After(latest) {
			latest = at
		}
	}
	share := func(t time.Time) float64 { return float64(t.Sub(begin)) / float64(Lifetime) }
	require.InDelta(t, 0.65, share(earliest), 0.01)
	require.InDelta(t, 0.75, share(latest), 0.01)
}

// answers is a parent that answers as it likes, with a certificate that is trusted.
func (w *world) answers(h http.HandlerFunc) Client {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(w, err)
	server := &http.Server{Handler: h}
	go server.Serve(tls.NewListener(l, w.endpoint.TLS(tls.NoClientCert)))
	w.Cleanup(func() { server.Close() })
	return Client{Endpoint: "https://" + l.Addr().String(), Now: w.now}
}

func TestAnswersThatAnAgentCannotGoOnWithAreRefused(t *testing.T) {
	w := newWorld(t)
	token := w.token("blue")
	agent, other := w.agent(), w.enrolled("green")
	good := func() answer {
		certificate := must(w.endpoint.Authority().Issue(&agent.Key.PublicKey, Identity{parentUID, "uid-blue"}, w.now()))
		return answer{Certificate: string(Trust{Authorities: append(agent.Trust.Authorities[:0:0], certificate)}.PEM()), Authorities: string(agent.Trust.PEM()), Pins: agent.Trust.Pins}
	}
	as := func(change func(*answer)) http.HandlerFunc {
		a := good()
		change(&a)
		text := body(t, a)
		return func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(text)) }
	}
	for name, test := range map[string]struct {
		answer   http.HandlerFunc
		expected string
	}{
		"a certificate of another key": {as(func(a *answer) {
			a.Certificate = string(Trust{Authorities: append(agent.Trust.Authorities[:0:0], other.Certificate)}.PEM())
		}), "no certificate of the key"},
		"no certificate": {as(func(a *answer) { a.Certificate = "" }), "no certificate of the key"},
		"no pins":        {as(func(a *answer) { a.Pins = nil }), "pinned"},
		"no authorities": {as(func(a *answer) { a.Authorities = "" }), "authorities"},
		"no identity": {as(func(a *answer) {
			c := must(w.endpoint.Authority().Issue(&agent.Key.PublicKey, Identity{parentUID, "uid-blue/x"}, w.now()))
			a.Certificate = string(Trust{Authorities: append(agent.Trust.Authorities[:0:0], c)}.PEM())
		}), "expected ropewalk://PARENT/CLUSTER"},
		"a certificate that begins later": {as(func(a *answer) {
			c := must(w.endpoint.Authority().Issue(&agent.Key.PublicKey, Identity{parentUID, "uid-blue"}, w.now().Add(time.Hour)))
			a.Certificate = string(Trust{Authorities: append(agent.Trust.Authorities[:0:0], c)}.PEM())
		}), "not valid yet"},
		"no JSON": {func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>")) }, "no JSON"},
		"an answer without an end": {func(w http.ResponseWriter, _ *http.Request) {
			w.Write(bytes.Repeat([]byte(" "), 2*bodyBytes))
			w.Write([]byte("{}"))
		}, "no JSON"},
		"a proxy": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "bad gateway", http.StatusBadGateway) }, "no registration endpoint"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://"+r.Host+"/elsewhere", http.StatusTemporaryRedirect)
		}, "307"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			client := w.answers(func(w http.ResponseWriter, r *http.Request) { asked++; test.answer(w, r) })
			_, err := client.Enrol(context.Background(), agent, token)
			require.ErrorContains(t, err, test.expected)
			require.Equal(t, 1, asked, "the token is sent once")
			quiet(t, token, err.Error())
		})
	}
	got, err := w.answers(as(func(*answer) {})).Enrol(context.Background(), agent, token)
	require.NoError(t, err)
	require.NoError(t, got.Valid(w.now()))
}

// The identity of an agent is what keeps a parent from being in charge of its cluster again.
func TestARenewalDoesNotChangeTheIdentity(t *testing.T) {
	w := newWorld(t)
	agent := w.enrolled("blue")
	for _, test := range []struct {
		identity Identity
		refused  bool
	}{{Identity{parentUID, "uid-green"}, true}, {Identity{"other", "uid-blue"}, true}, {Identity{parentUID, "uid-blue"}, false}} {
		certificate := must(w.endpoint.Authority().Issue(&agent.Key.PublicKey, test.identity, w.now()))
		text := body(t, answer{Certificate: string(Trust{Authorities: append(agent.Trust.Authorities[:0:0], certificate)}.PEM()), Authorities: string(agent.Trust.PEM()), Pins: agent.Trust.Pins})
		_, err := w.answers(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(text)) }).Renew(context.Background(), agent)
		if test.refused {
			require.ErrorContains(t, err, "for the agent of ")
		} else {
			require.NoError(t, err)
		}
	}
}

func TestARefusalIsNamedAtTheClient(t *testing.T) {
	w := newWorld(t)
	_, err := w.client().Enrol(context.Background(), w.agent(), strings.Repeat("x", 43))
	require.EqualError(t, err, "TokenUnknown: expected a token of 32 bytes in base64url")
	require.False(t, refusedBy(t, err, TokenUnknown).Temporary())
	text, err := json.Marshal(refuse(KeyBlocked, "m").about(nil, "key"))
	require.NoError(t, err)
	require.JSONEq(t, `{"reason":"KeyBlocked","message":"m"}`, string(text))
}
