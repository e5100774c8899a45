// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package enrol

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/keyutil"
)

// copied is an authority as it is read back from its Secret.
func copied(t *testing.T, a *Authority) *Authority {
	t.Helper()
	data, err := a.Encode()
	require.NoError(t, err)
	got, err := DecodeAuthority(data)
	require.NoError(t, err)
	require.Equal(t, a.Trust(), got.Trust())
	require.Equal(t, a.bridge, got.bridge)
	require.True(t, a.current.key.Equal(got.current.key))
	again, err := got.Encode()
	require.NoError(t, err)
	require.Equal(t, data, again)
	return got
}

// TestARotationStrandsNoAgent has the agents and the replicas of a parent at each step of a
// rotation meet each other.
func TestARotationStrandsNoAgent(t *testing.T) {
	start := time.Now()
	a, err := NewAuthority(start)
	require.NoError(t, err)
	agent := func(a *Authority) *Credentials {
		key := newKey(t)
		return &Credentials{Key: key, Certificate: must(a.Issue(&key.PublicKey, Identity{parentUID, "uid-blue"}, start)), Trust: a.Trust()}
	}
	steps := []string{"initial", "added", "promoted", "dropped"}
	authorities, agents := map[string]*Authority{}, map[string]*Credentials{}
	for i, change := range []func(){
		func() {}, func() { require.NoError(t, a.AddNext(start)) }, func() { require.NoError(t, a.Promote(start)) }, a.DropPrevious,
	} {
		change()
		authorities[steps[i]] = copied(t, a)
		agents[steps[i]] = agent(a)
	}
	for parent, expected := range map[string]map[string]bool{
		"initial": {"initial": true, "added": true, "promoted": false, "dropped": false},
		// A replica that has not read the Secret since AddNext takes certificates of the next CA,
		// and an agent that has renewed since trusts it while it has the previous one.
		"added":    {"initial": true, "added": true, "promoted": true, "dropped": false},
		"promoted": {"initial": true, "added": true, "promoted": true, "dropped": true},
		// An agent that has not renewed since Promote is stranded: that is what PreviousEnds is for.
		"dropped": {"initial": false, "added": false, "promoted": true, "dropped": true},
	} {
		server := NewEndpoint(authorities[parent], []string{host}, time.Now).TLS(tls.RequireAndVerifyClientCert)
		for step, passes := range expected {
			err := shake(t, server, agents[step].TLS(time.Now))
			require.Equal(t, passes, err == nil, "the parent is %s, the agent of %s: %v", parent, step, err)
		}
	}
}

func TestARotationIsInOrder(t *testing.T) {
	now := time.Now()
	a, err := NewAuthority(now)
	require.NoError(t, err)
	require.ErrorContains(t, a.Promote(now), "add it")
	require.Zero(t, a.PreviousEnds())
	first := a.Expires()
	require.NoError(t, a.AddNext(now.Add(time.Hour)))
	require.ErrorContains(t, a.AddNext(now), "promote it")
	require.NoError(t, a.Promote(now))
	require.True(t, a.Expires().After(first))
	require.Equal(t, now.Add(Lifetime).Unix(), a.PreviousEnds().Unix())
	require.NoError(t, a.AddNext(now), "the one after it may be announced already")
	require.ErrorContains(t, a.Promote(now), "drop it first")
	require.Len(t, copied(t, a).Trust().Pins, 3)
	a.DropPrevious()
	require.NoError(t, a.Promote(now))
}

func TestAnAgentGetsTheBundleWithEachAnswer(t *testing.T) {
	w := newWorld(t)
	old := w.enrolled("blue")
	a := copied(t, w.endpoint.Authority())
	require.NoError(t, a.AddNext(w.now()))
	require.NoError(t, a.Promote(w.now()))
	w.endpoint.Use(a)
	fresh, err := w.client().Renew(t.Context(), old)
	require.NoError(t, err)
	require.Len(t, fresh.Trust.Authorities, 2)
	require.NotEqual(t, old.Certificate.Raw, fresh.Certificate.Raw, "that of the previous CA is not the answer again")
	a.DropPrevious()
	w.endpoint.Use(a)
	_, err = w.client().Renew(t.Context(), fresh)
	require.NoError(t, err)
	_, err = w.client().Renew(t.Context(), old)
	require.Error(t, err)
}

