// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ropewalk/ropewalk/test/reposerver"
)

// memoryRequests says how many requests the test of memory makes, 200 where it is
// not set. Some 20,000 take ten minutes.
const memoryRequests = "ROPEWALK_MEMORY_REQUESTS"

// memoryConnections says how many connections the test of variables makes, 100 where it is
// not set: 400 take a gigabyte in the test itself.
const memoryConnections = "ROPEWALK_MEMORY_CONNECTIONS"

// building lets one test build the command.
var building sync.Mutex

// program builds the command, or takes the one that is there.
func program(t testing.TB) string {
	t.Helper()
	if name := os.Getenv("ROPEWALK_BIN"); name != "" {
		return name
	}
	building.Lock()
	defer building.Unlock()
	name := filepath.Join(os.TempDir(), fmt.Sprintf("ropewalk-%d.test", os.Getpid()))
	if _, err := os.Stat(name); err == nil {
		return name
	}
	build := exec.Command("go", "build", "-trimpath", "-tags", "grpcnotrace,kustomize_disable_go_plugin_support", "-ldflags", "-s -w", "-o", name, "./cmd/ropewalk")
	build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return name
}

// resident is what a process and its children have in memory, in bytes, by process.
func resident(pid int) map[int]int64 {
	out := map[int]int64{}
	processes, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, name := range processes {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		fields := map[string]string{}
		for line := range strings.Lines(string(text)) {
			key, value, _ := strings.Cut(line, ":")
			fields[key] = strings.TrimSuffix(strings.TrimSpace(value), " kB")
		}
		id := fields["Pid"]
		if parent := strconv.Itoa(pid); id != parent && fields["PPid"] != parent {
			continue
		}
		n, _ := strconv.Atoi(id)
		kib, _ := strconv.ParseInt(fields["VmRSS"], 10, 64)
		out[n] = kib << 10
	}
	return out
}

// peaks are the largest sums that were seen.
type peaks struct{ all, parent, worker atomic.Int64 }

func (p *peaks) watch(pid int, stop <-chan struct{}) {
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		select {
		case <-stop:
			tick.Stop()
			return
		case <-tick.C:
		}
		var sum int64
		for id, n := range resident(pid) {
			sum += n
			one := &p.worker
			if id == pid {
				one = &p.parent
			}
			one.Store(max(one.Load(), n))
		}
		p.all.Store(max(p.all.Load(), sum))
	}
}

// noise is files that compress badly.
func noise(files map[string]string, folder string, count, size int) {
	random := rand.New(rand.NewPCG(1, uint64(count)))
	for i := range count {
		var b strings.Builder
		for b.Len() < size {
			_, _ = fmt.Fprintf(&b, "k%d: %x\n", random.Uint32(), random.Uint64())
		}
		files[fmt.Sprintf("%s/%04d.yaml", folder, i)] = b.String()
	}
}

// flood makes requests, 16 at once, of which no two are equal, and gives how many of
// them failed.
func flood(t *testing.T, socket string, requests int) int64 {
	t.Helper()
	small := archive(t, texts(projectOf("web")))
	beside, mine := projectOf("web"), projectOf("web")
	noise(beside, "other", 100, 100<<10)
	noise(mine, "apps/web/data", 3, 8<<20)
	large, own := archive(t, texts(beside)), archive(t, texts(mine))
	t.Logf("archives of %d, %d and %d bytes", len(small), len(large), len(own))
	var next, failed atomic.Int64
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for n := next.Add(1); n <= int64(requests); n = next.Add(1) {
				c := call{archive: small, path: "apps/web"}
				switch {
				case n%100 == 0:
					c.archive = own
				case n%40 == 0:
					c.archive = large
				}
				var tags []string
				for i := range 40 {
					tags = append(tags, fmt.Sprintf(`"k%d-%d": "%d"`, n, i, n*1000+int64(i)))
				}
				c.env = map[string]string{
					"ARGOCD_APP_NAME":         fmt.Sprint(n % 40),
					"ARGOCD_ENV_ROPEWALK_SET": fmt.Sprintf("n=%d\ntext=t%s\ntags={%s}", n, strings.Repeat(fmt.Sprint(n), 200), strings.Join(tags, ", ")),
				}
				if out, err := generate(t, socket, c); (err != nil || len(out) != 1) && failed.Add(1) <= 3 {
					t.Log(err)
				}
			}
		})
	}
	all.Wait()
	return failed.Load()
}

