// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	runtimectrl "github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/metrics"
	"github.com/prometheus/client_golang/prometheus"
	ctrl "sigs.k8s.io/controller-runtime"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/source/pullpolicy"
)

// readings shows the parts of a controller as metrics. The sidecar of Argo CD has the same names, so
// that one dashboard fits both.
type readings struct {
	parts *parts

	workers, reads, faults, held, memory, loads, policy, heap, peak *prometheus.Desc
}

var _ prometheus.Collector = (*readings)(nil)

func newReadings(p *parts) *readings {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("ropewalk_"+name, help, labels, nil)
	}
	return &readings{
		parts:   p,
		workers: desc("workers_total", "Worker processes, and evaluations, by what happened to them.", "event"),
		reads:   desc("cache_reads_total", "Reads of caches, by cache and result.", "cache", "result"),
		faults:  desc("cache_faults_total", "Reads and writes of the cache on disk that failed, and entries that were damaged.", "what"),
		held:    desc("cache_bytes", "Bytes of what is remembered in memory.", "cache"),
		memory:  desc("memory_limit_bytes", "Limits of memory: of this process and of one worker.", "process"),
		loads:   desc("pull_policy_loads_total", "Policies that were read, by whether they were good.", "result"),
		policy:  desc("pull_policy_good", "1 where the policy in use is the one in the file."),
		heap:    desc("worker_heap_bytes", "Live heap of the worker that answered last, at its last collection; absent where it had none yet."),
		peak:    desc("worker_peak_bytes", "Largest resident size of a worker that has ended; absent while none has."),
	}
}

// Describe implements prometheus.Collector.
func (r *readings) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{r.workers, r.reads, r.faults, r.held, r.memory, r.loads, r.policy, r.heap, r.peak} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (r *readings) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, n int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
	}
	count := func(d *prometheus.Desc, n int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	gauge(r.memory, r.parts.shares.heap, "controller")
	gauge(r.memory, r.parts.shares.worker, "worker")
	r.collectWorkers(count, gauge)
	r.collectCaches(count, gauge)
	if r.parts.policy != nil {
		r.collectPolicy(r.parts.policy.Stats(), count, gauge)
	}
}

// emit writes one value of a metric.
type emit func(d *prometheus.Desc, n int64, labels ...string)

func (r *readings) collectWorkers(count, gauge emit) {
	s := r.parts.pool.Stats()
	for _, e := range []struct {
		name string
		n    int
	}{{"started", s.Started}, {"killed", s.Killed}, {"recycled", s.Recycled}, {"retried", s.Retried}, {"refused", s.Refused}} {
		count(r.workers, int64(e.n), e.name)
	}

	// These are known once a worker has collected its garbage, or has ended.
	if s.LiveHeap > 0 {
		gauge(r.heap, s.LiveHeap)
	}
	if s.PeakMemory > 0 {
		gauge(r.peak, s.PeakMemory)
	}
}

func (r *readings) collectCaches(count, gauge emit) {
	both := func(cache string, hits, misses, bytes int64) {
		count(r.reads, hits, cache, "hit")
		count(r.reads, misses, cache, "miss")
		if bytes >= 0 {
			gauge(r.held, bytes, cache)
		}
	}
	evaluations := r.parts.evaluations.Stats()
	renders := r.parts.renders.Stats()
	sources := r.parts.trees.Stats()
	both("evaluations", evaluations.Hits, evaluations.Misses, evaluations.Cost)
	both("renders", renders.Hits, renders.Misses, renders.Cost)
	both("sources", sources.Hits, sources.Misses, sources.Cost)
	if r.parts.disk == nil {
		return
	}

	// The disk counts by kind of entry.
	var failed, damaged int64
	for _, s := range r.parts.disk.Stats() {
		both("disk-"+s.Kind, s.Hits, s.Misses, -1)
		failed += s.Failures
		damaged += s.Corrupt
	}
	count(r.faults, failed, "failed")
	count(r.faults, damaged, "damaged")
}

func (r *readings) collectPolicy(s pullpolicy.FileStats, count, gauge emit) {
	count(r.loads, s.Loaded, "good")
	count(r.loads, s.Failed, "bad")
	good := int64(0)
	if s.Good {
		good = 1
	}
	gauge(r.policy, good)
}

// register registers the metrics of the parts and of Flux, and returns the recorder of Flux. The
// second result unregisters all of them.
func (p *parts) register(registry prometheus.Registerer) (*metrics.Recorder, func(), error) {
	recorder := metrics.NewRecorder()
	collectors := append(recorder.Collectors(), newReadings(p))
	for i, c := range collectors {
		if err := registry.Register(c); err != nil {
			unregister(registry, collectors[:i])
			return nil, nil, err
		}
	}
	return recorder, func() { unregister(registry, collectors) }, nil
}

func unregister(registry prometheus.Registerer, collectors []prometheus.Collector) {
	for _, c := range collectors {
		registry.Unregister(c)
	}
}

// observe returns the recorder of the time of reconciliations, and of the states of Transforms.
func (*flags) observe(mgr ctrl.Manager, recorder *metrics.Recorder) runtimectrl.Metrics {
	return runtimectrl.NewMetrics(mgr, recorder, v1alpha1.Finalizer)
}
