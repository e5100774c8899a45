// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Limits of the server.
const (
	// requests is how many are answered at once; the others are told to come back,
	// which Flux does.
	requests = 256
	// headerBytes is how large the head of a request may be.
	headerBytes = 16 << 10

	readTimeout  = 10 * time.Second
	writeTimeout = 5 * time.Minute
	idleTimeout  = 2 * time.Minute
	stopTimeout  = 5 * time.Second
)

// Server serves the archives of a storage by HTTP, as long as this process leads.
// It is a Runnable of a manager, which starts it only then: with several replicas
// only one has the files.
type Server struct {
	Storage *Storage
	// Address to listen at, such as :9090. Listener, where set, is listened at instead.
	Address  string
	Listener net.Listener

	serving atomic.Bool
}

// NeedLeaderElection says that only the leader serves.
func (*Server) NeedLeaderElection() bool { return true }

// Start serves until ctx ends, and then lets requests finish for a while.
func (s *Server) Start(ctx context.Context) error {
	listener := s.Listener
	if listener == nil {
		var (
			config net.ListenConfig
			err    error
		)
		if listener, err = config.Listen(ctx, "tcp", s.Address); err != nil {
			return fmt.Errorf("the server of artifacts: %w", err)
		}
	}
	server := &http.Server{
		Handler: s.Storage.Handler(), MaxHeaderBytes: headerBytes,
		ReadHeaderTimeout: readTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	s.serving.Store(true)
	defer s.serving.Store(false)
	select {
	case err := <-ended:
		return fmt.Errorf("the server of artifacts: %w", err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if err := server.Shutdown(stop); err != nil {
		return errors.Join(ignore(err, context.DeadlineExceeded), server.Close())
	}
	return nil
}

// Ready is a check of readiness that fails where this process does not serve: it
// does not lead, or is starting. A Service that asks for it sends Flux to the leader.
func (s *Server) Ready(*http.Request) error {
	if s.serving.Load() {
		return nil
	}
	return errors.New("artifacts are served by the leader, which this process is not")
}

// Handler serves archives, and nothing else: no plans, no folders, no other
// files that lie there. What it serves never changes under its name.
func (s *Storage) Handler() http.Handler {
	busy := make(chan struct{}, requests)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
			return
		}
		name, sum := served(r.URL.Path)
		if name == "" {
			http.NotFound(w, r)
			return
		}
		select {
		case busy <- struct{}{}:
			defer func() { <-busy }()
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many requests at once", http.StatusServiceUnavailable)
			return
		}
		s.serve(w, r, name, sum)
	})
}

// served is the file that a path of a URL means, and its sum; "" where it is not
// the path of an archive, written in the one way in which we write it.
func served(urlPath string) (name, sum string) {
	parts := strings.Split(strings.TrimPrefix(urlPath, "/"), "/")
	if len(parts) != 4 || parts[0] != kind {
		return "", ""
	}
	sum, isArchive := strings.CutSuffix(parts[3], archiveSuffix)
	name, err := file(types.NamespacedName{Namespace: parts[1], Name: parts[2]}, "sha256:"+sum, archiveSuffix)
	if err != nil || !isArchive {
		return "", ""
	}
	return name, sum
}

func (s *Storage) serve(w http.ResponseWriter, r *http.Request, name, sum string) {
	info, err := s.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		s.refuse(w, r, err)
		return
	}
	f, err := s.root.Open(name)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	defer f.Close() //nolint:errcheck // it was read only
	head := w.Header()
	head.Set("Content-Type", "application/gzip")
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("ETag", `"`+sum+`"`)
	http.ServeContent(w, r, "", info.ModTime(), f)
}

// refuse answers for a file that cannot be served. Flux asks again in both cases;
// what is wrong here is no business of whoever asks.
func (*Storage) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		http.NotFound(w, r)
		return
	}
	http.Error(w, "the file cannot be read", http.StatusInternalServerError)
}
