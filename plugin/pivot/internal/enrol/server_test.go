// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package enrol

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// send makes one request, as any program can.
func (w *world) send(method, path, body string, authorization string, c *Credentials) (int, string) {
	w.Helper()
	request, err := http.NewRequest(method, "https://"+w.address+path, strings.NewReader(body))
	require.NoError(w, err)
	request.Header.Set("Authorization", authorization)
	transport := &http.Transport{TLSClientConfig: c.TLS(w.now), DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	require.NoError(w, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(w, err)
	return response.StatusCode, string(text)
}

func (w *world) manifest(token string) (int, string) {
	w.Helper()
	return w.send("GET", "/v1/manifest", "", "Bearer "+token, w.agent())
}

func body(t require.TestingT, v any) string {
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

func csrOf(t require.TestingT, key any, template *x509.CertificateRequest) string {
	raw, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: raw}))
}

func plainCSR(t require.TestingT, key any) string {
	return csrOf(t, key, &x509.CertificateRequest{})
}

func TestAnAgentIsEnrolledAndRenewsItsCertificate(t *testing.T) {
	w := newWorld(t)
	token := w.token("blue")
	status, manifest := w.manifest(token)
	require.Equal(t, 200, status)
	require.Contains(t, manifest, token)

	first, err := w.client().Enrol(context.Background(), w.agent(), token)
	require.NoError(t, err)
	identity, err := first.Identity()
	require.NoError(t, err)
	require.Equal(t, Identity{Parent: parentUID, Cluster: "uid-blue"}, identity)
	require.Equal(t, "ropewalk://parent-1/uid-blue", identity.String())
	require.WithinDuration(t, w.now().Add(7*24*time.Hour), first.Certificate.NotAfter, time.Minute)
	require.WithinDuration(t, w.now().Add(-5*time.Minute), first.Certificate.NotBefore, time.Minute)
	e := w.store.enrolment("blue")
	require.Equal(t, sumOf(t, first), e.PublicKey)
	require.True(t, first.Certificate.NotAfter.Equal(e.NotAfter.Time))

	w.later(5 * 24 * time.Hour)
	second, err := w.client().Renew(context.Background(), first)
	require.NoError(t, err)
	require.True(t, first.Key.Equal(second.Key))
	require.WithinDuration(t, w.now().Add(7*24*time.Hour), second.Certificate.NotAfter, time.Minute)
	require.Equal(t, []string{"blue Normal Enrolled: the agent is enrolled with key " + sumOf(t, first)}, w.events.take())
	lines := w.log.take()
	require.Len(t, lines, 2)
	quiet(t, token, append(lines, body(t, w.store.enrolment("blue")))...)
}

func TestNothingOfACSRButItsKeyIsRead(t *testing.T) {
	w := newWorld(t)
	agent := w.agent()
	constraints, err := asn1.Marshal(struct{ CA bool }{true})
	require.NoError(t, err)
	csr := csrOf(t, agent.Key, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "ropewalk://parent-1/uid-green"}, DNSNames: []string{host}, IPAddresses: []net.IP{{127, 0, 0, 1}},
		URIs:            []*url.URL{{Scheme: "ropewalk", Host: parentUID, Path: "/uid-green"}},
		ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Critical: true, Value: constraints}},
	})
	status, text := w.send("POST", "/v1/enrol", body(t, question{Token: w.token("blue"), CSR: csr}), "", agent)
	require.Equal(t, 200, status, text)
	got, err := w.client().accept(agent, []byte(text))
	require.NoError(t, err)
	c := got.Certificate
	require.Equal(t, "ropewalk://parent-1/uid-blue", c.URIs[0].String())
	require.Len(t, c.URIs, 1)
	require.Empty(t, c.DNSNames)
	require.Empty(t, c.IPAddresses)
	require.Empty(t, c.Subject.String())
	require.False(t, c.IsCA)
	require.Equal(t, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, c.ExtKeyUsage)
}

func TestALostAnswerDoesNotBurnTheToken(t *testing.T) {
	w := newWorld(t)
	token, agent := w.token("blue"), w.agent()
	first, err := w.client().Enrol(context.Background(), agent, token)
	require.NoError(t, err)
	version := w.store.version
	second, err := w.client().Enrol(context.Background(), agent, token)
	require.NoError(t, err)
	require.Equal(t, first.Certificate.Raw, second.Certificate.Raw)
	again, err := w.client().Renew(context.Background(), second)
	require.NoError(t, err)
	require.Equal(t, first.Certificate.Raw, again.Certificate.Raw, "so an agent in a loop writes nothing")
	require.Equal(t, version, w.store.version)
}

