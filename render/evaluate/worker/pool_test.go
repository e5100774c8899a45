// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package worker

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/object"
)

func TestAPoolEvaluates(t *testing.T) {
	p := newTestPool(t, Options{})
	require.Zero(t, p.Stats().Started, "workers are started when they are needed")
	req := ask(goodModule)
	req.Input = withReplicas(3)
	result, err := p.Evaluate(t.Context(), req)
	require.NoError(t, err)
	require.Len(t, result.Nodes, 1)
	require.Equal(t, int64(3), result.Nodes[0].Object.Map("spec")["replicas"])
	require.InEpsilon(t, 0.5, result.Nodes[0].Object.Map("spec")["ratio"], 1e-9)
	origins, err := p.Trace(t.Context(), req, []evaluate.Query{{Node: "web/web", Path: object.Fields("spec", "replicas")}})
	require.NoError(t, err)
	require.Len(t, origins, 1)
	require.Equal(t, 1, p.Stats().Started)
}

func TestADeadlineStopsTheModuleAndNothingElse(t *testing.T) {
	p := newTestPool(t, Options{Size: 2})
	requireGood(t, p)
	req := ask(hangs)
	req.Limits.Timeout = 300 * time.Millisecond
	began := time.Now()
	_, err := p.Evaluate(t.Context(), req)
	require.Less(t, time.Since(began), 3*time.Second)
	require.ErrorIs(t, err, evaluate.ErrTimeout)
	mistakes := object.AsErrors(err, object.StageEvaluate)
	require.Len(t, mistakes, 1)
	require.Equal(t, req.Pos, mistakes[0].Pos)
	require.Contains(t, err.Error(), "evaluation exceeded 300ms")
	require.NotEmpty(t, mistakes[0].Hint)
	requireGood(t, p)
	require.Equal(t, 1, p.Stats().Killed)
}

func TestACancelledCallEndsAtOnce(t *testing.T) {
	p := newTestPool(t, Options{Size: 1})
	requireGood(t, p)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	began := time.Now()
	_, err := p.Evaluate(ctx, ask(hangs))
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, time.Since(began), 3*time.Second)
	_, err = p.Evaluate(ctx, ask(goodModule))
	require.ErrorIs(t, err, context.Canceled, "a call that is cancelled before it begins")
	requireGood(t, p)
}

func TestACallThatWaitsForAWorkerCanBeCancelled(t *testing.T) {
	t.Parallel()
	p := newTestPool(t, Options{Size: 1, Timeout: time.Second})
	busy := make(chan error, 1)
	go func() {
		_, err := p.Evaluate(context.Background(), ask(hangs))
		busy <- err
	}()
	require.Eventually(t, func() bool { return p.Stats().Started == 1 }, 5*time.Second, time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := p.Evaluate(ctx, ask(goodModule))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, <-busy, evaluate.ErrTimeout)
	requireGood(t, p)
}

func TestAWorkerThatOthersKillIsReplaced(t *testing.T) {
	t.Run("between two requests", func(t *testing.T) {
		p := newTestPool(t, Options{Size: 1})
		requireGood(t, p)
		require.NoError(t, syscall.Kill(p.slots[0].proc.cmd.Process.Pid, syscall.SIGKILL))
		requireGood(t, p)
		require.Equal(t, 2, p.Stats().Started)
	})
	t.Run("during a request, which then runs once more", func(t *testing.T) {
		p := newTestPool(t, Options{Size: 1})
		requireGood(t, p)
		done := make(chan error, 1)
		req := ask(hangs)
		req.Limits.Timeout = time.Minute
		go func() {
			_, err := p.Evaluate(context.Background(), req)
			done <- err
		}()
		for range 2 {
			killWhenBusy(t, p)
		}
		err := <-done
		require.ErrorIs(t, err, evaluate.ErrWorker)
		require.Contains(t, err.Error(), "ended from outside (signal: killed)")
		require.Equal(t, 1, p.Stats().Retried)
		requireGood(t, p)
	})
}

// killWhenBusy kills the worker of the only slot while it evaluates.
func killWhenBusy(t *testing.T, p *Pool) {
	t.Helper()
	before := p.Stats().Killed
	require.Eventually(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		s := p.slots[0]
		return s.busy && s.proc != nil && p.stats.Started == before+1
	}, 5*time.Second, time.Millisecond)
	time.Sleep(100 * time.Millisecond)
	p.mu.Lock()
	pid := p.slots[0].proc.cmd.Process.Pid
	p.mu.Unlock()
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
}

