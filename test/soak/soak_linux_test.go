// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/status"

	"github.com/ropewalk/ropewalk/test/reposerver"
)

const (
	// deadline is that of Argo CD.
	deadline = time.Minute
	// short is a run that does not come to all attacks, or to a heap of its full size.
	short = 5 * time.Minute
)

// answers are what requests came to. It is safe for concurrent use.
type answers struct {
	mutex  sync.Mutex
	took   []time.Duration
	codes  map[string]int
	failed []string
}

func (a *answers) note(took time.Duration, err error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.took = append(a.took, took)
	if a.codes == nil {
		a.codes = map[string]int{}
	}
	a.codes[status.Code(err).String()]++
	if err != nil && len(a.failed) < 3 {
		a.failed = append(a.failed, took.Round(time.Millisecond).String()+": "+err.Error())
	}
}

// at is a quantile of how long requests took.
func (a *answers) at(q float64) time.Duration {
	if len(a.took) == 0 {
		return 0
	}
	slices.Sort(a.took)
	return a.took[int(q*float64(len(a.took)-1))].Round(time.Millisecond)
}

func (a *answers) String() string {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return fmt.Sprintf("%v p50 %s p99 %s max %s", a.codes, a.at(0.5), a.at(0.99), a.at(1))
}

// ask sends a request and notes the answer; a request that the end of ctx ended is none.
func (a *answers) ask(ctx context.Context, socket string, in reposerver.Request) {
	begin := time.Now()
	limited, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	out, err := reposerver.Generate(limited, socket, in)
	if ctx.Err() != nil {
		return
	}
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("no manifests")
	}
	a.note(time.Since(begin), err)
}

// good is a small application, whose render nothing has cached.
func good(tenant, n int) reposerver.Request {
	name := fmt.Sprintf("tenant%d", tenant)
	return reposerver.Request{
		Path: "app", Files: fstest.MapFS{"app/web.yaml": {Data: []byte(spec("web", web, input("web"))), Mode: 0o644}},
		Variables: map[string]string{
			"ARGOCD_APP_NAME": name, "ARGOCD_APP_PROJECT_NAME": name, "ARGOCD_ENV_ROPEWALK_SET": fmt.Sprintf("image=example.com/a:%d-%d", tenant, n),
		},
	}
}

// repeatedly calls do on so many goroutines until ctx ends; the caller waits for the group.
func repeatedly(ctx context.Context, group *sync.WaitGroup, clients int, pause time.Duration, do func(client, n int)) {
	for client := range clients {
		group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				do(client, n)
				select {
				case <-time.After(pause):
				case <-ctx.Done():
				}
			}
		})
	}
}

// chosen are the attacks of a run: all, or those that ROPEWALK_SOAK_ATTACKS names.
func chosen() []attack {
	names := os.Getenv("ROPEWALK_SOAK_ATTACKS")
	return slices.DeleteFunc(attacks(), func(a attack) bool { return names != "" && !strings.Contains(names, a.name) })
}

