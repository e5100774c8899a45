// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ropewalk/ropewalk/test/e2e/plane"
)

// Request is one of a client.
type Request struct {
	Method, Path string
	// Write numbers the requests that write since Reset, from 1; it is 0 for the others.
	Write int
	// Body is that of a request that writes.
	Body []byte
}

// String is how tables name a request.
func (r Request) String() string { return r.Method + " " + r.Path }

// Fault is what happens to a request. The zero value is nothing.
type Fault struct {
	// Status is answered instead of the server: 409, 429, 500, 503.
	Status int
	// Lose drops the connection after the server has handled the request.
	Lose bool
	// Delay is how long the request waits before all else.
	Delay time.Duration
	// Before and After are called before the server gets the request and after it has
	// handled it; the client gets no answer then.
	Before, After func()
}

// Rule says what happens to a request. It is called for several at once.
type Rule func(Request) Fault

// Proxy stands before one API server.
type Proxy struct {
	// Kubeconfig is the path of the configuration of a client of the proxy, and Token is the
	// secret in it.
	Kubeconfig, Token string

	server *http.Server
	ended  chan struct{}

	mu     sync.Mutex
	rule   Rule
	writes []Request
	faults int
}

// New starts a proxy before the API server of an administrator's configuration. It ends
// with the test.
func New(t testing.TB, upstream *rest.Config) *Proxy {
	t.Helper()
	dir := t.TempDir()
	authority := plane.NewAuthority(t, filepath.Join(dir, "pki"))
	p := &Proxy{Kubeconfig: filepath.Join(dir, "kubeconfig"), Token: rand.Text()}

	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(plane.Loopback, "0"))
	require.NoError(t, err)
	config := authority.Kubeconfig("https://"+listener.Addr().String(), &clientcmdapi.AuthInfo{Token: p.Token})
	require.NoError(t, clientcmd.WriteToFile(*config, p.Kubeconfig))

	p.server = &http.Server{Handler: p.handler(t, upstream), ReadHeaderTimeout: time.Minute, ErrorLog: log.New(discard{}, "", 0)}
	p.ended = make(chan struct{})
	go func() {
		defer close(p.ended)
		_ = p.server.ServeTLS(listener, authority.File("server.crt"), authority.File("server.key")) // until Close
	}()
	t.Cleanup(p.Close)
	return p
}

// Close is the loss of the API server, for good, as far as clients of the proxy can tell.
func (p *Proxy) Close() {
	_ = p.server.Close() // it answers no one any more
	<-p.ended
}

// discard takes what the server says of connections that are dropped on purpose.
type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// Set has a rule applied to all requests from now on; nil is none.
func (p *Proxy) Set(rule Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rule = rule
}

// Reset forgets the writes and the rule.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rule, p.writes, p.faults = nil, nil, 0
}

// Writes are the requests that write since Reset, in the order of their arrival.
func (p *Proxy) Writes() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Request{}, p.writes...)
}

// Faults is how many requests had a fault since Reset.
func (p *Proxy) Faults() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults
}

// of numbers a request and finds its fault.
func (p *Proxy) of(r *http.Request) Fault {
	var body []byte
	if writes(r) {
		body, _ = io.ReadAll(r.Body) // the server gets what there is
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	p.mu.Lock()
	request := Request{Method: r.Method, Path: r.URL.Path}
	if writes(r) {
		request.Body = body
		request.Write = len(p.writes) + 1
		p.writes = append(p.writes, Request{Method: request.Method, Path: request.Path, Write: request.Write})
	}
	rule := p.rule
	p.mu.Unlock()
	if rule == nil {
		return Fault{}
	}
	fault := rule(request)
	if fault.Status != 0 || fault.Lose || fault.Delay != 0 || fault.Before != nil || fault.After != nil {
		p.mu.Lock()
		p.faults++
		p.mu.Unlock()
	}
	return fault
}

// writes reports whether a request changes something. Reviews of rights are created and
// kept nowhere.
func writes(r *http.Request) bool {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		review, _ := filepath.Match("/apis/auth*.k8s.io/*/*", r.URL.Path)
		return len(r.URL.Query()["dryRun"]) == 0 && !review
	default:
		return false
	}
}

// losing is the key of a request whose answer is lost, with what is called before that.
type losing struct{}

// handler applies faults, and sends on what is left.
func (p *Proxy) handler(t testing.TB, upstream *rest.Config) http.Handler {
	t.Helper()
	to, err := url.Parse(upstream.Host)
	require.NoError(t, err)
	transport, err := rest.TransportFor(upstream)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1, ErrorLog: log.New(discard{}, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Header.Del("Authorization")
		},
		ModifyResponse: func(r *http.Response) error {
			if after, ok := r.Request.Context().Value(losing{}).(func()); ok {
				after()
				panic(http.ErrAbortHandler)
			}
			return nil
		},
		// An API server that is down is a connection that is dropped.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+p.Token {
			answer(w, http.StatusUnauthorized)
			return
		}
		fault := p.of(r)
		select {
		case <-time.After(fault.Delay):
		case <-r.Context().Done():
		}
		if fault.Before != nil {
			fault.Before()
			panic(http.ErrAbortHandler)
		}
		if fault.Status != 0 {
			answer(w, fault.Status)
			return
		}
		if fault.Lose && fault.After == nil {
			fault.After = func() {}
		}
		if fault.After != nil {
			// The server must handle the request although the client may be gone.
			r = r.WithContext(context.WithValue(context.WithoutCancel(r.Context()), losing{}, fault.After))
		}
		proxy.ServeHTTP(w, r)
	})
}

// answer is what an API server says with a status.
func answer(w http.ResponseWriter, status int) {
	reasons := map[int]metav1.StatusReason{
		http.StatusConflict: metav1.StatusReasonConflict, http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests,
		http.StatusInternalServerError: metav1.StatusReasonInternalError, http.StatusServiceUnavailable: metav1.StatusReasonServiceUnavailable,
		http.StatusUnauthorized: metav1.StatusReasonUnauthorized,
	}
	w.Header().Set("Content-Type", "application/json")
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", strconv.Itoa(1))
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(metav1.Status{ // the client may be gone
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Code: int32(status), Reason: reasons[status], Message: fmt.Sprintf("injected by the test: %d", status), //nolint:gosec // a status
	})
}
