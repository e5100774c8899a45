// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// within is the deadline of a request under load.
	within = 8 * time.Second
	// clients is how many ask at once, and restarts how often there is another
	// sidecar.
	clients, restarts = 6, 3
)

// load asks for applications, several at a time and each within a deadline, until
// it is stopped.
type load struct {
	good atomic.Int64
	stop func()

	mu      sync.Mutex
	slowest time.Duration
	errors  map[string]int // how often, by what they say of the sidecar
}

func (r *rig) load(t *testing.T, a application) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{errors: map[string]int{}}
	var all sync.WaitGroup
	l.stop = func() { cancel(); all.Wait() }
	t.Cleanup(l.stop)
	for i := range clients {
		all.Go(func() {
			for ctx.Err() == nil {
				l.one(r, a.named(i))
			}
		})
	}
	return l
}

// named is the application under another name.
func (a application) named(i int) application {
	a.name = fmt.Sprint("app-", i)
	return a
}

// one is a request that is not cut short when the load stops.
func (l *load) one(r *rig, a application) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	var err error
	took := timed(func() { _, err = r.generate(ctx, a) })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slowest = max(l.slowest, took)
	if err == nil {
		l.good.Add(1)
		return
	}
	l.errors[kind(err)]++
}

// Kinds of errors that a restart makes.
const (
	absent  = "there is no sidecar"
	late    = "nothing came before the deadline"
	severed = "the connection broke"
)

// kind says which of them an error is, and is its text where it is another.
func kind(err error) string {
	switch text := err.Error(); {
	case strings.Contains(text, "could not find cmp-server plugin"):
		return absent
	case status.Code(err) == codes.DeadlineExceeded:
		return late
	case strings.Contains(text, "Unavailable"), strings.Contains(text, "cmp-server: EOF"):
		return severed
	default:
		return text
	}
}

// after waits for more good answers, and says how long that took.
func (l *load) after(t *testing.T) time.Duration {
	t.Helper()
	from := l.good.Load()
	return timed(func() {
		require.Eventually(t, func() bool { return l.good.Load() >= from+clients }, 2*within, time.Millisecond)
	})
}

// restart ends the sidecar by a signal, and starts another, several times under
// load. It returns how many requests failed, by kind.
func (r *rig) restart(t *testing.T, a application, s syscall.Signal) map[string]int {
	t.Helper()
	l := r.load(t, a)
	l.after(t)
	for range restarts {
		time.Sleep(200 * time.Millisecond)
		ended := r.sidecar
		ended.signal(t, s)
		<-ended.done
		_, err := os.Lstat(r.socket)
		require.Equal(t, s == syscall.SIGKILL, err == nil, "who is killed leaves the socket, and nobody else does")
		time.Sleep(500 * time.Millisecond) // as long as a kubelet takes at least
		r.startSidecar(t)
		t.Logf("%d answers %s after the start", clients, l.after(t))
	}
	l.stop()
	t.Logf("%d good, the slowest took %s, failures: %v", l.good.Load(), l.slowest, l.errors)
	// The repo-server has recovered, for every application.
	for i := range clients {
		require.Len(t, r.objects(t, a.named(i)), 1)
	}
	return l.errors
}

// TestASidecarThatIsKilledUnderLoadComesBack: the repo-server dials without a
// time-out, and never learns that a sidecar went before it had greeted. Who asks in
// that moment gets an answer no sooner than their own deadline; that is Argo CD's,
// and no more than those who ask at once can be in it.
func TestASidecarThatIsKilledUnderLoadComesBack(t *testing.T) {
	r := newRig(t)
	a := application{repo: commit(t, local(t)).file(), path: "app", revision: "main", plugin: plugin(), hard: true}
	failed := r.restart(t, a, syscall.SIGKILL)
	require.Positive(t, failed[absent], "the load went on while there was no server")
	require.LessOrEqual(t, failed[late], clients*restarts)
	require.LessOrEqual(t, failed[severed], clients*restarts)
	delete(failed, absent)
	delete(failed, late)
	delete(failed, severed)
	require.Empty(t, failed)
}

// TestASidecarThatIsReplacedUnderLoadComesBack: who asks while there is none is told
// so at once, and who dialled before it ended is answered.
func TestASidecarThatIsReplacedUnderLoadComesBack(t *testing.T) {
	r := newRig(t)
	a := application{repo: commit(t, local(t)).file(), path: "app", revision: "main", plugin: plugin(), hard: true}
	failed := r.restart(t, a, syscall.SIGTERM)
	delete(failed, absent)
	require.Empty(t, failed)
}

// TestASidecarThatIsToldToEndAnswersFirst: its last request waits for a registry
// that is down, and is answered by a server that takes no others.
func TestASidecarThatIsToldToEndAnswersFirst(t *testing.T) {
	r, oci, a := fetching(t)
	oci.stop()
	answered := make(chan error, 1)
	go func() {
		manifests, err := r.generate(t.Context(), a)
		if err == nil && len(manifests) != 1 {
			err = errors.New("no manifest")
		}
		answered <- err
	}()
	time.Sleep(time.Second)
	r.sidecar.signal(t, syscall.SIGTERM)
	require.Eventually(t, func() bool { _, err := os.Lstat(r.socket); return errors.Is(err, os.ErrNotExist) },
		5*time.Second, time.Millisecond, "the socket goes at once")
	took := timed(func() {
		_, err := r.generate(t.Context(), a.named(2))
		require.ErrorContains(t, err, "could not find cmp-server plugin")
	})
	t.Logf("who comes late is told so after %s", took)
	require.Empty(t, answered)
	oci.start(t)
	took = timed(func() { require.NoError(t, <-answered) })
	t.Logf("answered %s after the registry was back", took)
	<-r.sidecar.done
	require.Equal(t, 0, r.sidecar.cmd.ProcessState.ExitCode(), "%s", r.sidecar.log)
}

func TestNothingIsLeftOfASidecarThatIsKilled(t *testing.T) {
	r := newRig(t)
	a := application{name: "app", repo: commit(t, local(t)).file(), path: "app", revision: "main", plugin: plugin(), hard: true}
	r.objects(t, a)
	if runtime.GOOS != "linux" {
		t.Skip("processes are listed on Linux only")
	}
	workers := below(r.sidecar.cmd.Process.Pid)
	require.NotEmpty(t, workers)
	r.sidecar.signal(t, syscall.SIGKILL)
	<-r.sidecar.done
	took := timed(func() {
		require.Eventually(t, func() bool { return !slices.ContainsFunc(workers, running) }, 5*time.Second, time.Millisecond)
	})
	t.Logf("%d workers are gone after %s", len(workers), took)
}
