// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"net"
	"net/http"
	"time"
)

// States of a server.
const (
	starting int32 = iota
	serving
	draining
)

// Handler serves health and metrics: /healthz says whether the socket answers,
// /readyz whether requests are taken too, and /metrics counts in the text format
// of Prometheus.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		// A server that ends is healthy until it has ended.
		say(w, s.state.Load() == draining || s.answers())
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		say(w, s.state.Load() == serving && s.answers())
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_ = s.write(w) // Who asked is gone.
	})
	return mux
}

// answers reports whether somebody answers on the socket.
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

func say(w http.ResponseWriter, well bool) {
	if !well {
		http.Error(w, "not ok", http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n")) // Who asked is gone.
}
