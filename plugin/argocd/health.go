// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// States of a server.
const (
	starting int32 = iota
	serving
	draining
)

// Handler returns a handler for health and metrics. /healthz succeeds while the socket answers and
// no work has outlived its request by a minute. /readyz succeeds while requests are accepted too
// and a slot is left for them. /metrics is for Prometheus.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		// A server that ends is healthy until it has ended.
		works := s.answers() && s.works.abandoned(stuck) == 0
		respond(w, s.state.Load() == draining || works)
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		respond(w, s.state.Load() == serving && s.answers() && s.works.abandoned(0) < s.opts.Requests)
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{DisableCompression: true}))
	return mux
}

// answers reports whether the socket accepts connections.
func (s *Server) answers() bool {
	name := s.socket.Load()
	if name == nil {
		return false
	}
	conn, err := net.DialTimeout("unix", *name, time.Second)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// respond answers with success or with the status 503.
func respond(w http.ResponseWriter, ok bool) {
	if !ok {
		http.Error(w, "not ok", http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n")) // The client may be gone.
}
