// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc/metadata"
)

// TestARequestIsATrace below that of the repo-server, and shows nothing that is wrong with it.
func TestARequestIsATrace(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	opts := options(t)
	opts.Tracer = trace.NewTracerProvider(trace.WithSyncer(spans))
	_, socket := start(t, opts)
	files := fstest.MapFS{}
	for name, text := range projectOf("shop") {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	const parent = "4bf92f3577b34da6a3ce929d0e0e4736"
	ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", "00-"+parent+"-00f067aa0ba902b7-01")
	_, err := generateIn(ctx, t, socket, call{archive: archive(t, files), path: "apps/shop"})
	require.NoError(t, err)
	_, err = generate(t, socket, call{archive: archive(t, files), path: "apps/shop", env: map[string]string{"ARGOCD_ENV_ROPEWALK_SET": "password=hunter22"}})
	require.Error(t, err)

	under, names, failed := map[string]string{}, map[string]string{}, map[string]bool{}
	for _, s := range spans.GetSpans() {
		names[s.SpanContext.SpanID().String()] = s.Name
	}
	for _, s := range spans.GetSpans() {
		require.NotContains(t, fmt.Sprint(s), "hunter22")
		if s.SpanContext.TraceID().String() == parent {
			under[s.Name] = names[s.Parent.SpanID().String()]
		} else {
			failed[s.Name] = s.Status.Code == codes.Error
		}
	}
	require.Equal(t, map[string]string{"GenerateManifest": "", "load": "GenerateManifest", "render": "GenerateManifest", "evaluate": "render"}, under)
	require.True(t, failed["GenerateManifest"])
}