func TestOfTwoKeysOneIsEnrolledUnderTwoReplicas(t *testing.T) {
	w := newWorld(t)
	other := w.serve(w.replica())
	token := w.token("blue")
	// Both have read the enrolment before one of them writes it.
	var writes atomic.Int32
	met := make(chan struct{})
	w.store.before = func() {
		if writes.Add(1) == 2 {
			close(met)
		}
		<-met
	}
	got := make([]*Credentials, 2)
	errs := make([]error, 2)
	var all sync.WaitGroup
	for i, address := range []string{w.address, other} {
		agent := w.agent()
		all.Go(func() {
			got[i], errs[i] = Client{Endpoint: "https://" + address, Now: w.now}.Enrol(context.Background(), agent, token)
		})
	}
	all.Wait()
	winner := 0
	if errs[0] != nil {
		winner = 1
	}
	require.NoError(t, errs[winner])
	refusedBy(t, errs[1-winner], TokenUsed)
	require.Equal(t, sumOf(t, got[winner]), w.store.enrolment("blue").PublicKey)
	require.Len(t, w.events.take(), 2, "one is enrolled, and one denied")
}

func TestTheSameKeyHasOneCertificateUnderTwoReplicas(t *testing.T) {
	w := newWorld(t)
	other := w.serve(w.replica())
	token, agent := w.token("blue"), w.agent()
	got := make([]*Credentials, 16)
	var all sync.WaitGroup
	for i := range got {
		address := []string{w.address, other}[i%2]
		all.Go(func() {
			got[i], _ = Client{Endpoint: "https://" + address, Now: w.now}.Enrol(context.Background(), agent, token)
		})
	}
	all.Wait()
	for _, c := range got {
		require.NotNil(t, c)
		require.Equal(t, got[0].Certificate.Raw, c.Certificate.Raw)
	}
}

func TestAKeyThatIsBlockedWhileItEnrolsIsRefused(t *testing.T) {
	w := newWorld(t)
	token, agent := w.token("blue"), w.agent()
	w.store.before = func() {
		w.store.before = nil
		w.store.change("blue", func(c *v1alpha1.PivotCluster) { c.Spec.Agent.BlockedKeys = []string{sumOf(t, agent)} })
	}
	_, err := w.client().Enrol(context.Background(), agent, token)
	refusedBy(t, err, KeyBlocked)
	require.Empty(t, w.store.enrolment("blue").PublicKey)
}

func TestAKeyThatIsRemovedFromTheStatusByHandIsReplaced(t *testing.T) {
	w := newWorld(t)
	token := w.token("blue")
	_, err := w.client().Enrol(context.Background(), w.agent(), token)
	require.NoError(t, err)
	w.store.change("blue", func(c *v1alpha1.PivotCluster) { c.Status.Enrolment.PublicKey = "" })
	fresh, err := w.client().Enrol(context.Background(), w.agent(), token)
	require.NoError(t, err, "the certificate of the key before is not the answer")
	require.Equal(t, sumOf(t, fresh), w.store.enrolment("blue").PublicKey)
}

func TestConflictsWithoutAnEndAreReportedAsUnavailable(t *testing.T) {
	w := newWorld(t)
	token, agent := w.token("blue"), w.agent()
	writes := 0
	w.store.before = func() {
		writes++
		w.store.change("blue", func(c *v1alpha1.PivotCluster) { c.Status.ObservedGeneration++ })
	}
	_, err := w.client().Enrol(context.Background(), agent, token)
	require.True(t, refusedBy(t, err, Unavailable).Temporary())
	require.Equal(t, swaps, writes)
	w.store.before = nil
	_, err = w.client().Enrol(context.Background(), agent, token)
	require.NoError(t, err)
}

func TestANewTokenEnrolsANewAgentAfterARejoin(t *testing.T) {
	w := newWorld(t)
	old := w.enrolled("blue")
	w.store.change("blue", func(c *v1alpha1.PivotCluster) { c.Spec.Agent.Rejoin = "after the disk was lost" })
	fresh := w.enrolled("blue")
	require.NotEqual(t, sumOf(t, old), sumOf(t, fresh))
	_, err := w.client().Renew(context.Background(), old)
	refusedBy(t, err, NotEnrolled)
	_, err = w.client().Renew(context.Background(), fresh)
	require.NoError(t, err)
}

