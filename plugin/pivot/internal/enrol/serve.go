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
	// addresses is how many addresses have a limiter.
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
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close() // What is left is cut off.
		}
	})
	config := s.Endpoint.TLS(tls.VerifyClientCertIfGiven, "http/1.1")
	err := server.Serve(tls.NewListener(shared{netutil.LimitListener(l, limits.Connections), NewShares(limits.Connections, (limits.Connections+1)/2)}, config))
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
		from := network(r.RemoteAddr)
		limiter, ok := limiters.Get(from)
		if !ok {
			limiter = rate.NewLimiter(rate.Limit(limits.PerSecond), limits.Burst)
			limiters.Put(from, limiter, 1)
		}
		if !limiter.AllowN(s.Now(), 1) {
			w.Header().Set("Retry-After", "1")
			s.refuse(w, r, refuse(TooManyRequests, "%s sends more than %v requests in a second", from, limits.PerSecond))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// lines logs what the server of the standard library reports: handshakes that are refused.
type lines struct{ s *Server }

// Write implements io.Writer.
func (l lines) Write(line []byte) (int, error) {
	l.s.Log.Info("connection refused", "message", strings.TrimSpace(string(line)))
	return len(line), nil
}
