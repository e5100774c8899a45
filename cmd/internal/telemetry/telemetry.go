// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package telemetry exports the spans of a server to a collector, by OTLP over HTTP.
//
// # Invariants
//
// Without an address nothing is exported, no connection is made and no span is kept. A
// collector that does not answer delays nothing: spans wait for it in a bounded queue, and are
// dropped where that is full.
package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	api "go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Bounds of what a collector takes: of one request, and of what waits when a server ends.
const (
	timeout = 10 * time.Second
	drain   = 3 * time.Second
)

// path is the path at which a collector takes traces.
const path = "/v1/traces"

// stay lets no collector send spans elsewhere.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Usage describes the flag --otlp-endpoint.
const Usage = "`URL` of a collector that takes traces by OTLP over HTTP, such as\nhttp://otel-collector:4318; none are made where empty"

// Check refuses an address that no collector can have; "" is allowed.
func Check(endpoint string) error {
	if endpoint == "" {
		return nil
	}
	address, err := url.Parse(endpoint)
	switch {
	case err != nil || address.Hostname() == "" || !slices.Contains([]string{"http", "https"}, address.Scheme):
		return errors.New("expected http://HOST:PORT or https://HOST:PORT, such as http://otel-collector:4318")
	case address.User != nil || strings.ContainsAny(endpoint, "?#"):
		return errors.New("expected a URL without credentials, query and fragment")
	}
	return nil
}

// Open returns what makes the spans of a service of a version and sends them to endpoint,
// which [Check] has accepted; nil where that is "". Flush sends those that wait, and ends it.
// Report receives why spans were not sent.
func Open(endpoint, service, version string, report func(error)) (_ api.TracerProvider, flush func()) {
	if endpoint == "" {
		return nil, func() {}
	}
	// Some write where traces go, and not where the collector is.
	to := &collector{
		url:  strings.TrimSuffix(strings.TrimRight(endpoint, "/"), path) + path,
		http: &http.Client{Timeout: timeout, CheckRedirect: stay},
	}
	provider := trace.NewTracerProvider(
		trace.WithBatcher(reporting{otlptrace.NewUnstarted(to), report}),
		trace.WithResource(resource.NewSchemaless(attribute.String("service.name", service), attribute.String("service.version", version))),
	)
	return provider, func() {
		ctx, cancel := context.WithTimeout(context.Background(), drain)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			report(fmt.Errorf("spans that waited were not sent: %w", err))
		}
	}
}

// reporting reports what could not be sent, which the library does by a variable of the whole
// process.
type reporting struct {
	trace.SpanExporter
	report func(error)
}

// ExportSpans implements trace.SpanExporter.
func (r reporting) ExportSpans(ctx context.Context, spans []trace.ReadOnlySpan) error {
	if err := r.SpanExporter.ExportSpans(ctx, spans); err != nil {
		r.report(fmt.Errorf("%d spans were not sent: %w", len(spans), err))
	}
	return nil
}

// collector is a client of a collector. That of the library brings gRPC along, a tenth of
// the command.
type collector struct {
	url  string
	http *http.Client
}

var _ otlptrace.Client = (*collector)(nil)

// Start implements otlptrace.Client.
func (*collector) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (*collector) Stop(context.Context) error { return nil }

// UploadTraces implements otlptrace.Client.
func (c *collector) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans}) // As ExportTraceServiceRequest is.
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	res, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()       //nolint:errcheck // nothing of it is read
	if res.StatusCode/100 != 2 { // What else it says is of any length.
		return fmt.Errorf("%s answers %d %s", c.url, res.StatusCode, http.StatusText(res.StatusCode))
	}
	return nil
}
