// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package enrol

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// attempt is a request that is refused.
type attempt struct {
	*world
	token string
	agent *Credentials // enrolled with the token, where the attempt wants that
}

func (a *attempt) enrol() error {
	_, err := a.client().Enrol(context.Background(), a.agent, a.token)
	return err
}

func (a *attempt) renew() error {
	_, err := a.client().Renew(context.Background(), a.agent)
	return err
}

func (a *attempt) manifest() error { return a.refusal(a.world.manifest(a.token)) }

func (a *attempt) refusal(status int, text string) error {
	refusal := &Refusal{}
	require.NoError(a, json.Unmarshal([]byte(text), refusal))
	require.Equal(a, status, refusal.Reason.status())
	return refusal
}

// raw sends a body that the client would not.
func raw(path, text string) func(*attempt) error {
	return func(a *attempt) error { return a.refusal(a.send("POST", path, text, "", a.agent)) }
}

// csr enrols with a CSR that the client would not make.
func csr(f func(*attempt) string) func(*attempt) error {
	return func(a *attempt) error { return raw("/v1/enrol", body(a, question{Token: a.token, CSR: f(a)}))(a) }
}

func otherCSR(a *attempt) error {
	return raw("/v1/renew", body(a, question{CSR: plainCSR(a, newKey(a))}))(a)
}

// What was done before.

func expired(a *attempt)  { a.later(TokenLifetime + time.Second) }
func replaced(a *attempt) { a.world.token("blue") }
func invented(a *attempt) { a.token, _ = Mint("", a.now()) }
func newAgent(a *attempt) { a.agent = a.world.agent() }
func enrolled(a *attempt) { a.agent = must(a.client().Enrol(context.Background(), a.agent, a.token)) }

func tokenIs(f func(*attempt) string) func(*attempt) { return func(a *attempt) { a.token = f(a) } }

func block(a *attempt) {
	a.store.change("blue", func(c *v1alpha1.PivotCluster) { c.Spec.Agent.BlockedKeys = []string{sumOf(a, a.agent)} })
}

func rejoin(a *attempt) {
	a.store.change("blue", func(c *v1alpha1.PivotCluster) { c.Spec.Agent.Rejoin = "2" })
}

// forged is a certificate that the authority has not issued by a request.
func forged(identity Identity) func(*attempt) {
	return func(a *attempt) {
		a.agent.Certificate = must(a.endpoint.Authority().Issue(&a.agent.Key.PublicKey, identity, a.now()))
	}
}

func all(steps ...func(*attempt)) []func(*attempt) { return steps }

// denial is what a request is answered with.
type denial struct {
	given  []func(*attempt)
	send   func(*attempt) error
	reason Reason
	status int
	event  bool
}