func TestAParentThatCannotAnswerSaysNoMore(t *testing.T) {
	w := newWorld(t, func(s *Server) {
		s.Manifest = func(context.Context, *v1alpha1.PivotCluster, string) ([]byte, error) {
			return nil, errors.New("etcd of the parent is away")
		}
	})
	token := w.token("blue")
	status, text := w.manifest(token)
	require.Equal(t, 503, status)
	require.NotContains(t, text, "etcd")
	lines := w.log.take()
	require.Len(t, lines, 1)
	require.Contains(t, lines[0], "etcd of the parent is away")

	w.store.wrong = errors.New("etcd is away")
	_, err := w.client().Enrol(context.Background(), w.agent(), token)
	refusal := refusedBy(t, err, Unavailable)
	require.True(t, refusal.Temporary())
}

func TestRequestsOfOneAddressAreLimited(t *testing.T) {
	w := newWorld(t, func(s *Server) { s.Limits = Limits{PerSecond: 1, Burst: 3} })
	token := w.token("blue")
	var statuses []int
	for range 5 {
		status, _ := w.manifest(token)
		statuses = append(statuses, status)
	}
	require.Equal(t, []int{200, 200, 200, 429, 429}, statuses)
	w.later(time.Second)
	status, _ := w.manifest(token)
	require.Equal(t, 200, status)
}

func TestAddressesAreCountedByMachine(t *testing.T) {
	require.Equal(t, network("192.0.2.1:1"), network("[::ffff:192.0.2.1]:2"))
	require.NotEqual(t, network("192.0.2.1:1"), network("192.0.2.2:1"))
	require.Equal(t, network("[2001:db8::1]:1"), network("[2001:db8::2%eth0]:1"))
	require.NotEqual(t, network("[2001:db8::1]:1"), network("[2001:db8:0:1::1]:1"))
}

// TestConnectionsAreLimited holds all that one address has, and then all that there are.
func TestConnectionsAreLimited(t *testing.T) {
	w := newWorld(t, func(s *Server) { s.Limits = Limits{Connections: 4} })
	token := w.token("blue")
	agent := w.agent()
	enrols := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := w.client().Enrol(ctx, agent, token)
		return err
	}
	idle := func(from byte) net.Conn {
		c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, from)}}).Dial("tcp", w.address)
		require.NoError(t, err)
		return c
	}
	others := []net.Conn{idle(2), idle(2)}
	closed := idle(2)
	_, err := closed.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF, "its address has its share")
	require.NoError(t, enrols(), "another address has its own")

	all := append(others, idle(3), idle(3))
	require.ErrorIs(t, enrols(), context.DeadlineExceeded, "there is no free connection")
	for _, c := range append(all, closed) {
		require.NoError(t, c.Close())
	}
	require.Eventually(t, func() bool { return enrols() == nil }, 5*time.Second, 10*time.Millisecond)
}

func TestSlowClientsAreCutOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	slow := map[string]net.Conn{}
	begin := time.Now()
	for where, text := range map[string]string{
		"in the handshake": "",
		"in the header":    "POST /v1/enrol HTTP/1.1\r\nHost: x\r\n",
		"in the body":      "POST /v1/enrol HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{",
		"between requests": "GET /v1/manifest HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		c, err := net.Dial("tcp", w.address)
		require.NoError(t, err)
		defer c.Close()
		slow[where] = c
		if text != "" {
			config := w.agent().TLS(w.now)
			config.ServerName = host
			_, err = io.WriteString(tls.Client(c, config), text)
			require.NoError(t, err)
		}
	}
	for where, c := range slow {
		require.NoError(t, c.SetReadDeadline(begin.Add(time.Minute)))
		_, err := io.Copy(io.Discard, c)
		require.NoError(t, err, "the server closes a connection that is slow %s", where)
	}
}

func TestAConnectionIsAnAgentOnlyByAVerifiedCertificate(t *testing.T) {
	w := newWorld(t)
	c := w.enrolled("blue")
	_, err := PeerOf(tls.ConnectionState{PeerCertificates: []*x509.Certificate{c.Certificate}})
	require.ErrorContains(t, err, "no verified certificate")
	peer, err := PeerOf(tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{c.Certificate}}})
	require.NoError(t, err)
	require.Equal(t, Peer{Identity{parentUID, "uid-blue"}, sumOf(t, c), c.Certificate.NotAfter}, peer)
}

func FuzzRequests(f *testing.F) {
	key := newKey(f)
	f.Add(body(f, question{Token: "x", CSR: plainCSR(f, key)}))
	f.Add(body(f, question{CSR: plainCSR(f, key)[:200]}))
	f.Add("{")
	f.Fuzz(func(t *testing.T, text string) {
		var in question
		if json.Unmarshal([]byte(text), &in) != nil {
			return
		}
		key, err := parseRequest([]byte(in.CSR))
		if err == nil {
			_, err = strongKey(key)
			require.NoError(t, err)
		}
		if isToken(in.Token) {
			require.Len(t, in.Token, 43)
		}
	})
}
