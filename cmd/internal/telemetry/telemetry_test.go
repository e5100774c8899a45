// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/ropewalk/ropewalk/cmd/internal/telemetry"
)

func TestSpansReachACollector(t *testing.T) {
	received := make(chan *tracepb.TracesData, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		data := &tracepb.TracesData{}
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" || proto.Unmarshal(body, data) != nil {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		received <- data
	}))
	t.Cleanup(server.Close)
	provider, stop := telemetry.Open(server.URL, "ropewalk-argocd", "v0.1.0", func(err error) { t.Error(err) })
	_, span := provider.Tracer("test").Start(t.Context(), "render")
	span.End()
	stop()
	of := (<-received).ResourceSpans[0]
	require.Equal(t, "render", of.ScopeSpans[0].Spans[0].Name)
	about := map[string]string{}
	for _, a := range of.Resource.Attributes {
		about[a.Key] = a.Value.GetStringValue()
	}
	require.Equal(t, map[string]string{"service.name": "ropewalk-argocd", "service.version": "v0.1.0"}, about)
}

func TestACollectorThatDoesNotTakeThemDelaysNothing(t *testing.T) {
	refuses := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(refuses.Close)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // Else it does not see that the client has left.
		<-r.Context().Done()
	}))
	t.Cleanup(func() { silent.CloseClientConnections(); silent.Close() })
	moves := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://elsewhere.invalid/v1/traces", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(moves.Close)
	for name, test := range map[string]struct{ endpoint, says string }{
		"moves":   {moves.URL, "1 spans were not sent: traces export: " + moves.URL + "/v1/traces answers 307 Temporary Redirect"},
		"refuses": {refuses.URL, "1 spans were not sent: traces export: " + refuses.URL + "/v1/traces answers 404 Not Found"},
		"silent":  {silent.URL, "context deadline exceeded"},
		"none":    {"http://127.0.0.1:1", "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			var reported error
			provider, stop := telemetry.Open(test.endpoint, "s", "v", func(err error) { reported = err })
			began := time.Now()
			_, span := provider.Tracer("test").Start(t.Context(), "render")
			span.End()
			require.Less(t, time.Since(began), time.Second)
			stop()
			require.ErrorContains(t, reported, test.says)
		})
	}
}

// Nothing of what a collector answers is read: it may never end.
func TestTheAnswerOfACollectorIsNotAwaited(t *testing.T) {
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/traces" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	}))
	t.Cleanup(func() { endless.CloseClientConnections(); endless.Close() })
	for _, end := range []string{"", "/", "//", "/v1/traces", "/v1/traces/"} {
		provider, stop := telemetry.Open(endless.URL+end, "s", "v", func(err error) { t.Error(err) })
		_, span := provider.Tracer("test").Start(t.Context(), "render")
		span.End()
		began := time.Now()
		stop()
		require.Less(t, time.Since(began), 2*time.Second)
	}
}

func TestWhatIsNoCollectorIsRefused(t *testing.T) {
	for _, endpoint := range []string{"", "http://otel-collector:4318", "https://otel.example/path"} {
		require.NoError(t, telemetry.Check(endpoint), endpoint)
	}
	for _, endpoint := range []string{"otel-collector:4318", "grpc://otel:4317", "http://", "http://user:hunter22@otel:4318", "http://otel:4318?token=hunter22", "http://otel:4318?", "http://otel:4318#", "http://:4318", "%"} {
		err := telemetry.Check(endpoint)
		require.Error(t, err, endpoint)
		require.NotContains(t, err.Error(), "hunter22")
	}
	provider, stop := telemetry.Open("", "s", "v", nil)
	require.Nil(t, provider)
	stop()
}