func TestAProgramThatIsNoWorkerIsAClearError(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	for name, c := range map[string]struct {
		command []string
		want    string
	}{
		"a program that does not exist": {[]string{"/no/such/program"}, "did not start: fork/exec /no/such/program: no such file or directory"},
		"a program that exits":          {[]string{self, "worker-exits"}, "did not start (exit status 2): unknown command"},
		"a program that says other things": {
			[]string{self, "worker-babbles"}, "is not an evaluation worker: message of",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTestPool(t, Options{Command: c.command, Size: 1})
			_, err := p.Evaluate(t.Context(), ask(goodModule))
			require.ErrorIs(t, err, evaluate.ErrWorker)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestOptionsOfAPoolAreChecked(t *testing.T) {
	for name, opts := range map[string]Options{
		"a negative size":    {Size: -1},
		"too little memory":  {Memory: 1 << 20},
		"a negative timeout": {Timeout: -1},
		"negative refusals":  {Refusals: -1},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewPool(opts)
			require.ErrorContains(t, err, "must be positive")
		})
	}
	p := newTestPool(t, Options{})
	req := ask(goodModule)
	req.Limits.Memory = 1
	_, err := p.Evaluate(t.Context(), req)
	require.ErrorContains(t, err, "too small")
}

func TestARequestWithAnotherMemoryLimitGetsItsOwnWorker(t *testing.T) {
	p := newTestPool(t, Options{Size: 1})
	requireGood(t, p)
	req := ask(goodModule)
	req.Limits.Memory = 128 << 20
	_, err := p.Evaluate(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, int64(128<<20), p.slots[0].proc.memory)
	require.Equal(t, 1, p.Stats().Recycled)
}

func TestCloseLeavesNothingBehind(t *testing.T) {
	before := runtime.NumGoroutine()
	p, err := NewPool(Options{Size: 2})
	require.NoError(t, err)
	requireGood(t, p)
	var pids []int
	calls := make(chan error, 3)
	for range 3 { // one of them waits for a worker
		go func() {
			_, err := p.Evaluate(context.Background(), ask(hangs))
			calls <- err
		}()
	}
	require.Eventually(t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		pids = pids[:0]
		for _, s := range p.slots {
			if s.busy && s.proc != nil {
				pids = append(pids, s.proc.cmd.Process.Pid)
			}
		}
		return len(pids) == 2
	}, 5*time.Second, time.Millisecond)
	require.NoError(t, p.Close())
	for range 3 {
		require.ErrorIs(t, <-calls, evaluate.ErrClosed)
	}
	for _, pid := range pids {
		require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "no worker is left, not even as a zombie")
	}
	_, err = p.Evaluate(t.Context(), ask(goodModule))
	require.ErrorIs(t, err, evaluate.ErrClosed)
	require.NoError(t, p.Close(), "a pool can be closed twice")
	for end := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
}

func TestWhatKillsItsWorkerTwiceIsRefused(t *testing.T) {
	p := newTestPool(t, Options{Size: 1, Timeout: 150 * time.Millisecond, Refusals: 3})
	for range 2 {
		_, err := p.Evaluate(t.Context(), ask(hangs))
		require.ErrorIs(t, err, evaluate.ErrTimeout)
		require.NotErrorIs(t, err, evaluate.ErrQuarantined)
	}
	moved := ask(hangs)
	moved.Spec, moved.Pos.Line = "other", 99
	want := p.Stats()
	for range 3 {
		_, err := p.Evaluate(t.Context(), moved)
		require.ErrorIs(t, err, evaluate.ErrQuarantined)
		require.ErrorContains(t, err, "specs/web.yaml:99:3: evaluate: the module was stopped 2 times with this input")
		want.Refused++
		now := p.Stats()
		want.PeakMemory = now.PeakMemory // of a worker that is not waited for until now
		require.Equal(t, want, now, "no worker related")
	}
	other := ask(hangs)
	other.Input = withReplicas(2)
	_, err := p.Evaluate(t.Context(), other)
	require.NotErrorIs(t, err, evaluate.ErrQuarantined, "another input is another request")
	_, err = p.Evaluate(t.Context(), ask(hangs))
	require.NotErrorIs(t, err, evaluate.ErrQuarantined, "after three refusals it is tried again")
	_, err = p.Evaluate(t.Context(), ask(hangs))
	require.ErrorIs(t, err, evaluate.ErrQuarantined)
	require.Equal(t, 4, p.Stats().Refused)
}

