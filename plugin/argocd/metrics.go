// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ropewalk/ropewalk/plugin/argocd/internal/unpack"
	"github.com/ropewalk/ropewalk/plugin/host/tracing"
)

// metrics count what a server does. No label ever holds what a user chose, so that their number is
// bounded and they hold no secrets: rules are named by the operator.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	refusals *prometheus.CounterVec
	// evaluations counts the evaluations of modules, without the wait for a slot.
	evaluations prometheus.Histogram

	inFlight, joined, retries, hits, misses atomic.Int64
	compressed, plain, spooled              atomic.Int64
}

// newMetrics registers the metrics of a server, and further ones.
func newMetrics(s *Server, collectors []prometheus.Collector) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ropewalk_argocd_requests_total", Help: "Requests that were answered, by method and gRPC code.",
		}, []string{"method", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ropewalk_argocd_request_seconds", Help: "Duration of requests, including the time they waited.",
			Buckets: []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"method"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ropewalk_argocd_policy_refusals_total", Help: "Modules that the pull policy refused, by rule.",
		}, []string{"rule"}),
		evaluations: tracing.NewHistogram(),
	}

	// What is counted elsewhere is read when it is asked for.
	m.registry.MustRegister(m.requests, m.seconds, m.refusals, m.evaluations)
	m.registry.MustRegister(collectors...)
	gauge := func(name, help string, value func() int64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) }))
	}
	counter := func(name, help string, labels prometheus.Labels, value *atomic.Int64) {
		m.registry.MustRegister(prometheus.NewCounterFunc(
			prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels}, func() float64 { return float64(value.Load()) }))
	}
	abandoned := func() int64 { return int64(s.works.abandoned(0)) }
	gauge("ropewalk_argocd_in_flight", "Requests that are being answered, and work that goes on after its request.",
		func() int64 { return m.inFlight.Load() + abandoned() })
	gauge("ropewalk_argocd_abandoned", "Work that goes on although its client has left, or its deadline has passed.", abandoned)
	gauge("ropewalk_argocd_waiting", "Requests and evaluations that wait for a slot.", func() int64 { return int64(s.waiting()) })
	counter("ropewalk_argocd_joined_total", "Requests that got the render of an equal one.", nil, &m.joined)
	counter("ropewalk_argocd_retries_total", "Renders that were retried.", nil, &m.retries)
	const cache, cacheHelp = "ropewalk_argocd_render_cache_total", "Renders, by whether they were cached."
	counter(cache, cacheHelp, prometheus.Labels{"result": "hit"}, &m.hits)
	counter(cache, cacheHelp, prometheus.Labels{"result": "miss"}, &m.misses)
	const bytes, bytesHelp = "ropewalk_argocd_archive_bytes_total", "Bytes of archives: as received, unpacked, and of these what went to disk."
	counter(bytes, bytesHelp, prometheus.Labels{"kind": "compressed"}, &m.compressed)
	counter(bytes, bytesHelp, prometheus.Labels{"kind": "unpacked"}, &m.plain)
	counter(bytes, bytesHelp, prometheus.Labels{"kind": "spooled"}, &m.spooled)
	return m
}

// countRefusal counts the refusals of a rule.
func (m *metrics) countRefusal(rule string) { m.refusals.WithLabelValues(rule).Inc() }

// countRequest counts a request that was answered.
func (m *metrics) countRequest(method string, err error, took time.Duration) {
	outcome := connect.Code(0)
	if err != nil {
		outcome = connect.CodeOf(err)
	}
	m.requests.WithLabelValues(method, codeName(outcome)).Inc()
	m.seconds.WithLabelValues(method).Observe(took.Seconds())
}

// countRender counts a render, by whether it was cached.
func (m *metrics) countRender(cached bool) {
	if cached {
		m.hits.Add(1)
		return
	}
	m.misses.Add(1)
}

// countArchive counts the bytes of an archive.
func (m *metrics) countArchive(s unpack.Stats) {
	m.compressed.Add(s.Compressed)
	m.plain.Add(s.Unpacked)
	m.spooled.Add(s.Spooled)
}
