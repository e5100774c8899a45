// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// loopback is the address that is forwarded.
const loopback = "127.0.0.1"

// Namespace is a network namespace, with its loopback up.
type Namespace struct {
	// Name is that of ip netns.
	Name string

	file *os.File
}

// New makes a namespace for the time of a test.
func New(t testing.TB) *Namespace {
	t.Helper()
	require.Zero(t, os.Geteuid(), "network namespaces can only be made by root, and this test needs them: run it as root")
	n := &Namespace{Name: "rw-" + strings.ToLower(rand.Text()[:8])}
	ip(t, "netns", "add", n.Name)
	t.Cleanup(func() { ip(t, "netns", "del", n.Name) })
	ip(t, "-n", n.Name, "link", "set", "lo", "up")
	var err error
	n.file, err = os.Open("/run/netns/" + n.Name)
	require.NoError(t, err)
	t.Cleanup(func() { _ = n.file.Close() }) // it was read only
	return n
}

// Command is the command line of a program that runs in the namespace.
func (n *Namespace) Command(argv ...string) []string {
	return append([]string{"ip", "netns", "exec", n.Name}, argv...)
}

// IP runs ip in the namespace.
func (n *Namespace) IP(t testing.TB, args ...string) {
	t.Helper()
	ip(t, append([]string{"-n", n.Name}, args...)...)
}

func ip(t testing.TB, args ...string) {
	t.Helper()
	// The context of a test has ended when namespaces are deleted.
	out, err := exec.CommandContext(context.WithoutCancel(t.Context()), "ip", args...).CombinedOutput() //nolint:gosec // tests give the arguments
	require.NoError(t, err, "ip %s: %s (it is of the package iproute2)", strings.Join(args, " "), out)
}

// do calls f on a thread that is in the namespace: sockets and devices belong to that in which
// they are made.
func (n *Namespace) do(f func() error) error {
	result := make(chan error, 1)
	go func() {
		// The thread is not unlocked where it cannot go back, and ends with the goroutine.
		runtime.LockOSThread()
		home, err := os.Open("/proc/thread-self/ns/net")
		if err != nil {
			result <- err
			return
		}
		defer home.Close() //nolint:errcheck // it was read only
		if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
			result <- fmt.Errorf("entering namespace %q: %w", n.Name, err)
			return
		}
		err = f()
		if unix.Setns(int(home.Fd()), unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
		result <- err
	}()
	return <-result
}

// Listen listens at an address of the namespace for the time of a test.
func (n *Namespace) Listen(t testing.TB, address string) net.Listener {
	t.Helper()
	var l net.Listener
	require.NoError(t, n.do(func() (err error) {
		l, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
		return err
	}))
	t.Cleanup(func() { _ = l.Close() }) // until then it accepts
	return l
}

// Dial connects to an address, which is no name, from the namespace.
func (n *Namespace) Dial(ctx context.Context, _, address string) (c net.Conn, err error) {
	err = n.do(func() (err error) {
		c, err = (&net.Dialer{}).DialContext(ctx, "tcp", address)
		return err
	})
	return c, err
}

// Forward makes addresses of the loopback of the machine reachable at the same ones of the
// namespace.
func (n *Namespace) Forward(t testing.TB, addresses ...string) {
	t.Helper()
	for _, address := range addresses {
		host, _, err := net.SplitHostPort(address)
		require.NoError(t, err)
		require.Equal(t, loopback, host)
		l := n.Listen(t, address)
		go serve(l, func(c net.Conn) {
			to, err := net.Dial("tcp", address) //nolint:noctx // the loopback
			if err != nil {
				_ = c.Close() // nothing listens there
				return
			}
			go carry(to, c)
			carry(c, to)
		})
	}
}

// serve handles the connections of a listener until that is closed.
func serve(l net.Listener, handle func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go handle(c)
	}
}

// carry copies until one of both ends is closed, and then closes the other.
func carry(to, from net.Conn) {
	_, _ = io.Copy(to, from) // the end of either is the end
	_ = to.Close()
	_ = from.Close()
}
