// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/worker"
	"github.com/ropewalk/ropewalk/test/servers"
)

// pooled has two worker processes evaluate, and nothing remembered.
func pooled(t *testing.T, limits evaluate.Limits) (Options, *worker.Pool) {
	t.Helper()
	pool, err := worker.NewPool(worker.Options{Size: 2, Schemas: schemas()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	opts := options(t)
	opts.Evaluator, opts.Workers, opts.Evaluations, opts.Stores, opts.Limits = pool, 2, nil, nil, limits
	return opts, pool
}

// TestWorkersThatAreKilledInTheMiddleFailNoRequest kills all workers again and again
// while each of them is in the middle of a request, as the system does that is out
// of memory.
func TestWorkersThatAreKilledInTheMiddleFailNoRequest(t *testing.T) {
	opts, pool := pooled(t, evaluate.Limits{})
	s, socket := start(t, opts)
	files := projectOf("web")
	files["modules/m/m.cue"] = "package m\n\nimport \"list\"\n" + strings.TrimPrefix(module, "package m\n") +
		"_n: list.Range(0, 30, 1)\n_slow: [for i in _n for j in _n for k in _n if i+j+k < input.n-10_000 {i}]\n" +
		"graph: nodes: config: object: data: slow: \"\\(len(_slow))\"\n"
	packed := archive(t, texts(files))
	stop := make(chan struct{})
	var killer, all sync.WaitGroup
	killed := 0
	killer.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Millisecond):
			}
			if killed++; killed > 4 {
				return
			}
			for pid := range resident(os.Getpid()) {
				if pid != os.Getpid() {
					_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
				}
			}
		}
	})
	for i := range 16 {
		all.Go(func() {
			out, err := generate(t, socket, call{archive: packed, path: "apps/web", env: map[string]string{
				"ARGOCD_APP_NAME": fmt.Sprint(i % 4), "ARGOCD_ENV_ROPEWALK_SET": fmt.Sprintf("n=%d", i),
			}})
			if err != nil || len(out) != 1 || !strings.Contains(out[0], fmt.Sprintf(`num: "%d"`, i)) {
				t.Error(i, out, err)
			}
		})
	}
	all.Wait()
	close(stop)
	killer.Wait()
	stats := pool.Stats()
	t.Logf("%d workers were started, %d requests went to another worker, %d renders were tried again", stats.Started, stats.Retried, s.metrics.retries.Load())
	require.Positive(t, int64(stats.Retried)+s.metrics.retries.Load(), "none was killed in the middle of a request")
}

// fullDisk runs the command in a file system of its own with room for four
// megabytes, all of which is taken.
func fullDisk(t *testing.T, args ...string) (socket, fill string) {
	t.Helper()
	space := &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	at := t.TempDir()
	const mount = `mount -t tmpfs -o size=4m none "$0"`
	probe := exec.CommandContext(t.Context(), "sh", "-c", mount, at) //nolint:gosec // a folder of the test
	probe.SysProcAttr = space
	if out, err := probe.CombinedOutput(); err != nil {
		t.Skipf("file systems cannot be mounted here: %v: %s", err, out)
	}
	dir := socketDir(t)
	var said strings.Builder
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-c", //nolint:gosec // the same
		mount + ` && mkdir "$0/temp" "$0/cache" && { head -c 8m /dev/zero > "$0/fill" 2>/dev/null; shift 0; exec "$@"; }`, at,
		program(t), "plugin", "argocd", "--socket-dir", dir, "--http", "", "--temp-dir", at + "/temp", "--cache-dir", at + "/cache", "--allow-unlocked",
	}, args...)...)
	cmd.SysProcAttr, cmd.Stderr, cmd.Env = space, &said, []string{"HOME=" + at, "PATH=" + os.Getenv("PATH")}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		t.Logf("the server said: %s", said.String())
	})
	socket = filepath.Join(dir, "ropewalk.sock")
	require.Eventually(t, func() bool { _, err := os.Stat(socket); return err == nil }, 20*time.Second, 5*time.Millisecond)
	return socket, fmt.Sprintf("/proc/%d/root%s/fill", cmd.Process.Pid, at)
}

// TestAFullDiskFailsWhatNeedsIt has no room for temporary files nor for a cache: who
// needs none is rendered, who does is told, and all are when there is room again.
func TestAFullDiskFailsWhatNeedsIt(t *testing.T) {
	t.Parallel()
	server := servers.InProcess(t)
	socket, fill := fullDisk(t, "--plain-http", server.Host, "--memory-total", "512Mi")
	files := projectOf("web")
	noise(files, "other", 70, 100<<10)
	large, small := call{archive: archive(t, texts(files)), path: "apps/web"}, call{archive: archive(t, texts(projectOf("web"))), path: "apps/web"}
	fetching := call{archive: archive(t, texts(withRef(fmt.Sprintf("{type: oci, ref: %q}", serveModule(t, server))))), path: "apps/web"}
	_, err := generate(t, socket, large)
	t.Logf("a large one: %v", err)
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.ErrorContains(t, err, "no space left on device")
	_, err = generate(t, socket, small)
	require.NoError(t, err)
	_, err = generate(t, socket, fetching)
	t.Logf("one that is fetched: %v", err)
	require.NoError(t, err)
	require.NoError(t, os.Remove(fill))
	_, err = generate(t, socket, large)
	require.NoError(t, err)
}
