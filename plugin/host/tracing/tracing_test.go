// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package tracing_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/ropewalk/ropewalk/plugin/host/tracing"
	"github.com/ropewalk/ropewalk/render/evaluate"
)

// failing is an evaluator whose error quotes a secret.
type failing struct{}

func (failing) Evaluate(context.Context, evaluate.Request) (evaluate.Result, error) {
	return evaluate.Result{}, errors.New("hunter2")
}

func (failing) Trace(context.Context, evaluate.Request, []evaluate.Query) ([]evaluate.Origin, error) {
	return nil, nil
}

func TestAFailedEvaluationIsASpanWithoutItsError(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	ctx, root := tracing.Tracer(provider).Start(t.Context(), "render")
	observed := 0
	_, err := tracing.Evaluator{Next: failing{}, Observe: func(float64) { observed++ }}.Evaluate(ctx, evaluate.Request{Spec: "web"})
	require.EqualError(t, err, "hunter2")
	root.End()
	require.Equal(t, 1, observed)

	ended := spans.Ended()
	require.Len(t, ended, 2)
	require.Equal(t, "evaluate", ended[0].Name())
	require.Equal(t, root.SpanContext().SpanID(), ended[0].Parent().SpanID())
	require.Equal(t, sdktrace.Status{Code: codes.Error}, ended[0].Status())
	require.Empty(t, ended[0].Events())
	require.Equal(t, "web", ended[0].Attributes()[0].Value.AsString())
}

// Without a span of an adapter nothing is made, whatever provider the process has.
func TestWithoutASpanNothingIsTraced(t *testing.T) {
	ctx, end := tracing.Start(t.Context(), "render")
	tracing.Set(ctx, tracing.Cached.Bool(true))
	end(errors.New("bad"))
	require.False(t, trace.SpanFromContext(ctx).IsRecording())
	_, span := tracing.Tracer(nil).Start(t.Context(), "render")
	require.False(t, span.IsRecording())
}

func TestARequestIsBelowTheSpanOfItsCaller(t *testing.T) {
	ctx := tracing.Join(t.Context(), http.Header{"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}})
	require.Equal(t, "0af7651916cd43dd8448eb211c80319c", trace.SpanContextFromContext(ctx).TraceID().String())
	require.False(t, trace.SpanContextFromContext(tracing.Join(t.Context(), http.Header{"Traceparent": {"x"}})).IsValid())
}
