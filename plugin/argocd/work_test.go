// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ropewalk/ropewalk/render/evaluate"
)

// metricOf is the value of a metric without labels.
func metricOf(t *testing.T, s *Server, name string) string {
	t.Helper()
	answer := httptest.NewRecorder()
	s.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(answer.Body.String()) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func statusOf(t *testing.T, s *Server, page string) int {
	t.Helper()
	answer := httptest.NewRecorder()
	s.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, page, nil))
	return answer.Code
}

func TestWorkThatOutlivesItsRequestIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w works
		ctx, leave := context.WithCancel(t.Context())
		first, second := w.begin(ctx), w.begin(t.Context())
		require.Zero(t, w.abandoned(0), "both have their clients")
		leave()
		synctest.Wait()
		require.Equal(t, 1, w.abandoned(0))
		require.Zero(t, w.abandoned(stuck))
		time.Sleep(stuck)
		require.Equal(t, 1, w.abandoned(stuck))
		first()
		second()
		require.Zero(t, w.abandoned(0))
	})
}

// deaf evaluates until it is told to end, whatever its context says.
type deaf struct {
	evaluate.Evaluator
	began, end chan struct{}
}

func (d deaf) Evaluate(context.Context, evaluate.Request) (evaluate.Result, error) {
	d.began <- struct{}{}
	<-d.end
	return evaluate.Result{}, errors.New("it has ended")
}

// A request whose work hears nothing is answered, and the work shows until it has ended: in
// the metrics, in the slots, and in readiness where it has them all.
func TestAbandonedWorkShowsUntilItEnds(t *testing.T) {
	t.Parallel()
	opts := options(t)
	evaluator := deaf{opts.Evaluator, make(chan struct{}), make(chan struct{})}
	opts.Evaluator, opts.Evaluations, opts.Stores, opts.Requests = evaluator, nil, nil, 1
	s, socket := start(t, opts)
	require.Equal(t, http.StatusOK, statusOf(t, s, "/readyz"))
	go func() { <-evaluator.began }()
	_, err := generate(t, socket, call{archive: archive(t, texts(projectOf("web"))), path: "apps/web", timeout: time.Second})
	require.Equal(t, codes.DeadlineExceeded, status.Code(err), "%v", err)
	require.Eventually(t, func() bool { return s.works.abandoned(0) == 1 }, 10*time.Second, time.Millisecond)
	require.Equal(t, "1", metricOf(t, s, "ropewalk_argocd_abandoned"))
	require.NotEqual(t, "0", metricOf(t, s, "ropewalk_argocd_in_flight"))
	require.Equal(t, http.StatusServiceUnavailable, statusOf(t, s, "/readyz"), "it has the only slot")
	require.Equal(t, http.StatusOK, statusOf(t, s, "/healthz"), "it may end")

	s.works.mutex.Lock()
	for over := range s.works.running {
		*over = over.Add(-stuck)
	}
	s.works.mutex.Unlock()
	require.Equal(t, http.StatusServiceUnavailable, statusOf(t, s, "/healthz"))
	close(evaluator.end)
	require.Eventually(t, func() bool { return s.works.abandoned(0) == 0 && metricOf(t, s, "ropewalk_argocd_in_flight") == "0" }, 10*time.Second, time.Millisecond)
	require.Equal(t, http.StatusOK, statusOf(t, s, "/healthz"))
	require.Equal(t, http.StatusOK, statusOf(t, s, "/readyz"))
}

// The form of an application is answered at the deadline, whatever its modules do.
func TestAFormIsAnsweredInTime(t *testing.T) {
	t.Parallel()
	opts := options(t)
	opts.Timeout = 500 * time.Millisecond
	evaluator := deaf{opts.Evaluator, make(chan struct{}), make(chan struct{})}
	opts.Evaluator, opts.Evaluations = evaluator, nil
	s, socket := start(t, opts)
	go func() { <-evaluator.began }()
	begin := time.Now()
	got, err := announce(t, socket, call{archive: archive(t, texts(projectOf("web"))), path: "apps/web"})
	require.NoError(t, err)
	require.Len(t, got, len(static()))
	require.Less(t, time.Since(begin), 10*time.Second)
	require.Equal(t, 1, s.works.abandoned(0))
	close(evaluator.end)
	require.Eventually(t, func() bool { return s.works.abandoned(0) == 0 }, 10*time.Second, time.Millisecond)
}