// The server and its workers keep to their total, whatever they are sent: names that
// CUE never forgets, archives larger than what may be kept, results that are
// remembered.
func TestTheServerKeepsToItsMemory(t *testing.T) {
	t.Parallel()
	requests := 200
	if n, err := strconv.Atoi(os.Getenv(memoryRequests)); err == nil {
		requests = n
	}
	var failed int64
	seen := during(t, func(socket, _ string) { failed = flood(t, socket, requests) })
	require.Zero(t, failed)
	require.Less(t, seen.all.Load(), int64(total))
}

// total is the memory of the servers of these tests.
const total = 512 << 20

// during starts the command, and returns the memory that it takes while work makes requests.
func during(t *testing.T, work func(socket, web string)) *peaks {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	web := listener.Addr().String()
	require.NoError(t, listener.Close())
	dir := socketDir(t)
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program(t), "plugin", "argocd", "--socket-dir", dir, "--http", web,
		"--cache-dir", t.TempDir(), "--temp-dir", t.TempDir(), "--memory-total", "512MiB")
	cmd.Stderr, cmd.Env = &said, []string{"HOME=" + t.TempDir()}
	require.NoError(t, cmd.Start())
	stop := make(chan struct{})
	seen := &peaks{}
	var watching sync.WaitGroup
	watching.Go(func() { seen.watch(cmd.Process.Pid, stop) })
	socket := filepath.Join(dir, "ropewalk.sock")
	require.Eventually(t, func() bool { _, err := os.Stat(socket); return err == nil }, 20*time.Second, 5*time.Millisecond)

	begin := time.Now()
	work(socket, "http://"+web)
	took := time.Since(begin)
	close(stop)
	watching.Wait()
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait() // an interrupt has a code of its own
	t.Logf("%s; peaks: %d MiB together, %d MiB the server, %d MiB a worker; %s", took.Round(time.Millisecond),
		seen.all.Load()>>20, seen.parent.Load()>>20, seen.worker.Load()>>20, cut(said.String(), maxText))
	return seen
}

// TestVariablesOfManyConnectionsKeepToTheMemory has connections at once that hold 3 MB of
// variables each, which no limit of requests has seen yet, beside those of another project.
func TestVariablesOfManyConnectionsKeepToTheMemory(t *testing.T) {
	connections := 100
	if n, err := strconv.Atoi(os.Getenv(memoryConnections)); err == nil {
		connections = n
	}
	files := texts(projectOf("web"))
	large := strings.Repeat("x", 3_000_000)
	seen := during(t, func(socket, web string) {
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
		defer cancel()
		var all sync.WaitGroup
		var longest atomic.Int64
		for i := range connections {
			all.Go(func() {
				env := of("evil", fmt.Sprint(i))
				name := "ARGOCD_ENV_ROPEWALK_SET" // More than a request may set: an error once it is read.
				if i%2 == 0 {
					name = "ARGOCD_ENV_X"
				}
				env[name] = large
				_, err := reposerver.Generate(ctx, socket, reposerver.Request{Files: files, Path: "apps/web", Variables: env})
				switch code := status.Code(err); {
				case code == codes.Unavailable: // A client that got no time of the CPU to begin.
				case i%2 == 0 && err != nil && code != codes.ResourceExhausted, i%2 == 1 && code != codes.InvalidArgument:
					t.Error(i, err)
				}
			})
		}
		all.Go(func() {
			for i := range 20 {
				begin := time.Now()
				got, err := reposerver.Generate(ctx, socket, reposerver.Request{Files: files, Path: "apps/web", Variables: of("good", fmt.Sprint(i))})
				longest.Store(max(longest.Load(), int64(time.Since(begin))))
				if err != nil || len(got) != 1 {
					t.Error(got, err)
				}
				response, err := http.Get(web + "/healthz") //nolint:noctx // loopback
				if err != nil || response.Body.Close() != nil || response.StatusCode != http.StatusOK {
					t.Error("the server is not healthy", err)
				}
			}
		})
		all.Wait()
		t.Logf("the other project waited for %s at most", time.Duration(longest.Load()).Round(time.Millisecond))
	})
	require.Less(t, seen.all.Load(), int64(total))
	require.Less(t, seen.parent.Load(), int64(total/2), "its share are three eighths, most of which the collector fills before it works")
}
