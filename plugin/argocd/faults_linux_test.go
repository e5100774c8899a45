// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/test/servers"
)

// pooled has two worker processes evaluate, and nothing remembered.
func pooled(t *testing.T, limits evaluate.Limits) (Options, *evaluate.Pool) {
	t.Helper()
	pool, err := evaluate.NewPool(evaluate.PoolOptions{Size: 2, Schemas: schemas()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	opts := options(t)
	opts.Renderer, opts.Stores, opts.Limits = render.Renderer{Evaluator: pool}, nil, limits
	opts.Renders = 4
	return opts, pool
}

// TestWorkersThatAreKilledInTheMiddleFailNoRequest kills all workers again and again
// while each of them is in the middle of a request, as the system does that is out
// of memory.
func TestWorkersThatAreKilledInTheMiddleFailNoRequest(t *testing.T) {
	opts, pool := pooled(t, evaluate.Limits{})
	s, socket := start(t, opts)
	files := project("web")
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

// TestAHostileModuleTakesNoTimeOfOthers asks for fifty applications, two at once and
// eight, alone and then beside one whose module hangs. It has one of two workers then,
// but runs only on a core that nobody else wants: half of the others take as long as
// usual, and nearly all no more than twice of that, also where there is one core for
// all of them, to which this test keeps itself. Without that courtesy, half of them
// take half as long again or more.
//
// What else the machine does must be no part of it. So each round measures alone,
// beside the hostile one, and alone again; a round in which the machine had other
// things to do at its end than at its begin is measured anew, and the round in the
// middle counts.
func TestAHostileModuleTakesNoTimeOfOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures")
	}
	oneCore(t)
	opts, _ := pooled(t, evaluate.Limits{Timeout: time.Minute})
	_, socket := start(t, opts)
	hang, err := os.ReadFile("../../render/evaluate/testdata/hostile/nested-for.cue")
	require.NoError(t, err)
	files := project("web")
	files["bad/bad.yaml"] = "apiVersion: ropewalk.dev/v1alpha1\nkind: Transform\nmetadata: {name: bad}\nspec: {cueRef: {type: path, ref: m}}\n"
	files["bad/m/m.cue"] = string(hang)
	packed := archive(t, texts(files))
	asked := 0
	fifty := func(together int) []time.Duration {
		asked++
		return each(together, 50, func(i int) {
			out, err := generate(t, socket, call{archive: packed, path: "apps/web", env: map[string]string{
				"ARGOCD_APP_NAME": fmt.Sprint(i), "ARGOCD_ENV_ROPEWALK_SET": fmt.Sprintf("n=%d", 1000*asked+i),
			}})
			if err != nil || len(out) != 1 {
				t.Error(out, err)
			}
		})
	}
	beside := func(together int) []time.Duration {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		asking, begin := make(chan error, 1), processorTimes()
		go func() {
			_, err := generateIn(ctx, t, socket, call{archive: packed, path: "bad", env: map[string]string{
				"ARGOCD_APP_NAME": "bad", "ARGOCD_APP_NAMESPACE": fmt.Sprint("namespace-", asked),
			}})
			asking <- err
		}()
		require.Eventually(t, func() bool { return most(begin, processorTimes()) > 300*time.Millisecond },
			50*time.Second, 25*time.Millisecond, "it takes more than it may")
		took := fifty(together)
		require.Empty(t, asking, "the hostile one has ended before the good ones")
		end()
		require.Equal(t, codes.Canceled, status.Code(<-asking))
		return took
	}
	fifty(8) // Workers are started.
	for _, together := range []int{2, 8} {
		var all []round
		for again := 0; ; again++ {
			r := round{before: fifty(together), beside: beside(together)}
			fifty(8) // Another worker is started.
			if r.after = fifty(together); r.steady() || again > 15 {
				all = append(all, r)
			}
			// What is true of the machine and not of the module passes.
			if says, ok := judged(all, together); len(all) >= 5 && ok || len(all) == 21 {
				t.Log(says)
				require.True(t, ok, "after %d rounds", len(all))
				break
			}
		}
	}
}

// judged says how long requests take alone and beside a hostile one, and whether that
// is no more than it may be.
func judged(all []round, together int) (says string, ok bool) {
	ok = len(all) > 0
	for _, may := range []struct {
		part  int
		times float64
		// What the scheduler of a busy machine does in a moment is no module's; it is
		// seen in those that take longest.
		noise time.Duration
	}{{50, 1.3, 500 * time.Microsecond}, {95, 2, 5 * time.Millisecond}} {
		if len(all) == 0 {
			break
		}
		alone, both := middle(all, may.part)
		says += fmt.Sprintf("%d at once: %d %% take %s at most; beside the hostile one %s, x%.2f\n", together, may.part, alone, both, float64(both)/float64(alone))
		ok = ok && both < time.Duration(may.times*float64(alone))+may.noise
	}
	return says, ok
}

// processorTimes is how long each process that this one has started has run, by its
// number.
func processorTimes() map[int]time.Duration {
	out := map[int]time.Duration{}
	for pid := range resident(os.Getpid()) {
		var now unix.Timespec
		// The clock of another process is its number with all bits turned over, and 2.
		if pid != os.Getpid() && unix.ClockGettime(int32(^pid<<3|2), &now) == nil { //nolint:gosec // no number of a process has 29 bits
			out[pid] = time.Duration(now.Nano())
		}
	}
	return out
}

// most is how long the process has run that ran longest between two times.
func most(begin, end map[int]time.Duration) (longest time.Duration) {
	for pid, now := range end {
		longest = max(longest, now-begin[pid])
	}
	return longest
}

// round is how long requests took, sorted: alone, beside a hostile one, and alone again.
type round struct{ before, beside, after []time.Duration }

// steady reports whether the machine was as busy after a round as before.
func (r round) steady() bool {
	a, b := at(r.before, 50), at(r.after, 50)
	return max(a, b) < 3*min(a, b)/2
}

// at is how long the given part of requests took at most, in percent.
func at(took []time.Duration, part int) time.Duration { return took[len(took)*part/100] }

// middle is how long a part of requests took at most, alone and beside a hostile one,
// in the round in the middle of all rounds by how these differ.
func middle(all []round, part int) (alone, both time.Duration) {
	of := func(r round) (alone, both time.Duration) {
		return (at(r.before, part) + at(r.after, part)) / 2, at(r.beside, part)
	}
	times := func(r round) float64 {
		alone, both := of(r)
		return float64(both) / float64(alone)
	}
	sorted := slices.SortedFunc(slices.Values(all), func(a, b round) int { return cmp.Compare(times(a), times(b)) })
	return of(sorted[len(sorted)/2])
}

// oneCore keeps all threads of this process, and the processes that it starts, on one
// core until the test ends.
func oneCore(t *testing.T) {
	t.Helper()
	var usual, one unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &usual))
	for cpu := range 1024 {
		if usual.IsSet(cpu) {
			one.Set(cpu)
			break
		}
	}
	keep := func(on *unix.CPUSet) {
		threads, err := os.ReadDir("/proc/self/task")
		require.NoError(t, err)
		for _, thread := range threads {
			if id, err := strconv.Atoi(thread.Name()); err == nil {
				_ = unix.SchedSetaffinity(id, on) // it may have ended
			}
		}
	}
	keep(&one)
	keep(&one) // those that were being made
	t.Cleanup(func() { keep(&usual) })
}

// each does something n times, several at once, and gives how long that took, sorted.
func each(together, n int, do func(i int)) []time.Duration {
	took := make([]time.Duration, n)
	places := make(chan struct{}, together)
	var all sync.WaitGroup
	for i := range took {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			begin := time.Now()
			do(i)
			took[i] = time.Since(begin)
		})
	}
	all.Wait()
	slices.Sort(took)
	return took
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
	server := servers.InProcess(t)
	socket, fill := fullDisk(t, "--plain-http", server.Host)
	files := project("web")
	noise(files, "other", 20, 100<<10)
	large, small := call{archive: archive(t, texts(files)), path: "apps/web"}, call{archive: archive(t, texts(project("web"))), path: "apps/web"}
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
