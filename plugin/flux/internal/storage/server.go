// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Limits of the server.
const (
	headerBytes  = 16 << 10
	readTimeout  = 10 * time.Second
	writeTimeout = 5 * time.Minute
	idleTimeout  = 2 * time.Minute
	stopTimeout  = 5 * time.Second
)

// NewServer returns a server for the archives of a storage, by HTTP at an address such as :9790.
// Only the leader among several replicas has the files, and serves.
func NewServer(s *Storage, address string) *manager.Server {
	stop := stopTimeout
	return &manager.Server{
		Name: "artifacts", OnlyServeWhenLeader: true, ShutdownTimeout: &stop,
		Server: &http.Server{
			Addr: address, Handler: s.Handler(), MaxHeaderBytes: headerBytes,
			ReadHeaderTimeout: readTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		},
	}
}

// Handler returns a handler that serves archives, and nothing else: no plans, no folders, no other
// files. An archive never changes under its name.
func (s *Storage) Handler() http.Handler {
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
		s.serve(w, r, name, sum)
	})
}

// served returns the file for the path of a URL, and its sum. It returns "" if the path is not the
// path of an archive exactly as this package writes it.
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

// serve serves an archive.
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

// refuse answers for a file that cannot be served, without the reason. Flux tries again in
// both cases.
func (*Storage) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		http.NotFound(w, r)
		return
	}
	http.Error(w, "the file cannot be read", http.StatusInternalServerError)
}
