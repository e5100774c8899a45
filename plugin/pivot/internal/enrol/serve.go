// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package enrol

import (
	"context"
	"crypto/tls"
	"errors"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/netutil"
	"golang.org/x/time/rate"

	"github.com/ropewalk/ropewalk/internal/lru"
)

const (
	// readWithin bounds a TLS handshake too.
	readWithin  = 10 * time.Second
	writeWithin = 30 * time.Second
	// addresses bounds the number of addresses that have a limiter.
	addresses = 16 << 10
)

// Serve serves the endpoint on a listener of TCP until ctx is done, and closes it.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	limits := s.Limits.withDefaults()
	server := &http.Server{
		Handler:           s.limited(s.Handler(), limits),
		ReadHeaderTimeout: readWithin,
		ReadTimeout:       readWithin,
		WriteTimeout:      writeWithin,
		IdleTimeout:       readWithin,
		MaxHeaderBytes:    8 << 10,
		ErrorLog:          log.New(lines{s}, "", 0),
	}

	// When ctx ends, give open requests 5 s.
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close() // Cut the connections that are left.
		}
	})

	// An address gets half of the connections at most.
	config := s.Endpoint.TLS(tls.VerifyClientCertIfGiven, "http/1.1")
	shares := NewShares(limits.Connections, (limits.Connections+1)/2)
	limited := shared{netutil.LimitListener(l, limits.Connections), shares}
	err := server.Serve(tls.NewListener(limited, config))
	if !stop() {
		<-stopped
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// limited returns a handler that refuses requests of an address that sends too many.
func (s *Server) limited(next http.Handler, limits Limits) http.Handler {
	limiters := lru.New[netip.Prefix, *rate.Limiter](addresses)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		client := network(r.RemoteAddr)
		limiter, ok := limiters.Get(client)
		if !ok {
			limiter = rate.NewLimiter(rate.Limit(limits.PerSecond), limits.Burst)
			limiters.Put(client, limiter, 1)
		}
		if !limiter.AllowN(s.Now(), 1) {
			w.Header().Set("Retry-After", "1")
			s.refuse(w, r, refuse(TooManyRequests, "%s sends more than %v requests in a second", client, limits.PerSecond))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// lines logs the lines of the server in the standard library, which reports failed handshakes.
type lines struct{ s *Server }

// Write implements io.Writer.
func (l lines) Write(line []byte) (int, error) {
	l.s.Log.Info("connection refused", "message", strings.TrimSpace(string(line)))
	return len(line), nil
}
