// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// total is the memory of the sidecar as the guide deploys it, and limit that of its
// container.
const (
	total = "448MiB"
	limit = 512 << 20
)

// sidecar is a running plugin argocd.
type sidecar struct {
	cmd         *exec.Cmd
	socket, web string
	log         *lockedBuffer
}

type lockedBuffer struct {
	mutex sync.Mutex
	bytes.Buffer
}

// Write implements io.Writer.
func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.Buffer.Write(p)
}

// program is the command, which is built if ROPEWALK_BIN is not set.
func program(t testing.TB) string {
	t.Helper()
	if name := os.Getenv("ROPEWALK_BIN"); name != "" {
		return name
	}
	name := filepath.Join(t.TempDir(), "ropewalk")
	build := exec.Command("go", "build", "-trimpath", "-tags", "grpcnotrace,kustomize_disable_go_plugin_support", "-ldflags", "-s -w", "-o", name, "github.com/ropewalk/ropewalk/cmd/ropewalk")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return name
}

func start(t testing.TB, binary string) *sidecar {
	t.Helper()
	dir, err := os.MkdirTemp("", "rw")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	s := &sidecar{socket: filepath.Join(dir, "ropewalk.sock"), web: "http://" + address, log: &lockedBuffer{}}
	s.cmd = exec.Command(binary, "plugin", "argocd", "--socket-dir", dir, "--http", address, "--allow-unlocked",
		"--cache-dir", filepath.Join(dir, "cache"), "--temp-dir", dir, "--memory-total", total, "--drain", "2s")
	s.cmd.Stderr, s.cmd.Env = s.log, []string{"HOME=" + dir}
	require.NoError(t, s.cmd.Start())
	t.Cleanup(func() {
		_ = s.cmd.Process.Signal(os.Interrupt)
		_ = s.cmd.Wait() // An interrupt has a code of its own.
	})
	require.Eventually(t, func() bool { return s.answers(t.Context(), "/readyz") }, 20*time.Second, 10*time.Millisecond)
	return s
}

// get is a page of the server.
func (s *sidecar) get(ctx context.Context, page string) (status int, text string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.web+page, nil)
	if err != nil {
		return 0, err.Error()
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	data, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(data)
}

func (s *sidecar) answers(ctx context.Context, page string) bool {
	status, _ := s.get(ctx, page)
	return status == http.StatusOK
}

// metric is the value of a metric without labels, -1 if there is none.
func (s *sidecar) metric(ctx context.Context, name string) float64 {
	_, text := s.get(ctx, "/metrics")
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			n, _ := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return n
		}
	}
	return -1
}

// sizes are resident bytes: now, and the largest since the last forget.
type sizes struct{ server, peak, all int64 }

// memory measures the server and its workers.
func (s *sidecar) memory() (out sizes) {
	own := strconv.Itoa(s.cmd.Process.Pid)
	names, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // It has ended.
		}
		fields := map[string]string{}
		for line := range strings.Lines(string(text)) {
			key, value, _ := strings.Cut(line, ":")
			fields[key] = strings.TrimSuffix(strings.TrimSpace(value), " kB")
		}
		if fields["Pid"] != own && fields["PPid"] != own {
			continue
		}
		kib := func(field string) int64 { n, _ := strconv.ParseInt(fields[field], 10, 64); return n << 10 }
		out.all += kib("VmRSS")
		if fields["Pid"] == own {
			out.server, out.peak = kib("VmRSS"), kib("VmHWM")
		}
	}
	return out
}

// forget begins a new measurement of the peak.
func (s *sidecar) forget() {
	_ = os.WriteFile("/proc/"+strconv.Itoa(s.cmd.Process.Pid)+"/clear_refs", []byte("5"), 0o600)
}