func TestASecretThatIsNoAuthorityIsRefused(t *testing.T) {
	a, err := NewAuthority(time.Now())
	require.NoError(t, err)
	require.NoError(t, a.AddNext(time.Now()))
	require.NoError(t, a.Promote(time.Now()))
	require.NoError(t, a.AddNext(time.Now()))
	for name, test := range map[string]struct {
		change   func(map[string][]byte)
		expected string
	}{
		"nothing":                 {func(d map[string][]byte) { clear(d) }, `"tls.crt": expected one certificate`},
		"no key":                  {func(d map[string][]byte) { delete(d, "tls.key") }, `"tls.key": expected an ECDSA key`},
		"a key that is none":      {func(d map[string][]byte) { d["tls.key"] = []byte("s3cret") }, `"tls.key": expected an ECDSA key`},
		"the key of another":      {func(d map[string][]byte) { d["tls.key"] = d["next.key"] }, `"tls.key" is not the key of "tls.crt"`},
		"two certificates":        {func(d map[string][]byte) { d["tls.crt"] = append(d["tls.crt"], d["next.crt"]...) }, `"tls.crt": expected one certificate`},
		"no key of the next":      {func(d map[string][]byte) { delete(d, "next.key") }, `"next.key"`},
		"a previous that is none": {func(d map[string][]byte) { d["previous.crt"] = []byte("x") }, `"previous.crt"`},
		"no bridge":               {func(d map[string][]byte) { delete(d, "bridge.crt") }, `"bridge.crt"`},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := a.Encode()
			require.NoError(t, err)
			test.change(data)
			_, err = DecodeAuthority(data)
			require.ErrorContains(t, err, test.expected)
			require.NotContains(t, err.Error(), "s3cret")
		})
	}
}

func TestAnAuthorityIssuesForStrongKeysOnly(t *testing.T) {
	a, err := NewAuthority(time.Now())
	require.NoError(t, err)
	for curve, ok := range map[elliptic.Curve]bool{elliptic.P224(): false, elliptic.P256(): true, elliptic.P384(): true, elliptic.P521(): false} {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		require.NoError(t, err)
		_, err = a.Issue(&key.PublicKey, Identity{parentUID, "uid-blue"}, time.Now())
		require.Equal(t, ok, err == nil, curve.Params().Name)
	}
}

func TestCredentialsAreReadBack(t *testing.T) {
	w := newWorld(t)
	for _, c := range []*Credentials{w.agent(), w.enrolled("blue")} {
		data, err := c.Encode()
		require.NoError(t, err)
		got, err := DecodeCredentials(data)
		require.NoError(t, err)
		require.Equal(t, c.Certificate, got.Certificate)
		require.Equal(t, c.Trust, got.Trust)
		require.True(t, c.Key.Equal(got.Key))
		require.Equal(t, c.Certificate != nil, len(data["tls.crt"]) > 0, "the script looks for it")

		data["tls.key"], err = keyutil.MarshalPrivateKeyToPEM(newKey(t))
		require.NoError(t, err)
		_, err = DecodeCredentials(data)
		require.Equal(t, c.Certificate != nil, err != nil, "a certificate is of its key")
	}
	_, err := DecodeCredentials(nil)
	require.ErrorContains(t, err, `"tls.key"`)
	data := must(w.agent().Encode())
	delete(data, "pins")
	_, err = DecodeCredentials(data)
	require.ErrorContains(t, err, "pinned")
	data = must(w.agent().Encode())
	data["tls.crt"] = []byte("x")
	_, err = DecodeCredentials(data)
	require.ErrorContains(t, err, `"tls.crt"`)
}