func refusedRequests() map[string]denial {
	manifest, enrol, renew := (*attempt).manifest, (*attempt).enrol, (*attempt).renew
	return map[string]denial{
		"manifest: a token that is none":               {all(tokenIs(func(*attempt) string { return "none" })), manifest, TokenUnknown, 401, false},
		"manifest: no token":                           {all(tokenIs(func(*attempt) string { return "" })), manifest, TokenUnknown, 401, false},
		"manifest: a token that was never made":        {all(invented), manifest, TokenUnknown, 401, false},
		"manifest: an expired token":                   {all(expired), manifest, TokenExpired, 401, false},
		"manifest: a token from before a rejoin":       {all(rejoin), manifest, TokenReplaced, 401, false},
		"enrol: a token that was never made":           {all(invented), enrol, TokenUnknown, 401, false},
		"enrol: the sum of a token":                    {all(tokenIs(func(a *attempt) string { return TokenHash(a.token) })), enrol, TokenUnknown, 401, false},
		"enrol: a token that a newer one has replaced": {all(replaced), enrol, TokenUnknown, 401, false},
		"enrol: an expired token":                      {all(expired), enrol, TokenExpired, 401, false},
		"enrol: an expired token, by its own key":      {all(enrolled, expired), enrol, TokenExpired, 401, false},
		"enrol: a token replayed with another key":     {all(enrolled, newAgent), enrol, TokenUsed, 403, true},
		"enrol: a token from before a rejoin":          {all(rejoin), enrol, TokenReplaced, 401, false},
		"enrol: a blocked key":                         {all(block), enrol, KeyBlocked, 403, true},
		"enrol: a blocked key that is enrolled":        {all(enrolled, block), enrol, KeyBlocked, 403, true},
		"enrol: no JSON":                               {nil, raw("/v1/enrol", "token=x"), Malformed, 400, false},
		"enrol: JSON of another form":                  {nil, raw("/v1/enrol", `{"csr":["x"]}`), Malformed, 400, false},
		"enrol: nothing":                               {nil, raw("/v1/enrol", ""), Malformed, 400, false},
		"enrol: a body of more than 64 KiB":            {nil, raw("/v1/enrol", `{"token":"`+strings.Repeat("x", 64<<10)+`"}`), TooLarge, 413, false},
		"enrol: a CSR of P-521": {nil, csr(func(a *attempt) string {
			return csrOf(a, must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader)), &x509.CertificateRequest{})
		}), Malformed, 400, false},
		"enrol: a CSR of Ed25519": {nil, csr(func(a *attempt) string {
			return csrOf(a, ed25519.NewKeyFromSeed(make([]byte, 32)), &x509.CertificateRequest{})
		}), Malformed, 400, false},
		"enrol: a CSR signed with SHA-1":                 {nil, csr(func(*attempt) string { return string(must(os.ReadFile("testdata/sha1.csr"))) }), Malformed, 400, false},
		"enrol: a CSR of the key of another":             {nil, csr(func(a *attempt) string { return broken(a, a.agent.Key) }), Malformed, 400, false},
		"enrol: two CSRs":                                {nil, csr(func(a *attempt) string { return strings.Repeat(plainCSR(a, a.agent.Key), 2) }), Malformed, 400, false},
		"enrol: a certificate for a CSR":                 {nil, csr(func(a *attempt) string { return string(a.agent.Trust.PEM()) }), Malformed, 400, false},
		"renew: without a certificate":                   {nil, raw("/v1/renew", "{}"), NoCertificate, 401, false},
		"renew: a certificate of another parent":         {all(forged(Identity{"parent-2", "uid-blue"})), renew, OtherParent, 403, false},
		"renew: a certificate of a cluster that is gone": {all(forged(Identity{parentUID, "uid-red"})), renew, ClusterUnknown, 403, false},
		"renew: a certificate without an identity":       {all(forged(Identity{parentUID, "uid-blue/uid-green"})), renew, NoCertificate, 401, false},
		"renew: a key that was never enrolled":           {all(forged(Identity{parentUID, "uid-blue"})), renew, NotEnrolled, 403, true},
		"renew: a certificate of another cluster":        {all(enrolled, forged(Identity{parentUID, "uid-green"})), renew, NotEnrolled, 403, true},
		"renew: a blocked key":                           {all(enrolled, block), renew, KeyBlocked, 403, true},
		"renew: after a change of rejoin":                {all(enrolled, rejoin), renew, NotEnrolled, 403, true},
		"renew: after the new token was made":            {all(enrolled, rejoin, replaced), renew, NotEnrolled, 403, true},
		"renew: a CSR of another key":                    {all(enrolled), otherCSR, KeyChanged, 403, true},
		"another path":                                   {nil, raw("/v1/tokens", "{}"), NotFound, 404, false},
		"another method":                                 {nil, raw("/v1/manifest", "{}"), NotFound, 404, false},
		"a token in the path":                            {nil, func(a *attempt) error { return raw("/v1/enrol/"+a.token+"?token="+a.token, "{}")(a) }, NotFound, 404, false},
	}
}

// TestRefusals is the table of what is refused: each with its status, one line of log, an
// event where a key that is not enrolled has a secret, and the token nowhere.
func TestRefusals(t *testing.T) {
	for name, test := range refusedRequests() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			a := &attempt{world: w, token: w.token("blue"), agent: w.agent()}
			w.token("green")
			for _, step := range test.given {
				step(a)
			}
			w.log.take()
			w.events.take()
			version := w.store.version
			refusal := refusedBy(t, test.send(a), test.reason)
			require.Equal(t, test.status, test.reason.status())
			require.Equal(t, version, w.store.version, "nothing is written")

			lines, events := w.log.take(), w.events.take()
			require.Len(t, lines, 1)
			require.Contains(t, lines[0], `"registration refused"`)
			require.Contains(t, lines[0], `"reason"="`+string(test.reason)+`"`)
			if test.event {
				require.Len(t, events, 1)
				require.Contains(t, events[0], " Warning "+string(test.reason)+": ")
			} else {
				require.Empty(t, events)
			}
			if len(a.token) >= 40 {
				quiet(t, a.token, append(append(lines, events...), refusal.Message)...)
			}
			t.Logf("| registration | %s | %d %s | %s |", name, test.status, test.reason, lines[0])
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// broken is a CSR whose signature is of another key.
func broken(t require.TestingT, key *ecdsa.PrivateKey) string {
	block, _ := pem.Decode([]byte(plainCSR(t, key)))
	other, _ := pem.Decode([]byte(plainCSR(t, newKey(t))))
	mine, theirs := must(x509.ParseCertificateRequest(block.Bytes)), must(x509.ParseCertificateRequest(other.Bytes))
	raw := bytes.Replace(other.Bytes, theirs.RawSubjectPublicKeyInfo, mine.RawSubjectPublicKeyInfo, 1)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: raw}))
}
