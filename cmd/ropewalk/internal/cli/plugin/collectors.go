// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"runtime/metrics"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ropewalk/ropewalk/internal/lru"
	"github.com/ropewalk/ropewalk/render/evaluate/resultcache"
	"github.com/ropewalk/ropewalk/render/evaluate/worker"
	"github.com/ropewalk/ropewalk/source/cache"
	"github.com/ropewalk/ropewalk/source/pullpolicy"
)

// readings are metrics of the parts of a server, read when they are collected.
type readings struct {
	pool        *worker.Pool
	evaluations *resultcache.Results
	renders     *lru.Cache[string, []byte]
	store       func() (*cache.Store, error)
	policy      *pullpolicy.File
	shares      Shares
}

var _ prometheus.Collector = readings{}

// Describe leaves the metrics unchecked: some are absent at first.
func (r readings) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (r readings) Collect(to chan<- prometheus.Metric) {
	r.workers(to)
	r.caches(to)
	if r.policy != nil {
		s := r.policy.Stats()
		loads := family{to, "ropewalk_pull_policy_loads_total", "Policies that were read, by whether they were valid.", "result"}
		loads.counter("good", s.Loaded)
		loads.counter("bad", s.Failed)
		good := int64(0)
		if s.Good {
			good = 1
		}
		family{to, "ropewalk_pull_policy_good", "1 if the policy in use is the one in the file.", ""}.gauge("", good)
	}
	memory := family{to, "ropewalk_memory_bytes", "Memory of this process that Go manages, and its limit; that of one worker.", "what"}
	memory.gauge("used", goMemory())
	memory.gauge("limit", r.shares.Heap)
	memory.gauge("worker_limit", r.shares.Worker)
}

func (r readings) workers(to chan<- prometheus.Metric) {
	s := r.pool.Stats()
	events := family{to, "ropewalk_workers_total", "Worker processes, and evaluations, by what happened to them.", "event"}
	events.counter("started", int64(s.Started))
	events.counter("killed", int64(s.Killed))
	events.counter("recycled", int64(s.Recycled))
	events.counter("retried", int64(s.Retried))
	events.counter("refused", int64(s.Refused))
	// Neither is known before a worker has collected its garbage, or has ended.
	if s.LiveHeap > 0 {
		family{to, "ropewalk_worker_heap_bytes", "Live heap of the worker that answered last, at its last collection; absent while unknown.", ""}.gauge("", s.LiveHeap)
	}
	if s.PeakMemory > 0 {
		family{to, "ropewalk_worker_peak_bytes", "Largest resident size of a worker that has ended; absent while none has.", ""}.gauge("", s.PeakMemory)
	}
}

func (r readings) caches(to chan<- prometheus.Metric) {
	e, m := r.evaluations.Stats(), r.renders.Stats()
	const reads, help = "ropewalk_cache_reads_total", "Reads of caches, by cache and result."
	read := func(cache string, hits, misses int64) {
		desc := prometheus.NewDesc(reads, help, []string{"cache", "result"}, nil)
		to <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(hits), cache, "hit")
		to <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(misses), cache, "miss")
	}
	read("evaluations", e.Hits, e.Misses)
	read("renders", m.Hits, m.Misses)
	var failures, corrupt int64
	if store, err := r.store(); err == nil {
		for _, s := range store.Stats() {
			read("disk-"+s.Kind, s.Hits, s.Misses)
			failures += s.Failures
			corrupt += s.Corrupt
		}
	}
	faults := family{to, "ropewalk_cache_faults_total", "Reads and writes of the cache on disk that failed, and entries that were damaged.", "what"}
	faults.counter("failed", failures)
	faults.counter("damaged", corrupt)
	held := family{to, "ropewalk_cache_bytes", "Bytes of caches in memory.", "cache"}
	held.gauge("evaluations", e.Cost)
	held.gauge("renders", m.Cost)
}

// family is metrics of one name with one label, or none.
type family struct {
	to                chan<- prometheus.Metric
	name, help, label string
}

func (f family) counter(is string, value int64) { f.send(prometheus.CounterValue, is, value) }
func (f family) gauge(is string, value int64)   { f.send(prometheus.GaugeValue, is, value) }

func (f family) send(kind prometheus.ValueType, is string, value int64) {
	var labels prometheus.Labels
	if f.label != "" {
		labels = prometheus.Labels{f.label: is}
	}
	f.to <- prometheus.MustNewConstMetric(prometheus.NewDesc(f.name, f.help, nil, labels), kind, float64(value))
}

// goMemory returns the memory that the limit of the collector is about: all that the runtime has
// taken and not given back, in bytes.
func goMemory() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64()) //nolint:gosec // no memory has 2^63 bytes
}