// clients are how many attack at once: 2, or what ROPEWALK_SOAK_CLIENTS says.
func clients(t testing.TB) int {
	text := os.Getenv("ROPEWALK_SOAK_CLIENTS")
	if text == "" {
		return 2
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// TestASidecarServesOthersBesideAnAttack is the soak: see the package.
func TestASidecarServesOthersBesideAnAttack(t *testing.T) {
	all := chosen()
	duration, err := time.ParseDuration(os.Getenv("ROPEWALK_SOAK"))
	if err != nil {
		duration = 20 * time.Second
	}
	every := min(time.Minute, max(2*time.Second, duration/time.Duration(len(all))))
	s := start(t, program(t))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var group sync.WaitGroup
	var mutex sync.Mutex
	served := &answers{}
	var failed []string
	repeatedly(ctx, &group, 15, time.Second, func(tenant, n int) {
		mutex.Lock()
		now := served
		mutex.Unlock()
		now.ask(ctx, s.socket, good(tenant, n))
	})
	var held []int64
	var peak int64
	for round, begin := 0, time.Now(); time.Since(begin) < duration; round++ {
		a := all[round%len(all)]
		if duration < short { // It comes to a few only, of all stages.
			a = all[int64(len(all))*int64(time.Since(begin))/int64(duration)]
		}
		in := a.request(t, round)
		s.forget()
		attacked, was := &answers{}, &answers{}
		period, end := context.WithTimeout(ctx, every)
		var attackers sync.WaitGroup
		repeatedly(period, &attackers, clients(t), 100*time.Millisecond, func(client, n int) {
			in := in
			in.Variables = maps.Clone(in.Variables)
			in.Variables["ARGOCD_APP_NAMESPACE"] = fmt.Sprintf("n%d-%d-%d", round, client, n) // No cache has its render.
			attacked.ask(period, s.socket, in)
		})
		most := s.memory()
		for period.Err() == nil {
			now := s.memory()
			most.all, most.peak = max(most.all, now.all), max(most.peak, now.peak)
			time.Sleep(50 * time.Millisecond)
		}
		attackers.Wait()
		end()
		mutex.Lock()
		served, was = was, served
		mutex.Unlock()
		now := s.memory()
		held, peak = append(held, now.server), max(peak, most.all)
		t.Logf("%6s %-40s server %3d MiB, peak %3d, all %3d; in flight %v, abandoned %v, live %v; others %s; attack %s",
			time.Since(begin).Round(time.Second), a.name, now.server>>20, most.peak>>20, most.all>>20, s.metric(ctx, "ropewalk_argocd_in_flight"),
			s.metric(ctx, "ropewalk_argocd_abandoned"), s.answers(ctx, "/healthz"), was, attacked)
		failed = append(failed, was.failed...)
	}
	stop()
	group.Wait()
	require.Empty(t, failed, "the others are served")
	require.Less(t, peak, int64(limit))
	// The heap grows to what the server may have, and stays there.
	if last := len(held) - len(held)/3; duration >= short {
		const slack = 32 << 20
		require.Less(t, slices.Max(held[last:]), slices.Max(held[:last])+slack, "the memory is flat")
	}
}

// TestEachAttackIsBounded measures each attack on a server of its own, with a client beside
// it; ROPEWALK_SOAK=each runs it.
func TestEachAttackIsBounded(t *testing.T) {
	if os.Getenv("ROPEWALK_SOAK") != "each" {
		return
	}
	binary := program(t)
	for _, a := range chosen() {
		s := start(t, binary)
		served, attacked := &answers{}, &answers{}
		served.ask(t.Context(), s.socket, good(0, -1))
		ctx, stop := context.WithCancel(t.Context())
		var beside, attackers sync.WaitGroup
		repeatedly(ctx, &beside, 1, 100*time.Millisecond, func(_, n int) { served.ask(ctx, s.socket, good(1, n)) })
		requests := []reposerver.Request{a.request(t, 0), a.request(t, 1)}
		s.forget()
		for _, r := range requests {
			attackers.Go(func() { attacked.ask(t.Context(), s.socket, r) })
		}
		done := make(chan struct{})
		go func() { attackers.Wait(); close(done) }()
		var most sizes
		over := time.Time{}
		begin := time.Now()
		for stopped := false; !stopped; {
			now := s.memory()
			most.all, most.peak = max(most.all, now.all), max(most.peak, now.peak)
			select {
			case <-done:
				if over.IsZero() {
					over = time.Now()
				}
				stopped = s.metric(t.Context(), "ropewalk_argocd_in_flight") <= 1 && s.metric(t.Context(), "ropewalk_argocd_abandoned") <= 0 || time.Since(over) > 30*time.Second
			case <-time.After(20 * time.Millisecond):
			}
		}
		time.Sleep(time.Second)
		stop()
		beside.Wait()
		kb := (len(requests[0].Packed) + 1023) >> 10
		t.Logf("%-44s %6d KiB; server peak %4d MiB, all %4d, after %4d; took %6s, and %5s after; others %s; attack %s %.150q",
			a.name, kb, most.peak>>20, most.all>>20, s.memory().server>>20, over.Sub(begin).Round(10*time.Millisecond),
			time.Since(over).Round(time.Second)-time.Second, served, attacked, strings.Join(attacked.failed, "; "))
		require.Less(t, most.all, int64(limit), a.name)
		require.Empty(t, served.failed, a.name)
		_ = s.cmd.Process.Kill()
	}
}
