// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package tracing makes spans of OpenTelemetry of what an adapter does for one request: the
// request itself, and in it load, fetch, render, evaluate, publish and deliver.
//
// # Invariants
//
// A span is made only below one that an adapter has begun with a tracer of its own, so that
// without one nothing is made, and the command line makes none.
//
// A span holds names: of the adapter's method, of a Transform, of a spec, of the type of a
// reference. It never holds a URL, a value or the text of an error, which may quote a secret.
package tracing

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/ropewalk/ropewalk/render/evaluate"
)

// Scope is the name of the instrumentation, see [trace.TracerProvider].
const Scope = "github.com/ropewalk/ropewalk"

// Names of what spans are about.
const (
	Spec   = attribute.Key("ropewalk.spec")
	Type   = attribute.Key("ropewalk.reference.type")
	Cached = attribute.Key("ropewalk.cached")
)

// Tracer returns the tracer of p, which may be nil.
func Tracer(p trace.TracerProvider) trace.Tracer {
	if p == nil {
		p = noop.NewTracerProvider()
	}
	return p.Tracer(Scope)
}

// Start begins a span below that of ctx. The function end ends it, as a failure if err is not nil.
func Start(ctx context.Context, name string, about ...attribute.KeyValue) (_ context.Context, end func(err error)) {
	tracer := trace.SpanFromContext(ctx).TracerProvider().Tracer(Scope)
	ctx, span := tracer.Start(ctx, name, trace.WithAttributes(about...))
	return ctx, func(err error) { End(span, err) }
}

// End ends a span.
func End(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

// Set adds attributes to the span of ctx.
func Set(ctx context.Context, about ...attribute.KeyValue) {
	trace.SpanFromContext(ctx).SetAttributes(about...)
}

// Join returns ctx below the span that the headers of a request name (traceparent of W3C), if any.
func Join(ctx context.Context, header http.Header) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(header))
}

// NewHistogram returns the metric of evaluations, for Evaluator.Observe.
func NewHistogram() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "ropewalk_evaluation_seconds", Help: "Duration of evaluations of modules, without the wait for a slot.",
		Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
	})
}

// Evaluator makes a span of each evaluation, and observes how long it takes once it has a slot.
type Evaluator struct {
	Next evaluate.Evaluator
	// Observe receives the seconds of each evaluation; nil receives none.
	Observe func(seconds float64)
}

var _ evaluate.Evaluator = Evaluator{}

// Evaluate implements evaluate.Evaluator.
func (e Evaluator) Evaluate(ctx context.Context, req evaluate.Request) (evaluate.Result, error) {
	start := time.Now()
	ctx, end := Start(ctx, "evaluate", Spec.String(req.Spec))
	out, err := e.Next.Evaluate(ctx, req)
	end(err)
	if e.Observe != nil {
		e.Observe(time.Since(start).Seconds())
	}
	return out, err
}

// Trace implements evaluate.Evaluator.
func (e Evaluator) Trace(ctx context.Context, req evaluate.Request, queries []evaluate.Query) ([]evaluate.Origin, error) {
	return e.Next.Trace(ctx, req, queries)
}
