// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/ropewalk/ropewalk/plugin/argocd/internal/wire"
)

// The repo-server pings every 20 seconds, and other clients may do so sooner: a
// server that finds that too often ends the connection in the middle of a render.
const leastPing = 5 * time.Second

// maxMessage is how large a message of a client may be: chunks have a kilobyte, or
// what ARGOCD_CMP_CHUNK_SIZE says.
const maxMessage = 16 << 20

// Serve answers on the socket until ctx ends, and then lets requests go on for the
// time of Options.Drain. It returns nil where that went well. Errors are ErrRunning
// and those of the file system.
func (s *Server) Serve(ctx context.Context) error {
	if s.opts.Name != filepath.Base(s.opts.Name) || strings.HasPrefix(s.opts.Name, ".") {
		return fmt.Errorf("the name %q of the plugin cannot be that of a socket", s.opts.Name)
	}
	name := filepath.Join(s.opts.Dir, s.opts.Name+".sock")
	if err := isFree(name); err != nil {
		return err
	}
	// It is bound under another name: the repo-server must not find it before it is
	// served, and what a killed server left behind is replaced at once.
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
	server := grpc.NewServer(
		grpc.MaxRecvMsgSize(maxMessage), grpc.ConnectionTimeout(10*time.Second),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: leastPing, PermitWithoutStream: true}),
	)
	wire.RegisterConfigManagementPluginServiceServer(server, s)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	mine, err := publish(hidden, name)
	if err != nil {
		server.Stop()
		return errors.Join(err, os.Remove(hidden))
	}
	s.socket.Store(&name)
	s.state.Store(serving)
	select {
	case err = <-ended:
	case <-ctx.Done():
		s.state.Store(draining)
	}
	// Who dials from now on learns at once that nobody is here.
	withdraw(name, mine)
	s.drain(server)
	return err
}

// isFree reports whether a socket may be taken: there is none, or nobody answers.
func isFree(name string) error {
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%q is no socket: remove it", name)
	}
	conn, err := net.DialTimeout("unix", name, time.Second)
	if err != nil {
		return nil //nolint:nilerr // what does not answer is what a killed server left
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

// withdraw removes the socket, unless it is that of another server by now.
func withdraw(name string, mine fs.FileInfo) {
	if now, err := os.Lstat(name); err == nil && os.SameFile(now, mine) {
		_ = os.Remove(name) // The next server replaces it.
	}
}

// drain lets requests go on for a while.
func (s *Server) drain(server *grpc.Server) {
	done := make(chan struct{})
	go func() {
		server.GracefulStop()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(s.opts.Drain):
		server.Stop()
	}
}
