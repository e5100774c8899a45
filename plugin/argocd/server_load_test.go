// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ropewalk/ropewalk/render/evaluate"
)

// counting evaluates slowly: each evaluation takes as long as the pause, or until
// something is true where that comes first.
type counting struct {
	evaluate.Evaluator
	runs, now, most atomic.Int64
	pause           time.Duration
	until           func() bool // nil is never true
}

func (c *counting) Evaluate(ctx context.Context, req evaluate.Request) (evaluate.Result, error) {
	c.runs.Add(1)
	now := c.now.Add(1)
	defer c.now.Add(-1)
	for old := c.most.Load(); now > old && !c.most.CompareAndSwap(old, now); old = c.most.Load() {
	}
	pause, end := context.WithTimeout(ctx, c.pause)
	defer end()
	for pause.Err() == nil && (c.until == nil || !c.until()) {
		select {
		case <-time.After(time.Millisecond):
		case <-pause.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return evaluate.Result{}, err
	}
	return c.Evaluator.Evaluate(ctx, req)
}

// slow has evaluations take a while, and nothing cached.
func slow(t *testing.T, pause time.Duration) (Options, *counting) {
	opts := options(t)
	c := &counting{Evaluator: opts.Evaluator, pause: pause}
	opts.Evaluator, opts.Evaluations, opts.Stores = c, nil, nil
	return opts, c
}

func TestEqualRequestsAreRenderedOnce(t *testing.T) {
	t.Parallel()
	opts, evaluator := slow(t, 30*time.Second)
	// Requests that join another give their slot to the next.
	opts.Requests = 4
	s, socket := start(t, opts)
	evaluator.until = func() bool { return s.metrics.joined.Load() == 9 }
	packed := archive(t, texts(projectOf("web")))
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			got, err := generate(t, socket, call{archive: packed, path: "apps/web"})
			if err != nil || len(got) != 1 {
				t.Error(got, err)
			}
		})
	}
	all.Wait()
	require.Equal(t, int64(1), evaluator.runs.Load())
	require.Equal(t, int64(9), s.metrics.joined.Load())
}

func TestAHundredRequestsKeepTheLimit(t *testing.T) {
	t.Parallel()
	opts, evaluator := slow(t, 2*time.Millisecond)
	opts.Workers = 2
	_, socket := start(t, opts)
	packed := archive(t, texts(projectOf("web")))
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			got, err := generate(t, socket, call{archive: packed, path: "apps/web", env: map[string]string{
				"ARGOCD_APP_NAME": fmt.Sprint(i % 7), "ARGOCD_ENV_ROPEWALK_SET": fmt.Sprintf("n=%d", i),
			}})
			if err != nil || len(got) != 1 || !strings.Contains(got[0], fmt.Sprintf(`num: "%d"`, i)) {
				t.Error(i, got, err)
			}
		})
	}
	all.Wait()
	require.Equal(t, int64(100), evaluator.runs.Load())
	require.LessOrEqual(t, evaluator.most.Load(), int64(2))
}

func TestAFullQueueIsAnError(t *testing.T) {
	t.Parallel()
	const clients = 6
	opts, evaluator := slow(t, 10*time.Second)
	opts.Requests, opts.Workers, opts.Queue = 2, 1, 1
	s, socket := start(t, opts)
	packed := archive(t, texts(projectOf("web")))
	var full atomic.Int64
	// The first evaluation goes on until each client is somewhere.
	evaluator.until = func() bool {
		stats := s.requests.Stats()
		return evaluator.runs.Load() > 1 || int64(stats.Running+stats.Waiting)+full.Load() == clients
	}
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			_, err := generate(t, socket, call{archive: packed, path: "apps/web", env: map[string]string{
				"ARGOCD_APP_NAME": fmt.Sprint(i), "ARGOCD_ENV_ROPEWALK_SET": fmt.Sprintf("n=%d", i),
			}})
			if status.Code(err) == codes.ResourceExhausted {
				full.Add(1)
				if !strings.Contains(err.Error(), "too many requests are waiting: 1 of 1") {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	require.Equal(t, int64(3), full.Load(), "two are admitted, and one waits")
}

func TestAClientThatIsSlowOrGoneHoldsNothing(t *testing.T) {
	t.Parallel()
	opts := options(t)
	opts.Timeout = 3 * time.Second
	s, socket := start(t, opts)
	packed := archive(t, texts(projectOf("web")))
	_, err := generate(t, socket, call{archive: packed, path: "apps/web", pause: 5 * time.Second})
	require.Equal(t, codes.DeadlineExceeded, status.Code(err))
	client := dial(t, socket)
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		stream, err := client.GenerateManifest(ctx)
		require.NoError(t, err)
		require.NoError(t, stream.Send(call{archive: packed, path: "apps/web"}.metadata()))
		cancel()
	}
	require.Eventually(t, s.isIdle, 20*time.Second, 5*time.Millisecond)
	_, err = generate(t, socket, call{archive: packed, path: "apps/web"})
	require.NoError(t, err)
}