func TestQuarantineForgets(t *testing.T) {
	q := newQuarantine(1, 1)
	first := ask(goodModule)
	q.strike(first, evaluate.ErrTimeout)
	require.ErrorIs(t, q.check(first), evaluate.ErrQuarantined)
	for i := range maxSuspects {
		req := ask(goodModule)
		req.Input = withReplicas(i)
		q.strike(req, evaluate.ErrMemory)
	}
	require.NoError(t, q.check(first), "the oldest of too many is forgotten")
	last := ask(goodModule)
	last.Input = withReplicas(maxSuspects - 1)
	require.ErrorIs(t, q.check(last), evaluate.ErrMemory)
	q.absolve(last)
	require.NoError(t, q.check(last))
	require.Equal(t, maxSuspects-1, q.suspects.Stats().Entries)
	require.True(t, errors.Is(diagnose.Because(evaluate.ErrMemory, "x"), evaluate.ErrMemory))
}

func TestAModuleGoesToTheWorkerThatKnowsIt(t *testing.T) {
	p := newTestPool(t, Options{Size: 2})
	for i := range 4 {
		req := ask(goodModule)
		req.Input = withReplicas(i + 1)
		_, err := p.Evaluate(t.Context(), req)
		require.NoError(t, err)
	}
	require.Equal(t, 1, p.Stats().Started)
	prefers := p.preferred(goodModule)
	require.True(t, prefers.proc.knows(oneFile(goodModule)))
	prefers.busy = true
	s := p.idle(prefers, ask(goodModule))
	require.NotNil(t, s, "another one takes over while it is busy")
	require.NotSame(t, prefers, s)
	prefers.busy = false
}

func TestTheLastWordsOfAWorkerAreUnderstood(t *testing.T) {
	for name, c := range map[string]struct {
		stderr string
		want   error
		text   string
	}{
		"no memory for the heap": {"runtime: out of memory: cannot allocate 8-byte block (1 in use)\nfatal error: out of memory\n", evaluate.ErrMemory, "too much memory"},
		"no memory for a thread": {"runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort\n", evaluate.ErrMemory, "too much memory"},
		"no memory for the collector": {
			"SIGSEGV: segmentation violation\nPC=0x1 m=0 sigcode=1 addr=0x0\n\ngoroutine 0 gp=0x1 m=0 [idle]:\nruntime.(*spanQueue).tryDrain(0x1)\n",
			evaluate.ErrMemory, "too much memory",
		},
		"endless recursion": {"runtime: goroutine stack exceeds 67108864-byte limit\nfatal error: stack overflow\n", evaluate.ErrCrashed, "recursed too deeply"},
		"a panic":           {"panic: runtime error: index out of range\n\ngoroutine 7 [running]:\nmain.main()\n", evaluate.ErrCrashed, "crashed (exit status 2): panic: runtime error: index out of range"},
		"nothing at all":    {"", evaluate.ErrCrashed, "crashed (exit status 2)"},
	} {
		t.Run(name, func(t *testing.T) {
			self, err := os.Executable()
			require.NoError(t, err)
			cmd := exec.Command(self, "worker-exits")
			require.Error(t, cmd.Run())
			lost := autopsy(cmd.ProcessState, c.stderr, false, true)
			require.ErrorIs(t, lost.cause, c.want)
			require.ErrorContains(t, lost.cause, c.text)
			require.NotContains(t, lost.cause.Error(), "goroutine 7")
		})
	}
}

func TestAModuleThatHangsIsNotDescribedAndHarmsNoOther(t *testing.T) {
	p := newTestPool(t, Options{Size: 1})
	for name, text := range map[string]string{
		"when it is compiled": hangs,
		"in its memory":       hostileFile(t, "doubled-string"),
	} {
		t.Run(name, func(t *testing.T) {
			req := describing(text)
			req.Limits.Timeout = 300 * time.Millisecond
			began := time.Now()
			_, err := p.Evaluate(t.Context(), req)
			require.True(t, isAny(err, evaluate.ErrTimeout, evaluate.ErrMemory), "%v", err)
			require.Less(t, time.Since(began), 3*time.Second)
			result, err := p.Evaluate(t.Context(), describing(goodModule))
			require.NoError(t, err)
			require.Equal(t, []string{"name", "ports", "replicas"}, inputNames(result))
			require.Empty(t, result.Nodes)
		})
	}
}
