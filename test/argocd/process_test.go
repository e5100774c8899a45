// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"bytes"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// startup is how long a server may take to start, on the busiest machine.
const startup = 30 * time.Second

// process is a server in a process group of its own.
type process struct {
	cmd  *exec.Cmd
	log  *output
	done chan struct{} // closed when it has ended and was waited for
}

// start runs a command until the test ends, with all processes that it starts.
func start(t testing.TB, env []string, binary string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(binary, args...), log: &output{}, done: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = env, p.log, p.log
	isolate(p.cmd)
	require.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // how it ended shows in what it did
	}()
	t.Cleanup(func() { p.kill(); tell(t, p) })
	return p
}

// tell prints the end of what a process said, where the test has failed.
func tell(t testing.TB, p *process) {
	if text := p.log.String(); t.Failed() {
		t.Logf("%s said:\n%s", filepath.Base(p.cmd.Path), text[max(0, len(text)-3000):])
	}
}

// ready waits until is says so.
func (p *process) ready(t testing.TB, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(startup); !is(); time.Sleep(5 * time.Millisecond) {
		select {
		case <-p.done:
			require.Fail(t, "a server ended", "%s: %s", p.cmd.Path, p.log)
		default:
			require.True(t, time.Now().Before(deadline), "%s does not answer: %s", p.cmd.Path, p.log)
		}
	}
}

// signal signals the process, and not its group.
func (p *process) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(s))
}

// kill ends the group and returns when the process is gone.
func (p *process) kill() {
	killGroup(p.cmd)
	<-p.done
}

// output keeps what a process says; it is written to from several goroutines.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write keeps data.
func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(data)
}

// String is what was kept.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// find is the path of a binary, "" where it is not installed.
func find(binary string) string {
	for _, name := range []string{binary, filepath.Join("/usr/sbin", binary)} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// need is find for what the test cannot do without.
func need(t testing.TB, binary string) string {
	t.Helper()
	path := find(binary)
	if path == "" && os.Getenv("ROPEWALK_SERVERS") == "required" {
		require.Fail(t, binary+" is missing")
	} else if path == "" {
		t.Skip(binary + " is missing: install it")
	}
	return path
}

// free is a host and port of the loopback that nothing listens on. It is none of those
// that the system gives to clients, so that no connection takes it before the program
// does that it is for, or while that is stopped.
func free(t testing.TB) (address, port string) {
	t.Helper()
	const lowest, count = 20000, 12000
	var last error
	for range 100 {
		port = strconv.Itoa(lowest + rand.IntN(count))
		address = net.JoinHostPort("127.0.0.1", port)
		l, err := net.Listen("tcp", address)
		if err == nil {
			require.NoError(t, l.Close())
			return address, port
		}
		last = err
	}
	require.NoError(t, last)
	return "", ""
}

// listens reports whether something takes connections.
func listens(network, address string) bool {
	c, err := net.DialTimeout(network, address, time.Second)
	return err == nil && c.Close() == nil
}
