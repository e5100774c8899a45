// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/e2e/plane"
)

// Backend is a process behind a Service.
type Backend struct {
	// Health is the address of its /readyz.
	Health string
	// Ports are the addresses that connections go to, one for each port of the Service.
	Ports []string
}

// Ready reports whether the process answers that it is.
func (b Backend) Ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+b.Health+"/readyz", nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
}

// Service leads new connections to the backend that is ready, as one of Kubernetes does: the
// others stay where they are.
type Service struct {
	backends []Backend

	mu    sync.Mutex
	ready []int
}

// NewService serves at addresses of the loopback, until the test ends. It looks at its backends
// twice in a second.
func NewService(t testing.TB, addresses []string, backends ...Backend) *Service {
	t.Helper()
	s := &Service{backends: backends}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for i, address := range addresses {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		require.NoError(t, err)
		context.AfterFunc(ctx, func() { _ = l.Close() })
		running.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				running.Go(func() { s.carry(ctx, c, i) })
			}
		})
	}
	running.Go(func() {
		for ctx.Err() == nil {
			s.look(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(500 * time.Millisecond):
			}
		}
	})
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return s
}

func (s *Service) look(ctx context.Context) {
	var ready []int
	for i, b := range s.backends {
		if b.Ready(ctx) {
			ready = append(ready, i)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = ready
}

// Ready are the backends that are, by their number.
func (s *Service) Ready() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready
}

// carry copies both directions of a connection, until one of them ends.
func (s *Service) carry(ctx context.Context, c net.Conn, port int) {
	defer c.Close() //nolint:errcheck // it ends
	ready := s.Ready()
	if len(ready) == 0 {
		return
	}
	to, err := (&net.Dialer{Timeout: plane.Startup}).DialContext(ctx, "tcp", s.backends[ready[0]].Ports[port])
	if err != nil {
		return
	}
	defer to.Close() //nolint:errcheck // it ends
	ended := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{c, to}, {to, c}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1]) // until either end closes
			ended <- struct{}{}
		}()
	}
	select {
	case <-ended:
	case <-ctx.Done():
	}
}
