// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// Limits of a connection. Clients may ping it as often as they like: the
// repo-server does so every 20 seconds, in the middle of a render too.
const (
	// greeting bounds the time in which a client begins HTTP/2.
	greeting = 10 * time.Second
	// settling bounds the time in which a client that has dialled makes its calls.
	settling = time.Second
	// idle is the time for which a connection without requests is kept.
	idle = 5 * time.Minute
	// maxStreams limits the requests of one connection at once. The repo-server dials for each
	// request; further requests wait in the client.
	maxStreams = 1000
)

// Window limits the bytes that a waiting request holds of its archive: they are received of a
// stream, and of a connection, before they are read.
const Window = 64 << 10

// Serve answers on the socket until ctx ends, and then lets requests go on for the time of
// Options.Drain. Errors are ErrRunning and errors of the file system.
func (s *Server) Serve(ctx context.Context) error {
	// Only one server may have the name.
	if s.opts.Name != filepath.Base(s.opts.Name) || strings.HasPrefix(s.opts.Name, ".") {
		return fmt.Errorf("plugin name %q: expected a file name that does not begin with a dot", s.opts.Name)
	}
	name := filepath.Join(s.opts.Dir, s.opts.Name+".sock")
	if err := checkFree(name); err != nil {
		return err
	}
	// It is bound under another name: the repo-server must not find it before it is
	// served, and the socket of a killed server is replaced at once.
	hidden := filepath.Join(s.opts.Dir, fmt.Sprintf(".%s.%d", s.opts.Name, os.Getpid()))
	if err := os.Remove(hidden); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", hidden)
	if err != nil {
		return err
	}
	if unix, ok := listener.(*net.UnixListener); ok {
		unix.SetUnlinkOnClose(false) // By then it has another name.
	}

	// The name appears when the server answers.
	server := s.server()
	var connections connections
	server.ConnState = connections.note
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	mine, err := publish(hidden, name)
	if err != nil {
		return errors.Join(err, server.Close(), os.Remove(hidden))
	}

	// It serves until ctx ends, or it fails.
	s.socket.Store(&name)
	s.state.Store(serving)
	select {
	case err = <-ended:
	case <-ctx.Done():
		s.state.Store(draining)
	}
	// A client that dials from now on fails at once.
	withdraw(name, mine)
	connections.settle(min(settling, s.opts.Drain))
	s.end(server)
	return err
}

// checkFree returns an error if a server answers on the socket, or the name is another file.
func checkFree(name string) error {
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%q is not a socket: remove it", name)
	}
	conn, err := net.DialTimeout("unix", name, time.Second)
	if err != nil {
		return nil //nolint:nilerr // the socket belonged to a killed server
	}
	_ = conn.Close()
	return fmt.Errorf("%q: %w", name, ErrRunning)
}

// publish gives the socket its name.
func publish(hidden, name string) (fs.FileInfo, error) {
	if err := os.Chmod(hidden, 0o660); err != nil { //nolint:gosec // the repo-server may run as another user of the group
		return nil, err
	}
	if err := os.Rename(hidden, name); err != nil {
		return nil, err
	}
	return os.Lstat(name)
}

// withdraw removes the socket, unless it belongs to another server by now.
func withdraw(name string, mine fs.FileInfo) {
	if now, err := os.Lstat(name); err == nil && os.SameFile(now, mine) {
		_ = os.Remove(name) // The next server replaces it.
	}
}

// server returns a server that speaks HTTP/2 without TLS and nothing else, as gRPC does on a
// socket.
func (s *Server) server() *http.Server {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler: s.procedures(), Protocols: &protocols, HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerConnection: Window, MaxReceiveBufferPerStream: Window,
		},
		ReadHeaderTimeout: greeting, IdleTimeout: idle, ErrorLog: log.New(reports(s.opts.Report), "", 0),
	}
}

// connections counts those that are open.
type connections struct{ open atomic.Int64 }

// note counts the connections that are open.
func (c *connections) note(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		c.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		c.open.Add(-1)
	default: // It stays open.
	}
}

// settle waits until clients that have dialled have made their calls. The repo-server waits for
// ever on a connection that ends before its greeting is answered, and makes three calls on a
// connection that it closes then.
func (c *connections) settle(most time.Duration) {
	for deadline := time.Now().Add(most); time.Now().Before(deadline); {
		time.Sleep(most / 10)
		if c.open.Load() == 0 {
			return
		}
	}
}

// reports is the log of an HTTP server, reported line by line.
type reports func(error)

// Write reports a line of the log of the server.
func (r reports) Write(line []byte) (int, error) {
	r(errors.New(strings.TrimSpace(string(line))))
	return len(line), nil
}

// end lets requests go on for a while, and then ends them.
func (s *Server) end(server *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.Drain)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		_ = server.Close()
	}
}
