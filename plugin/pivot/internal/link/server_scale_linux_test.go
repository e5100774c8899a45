// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
)

// parentEnv makes the test program a parent: its memory is not that of the agents. It is a
// folder with what it needs, and the address at which it listens.
const parentEnv = "ROPEWALK_TEST_PARENT"

func TestMain(m *testing.M) {
	if spec := os.Getenv(parentEnv); spec != "" {
		if err := beParent(spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func beParent(spec string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	dir, address, _ := strings.Cut(spec, " ")
	read := func(name string) []byte {
		data, _ := os.ReadFile(filepath.Join(dir, name)) // What is missing is seen below.
		return data
	}
	key, err := x509.ParseECPrivateKey(read("key"))
	if err != nil {
		return err
	}
	ca, err := x509.ParseCertificate(read("ca"))
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AddCert(ca)
	s, err := NewServer(ServerOptions{
		TLS: &tls.Config{
			Certificates: []tls.Certificate{{Certificate: [][]byte{read("cert")}, PrivateKey: key}}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
			MinVersion: tls.VersionTLS13, CurvePreferences: []tls.CurveID{tls.CurveP256, tls.CurveP384}, SessionTicketsDisabled: true,
		},
		Authorize: func(_ context.Context, c tls.ConnectionState) (string, error) {
			peer, err := enrol.PeerOf(c)
			return peer.Cluster, err
		},
		Session: func(context.Context, string) (int64, error) { return time.Now().UnixNano(), nil },
		Events:  Events{Heartbeat: func(context.Context, string, *wire.Heartbeat) {}},
	})
	if err != nil {
		return err
	}
	l, err := listen(address)
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	return s.Serve(ctx, l)
}

// process is a parent in a process of its own.
func process(t *testing.T, dir, address string) (*exec.Cmd, string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	command := exec.Command(self)
	command.Env = append(os.Environ(), parentEnv+"="+dir+" "+address)
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return command, strings.TrimSpace(line)
}

// memory is what a process has, and had at most, in MiB.
func memory(t *testing.T, c *exec.Cmd) (now, peak float64) {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Process.Pid))
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		var kb float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kb); n == 1 {
			now = kb / 1024
		}
		if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kb); n == 1 {
			peak = kb / 1024
		}
	}
	return now, peak
}

// TestIdleAgentsOfOneParent has the agents of ROPEWALK_AGENTS clusters, 50 where it is not set,
// at one parent: what memory that has, and how long they take until all of them are back after it
// was killed, at once and after ROPEWALK_DOWN of no parent.
func TestIdleAgentsOfOneParent(t *testing.T) {
	t.Parallel()
	agents, down := 50, 100*time.Millisecond
	if n, err := strconv.Atoi(os.Getenv("ROPEWALK_AGENTS")); err == nil {
		agents = n
	}
	if d, err := time.ParseDuration(os.Getenv("ROPEWALK_DOWN")); err == nil {
		down = d
	}
	p := &parent{t: t, authority: newAuthority(t)}
	dir, serving := t.TempDir(), p.server().Certificates[0]
	key, err := x509.MarshalECPrivateKey(serving.PrivateKey.(*ecdsa.PrivateKey))
	require.NoError(t, err)
	for name, data := range map[string][]byte{"ca": p.cert.Raw, "cert": serving.Certificate[0], "key": key} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	running, address := process(t, dir, "127.0.0.1:0")
	empty, _ := memory(t, running)

	all := make([]*agent, 0, agents)
	begun := time.Now()
	for n := range agents {
		all = append(all, p.join(address, p.agent(fmt.Sprint("cluster-", n), time.Hour), func(o *ClientOptions) { o.Backoff, o.MaxBackoff = 0, 0 }))
	}
	back := func() time.Duration {
		require.Eventually(t, func() bool { return !slices.ContainsFunc(all, func(a *agent) bool { return !a.Connected() }) }, 2*time.Minute, 20*time.Millisecond)
		return time.Since(begun).Round(10 * time.Millisecond)
	}
	joined := back()
	settled := time.Duration(agents) * 35 * time.Millisecond // Of 2,000 agents each sends several heartbeats, and its session is a good one.
	time.Sleep(settled)
	now, peak := memory(t, running)
	t.Logf("%d agents: joined within %s, memory of the parent %.0f MiB, after %s %.0f MiB, at most %.0f MiB", agents, joined, empty, settled, now, peak)
	require.LessOrEqual(t, peak, 512.0)

	for _, wait := range []time.Duration{0, down} {
		require.NoError(t, running.Process.Kill())
		_ = running.Wait() // It was killed.
		require.Eventually(t, func() bool { return !slices.ContainsFunc(all, (*agent).Connected) }, time.Minute, 10*time.Millisecond)
		time.Sleep(wait)
		begun = time.Now()
		running, _ = process(t, dir, address)
		returned := back()
		_, peak = memory(t, running)
		t.Logf("%d agents: back %s after a restart of the parent, which was away for %s; memory at most %.0f MiB", agents, returned, wait, peak)
		require.LessOrEqual(t, returned, time.Minute)
		require.LessOrEqual(t, peak, 512.0)
		time.Sleep(settled)
	}
	for _, a := range all {
		require.NoError(t, a.Healthy())
	}
	require.NoError(t, running.Process.Signal(syscall.SIGTERM))
	require.NoError(t, running.Wait(), "it stops gracefully")
}
