// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"runtime/metrics"

	"github.com/ropewalk/ropewalk/internal/lru"
	"github.com/ropewalk/ropewalk/plugin/argocd"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/source/cache"
	"github.com/ropewalk/ropewalk/source/pullpolicy"
)

// Kinds of metrics.
const (
	counter = "counter"
	gauge   = "gauge"
)

// readings are metrics of the parts of a server.
type readings struct {
	pool        *evaluate.Pool
	evaluations *evaluate.Memory
	renders     *lru.Cache[string, []byte]
	store       func() (*cache.Store, error)
	policy      *pullpolicy.File
	shares      shares
}

// all are the readings now.
func (r readings) all() []argocd.Reading {
	out := append(r.workers(), r.caches()...)
	if r.policy != nil {
		s := r.policy.Stats()
		const loads = "ropewalk_pull_policy_loads_total"
		good := int64(0)
		if s.Good {
			good = 1
		}
		out = append(out,
			argocd.Reading{Name: loads, Kind: counter, Help: "Policies that were read, by whether they were good.", Labels: result("good"), Value: s.Loaded},
			argocd.Reading{Name: loads, Labels: result("bad"), Value: s.Failed},
			argocd.Reading{Name: "ropewalk_pull_policy_good", Kind: gauge, Help: "1 where the policy in use is the one in the file.", Value: good},
		)
	}
	const memory = "ropewalk_memory_bytes"
	return append(out,
		argocd.Reading{Name: memory, Kind: gauge, Help: "Memory of this process that Go manages, and its limit; that of one worker.", Labels: what("used"), Value: goMemory()},
		argocd.Reading{Name: memory, Labels: what("limit"), Value: r.shares.heap},
		argocd.Reading{Name: memory, Labels: what("worker_limit"), Value: r.shares.worker},
	)
}

func (r readings) workers() []argocd.Reading {
	s := r.pool.Stats()
	const events = "ropewalk_workers_total"
	event := func(name string, n int) argocd.Reading {
		return argocd.Reading{
			Name: events, Kind: counter, Help: "Worker processes, and evaluations, by what happened to them.",
			Labels: fmt.Sprintf("event=%q", name), Value: int64(n),
		}
	}
	out := []argocd.Reading{
		event("started", s.Started), event("killed", s.Killed), event("recycled", s.Recycled), event("retried", s.Retried), event("refused", s.Refused),
	}
	// Neither is known before a worker has collected its garbage, or has ended.
	if s.LiveHeap > 0 {
		out = append(out, argocd.Reading{
			Name: "ropewalk_worker_heap_bytes", Kind: gauge, Value: s.LiveHeap,
			Help: "Live heap of the worker that answered last, at its last collection; absent where it had none yet.",
		})
	}
	if s.PeakMemory > 0 {
		out = append(out, argocd.Reading{
			Name: "ropewalk_worker_peak_bytes", Kind: gauge, Value: s.PeakMemory,
			Help: "Largest resident size of a worker that has ended; absent while none has.",
		})
	}
	return out
}

func (r readings) caches() []argocd.Reading {
	const reads, held = "ropewalk_cache_reads_total", "ropewalk_cache_bytes"
	e, m := r.evaluations.Stats(), r.renders.Stats()
	out := []argocd.Reading{
		{Name: reads, Kind: counter, Help: "Reads of caches, by cache and result.", Labels: read("evaluations", "hit"), Value: int64(e.Hits)},
		{Name: reads, Labels: read("evaluations", "miss"), Value: int64(e.Misses)},
		{Name: reads, Labels: read("renders", "hit"), Value: m.Hits},
		{Name: reads, Labels: read("renders", "miss"), Value: m.Misses},
	}
	var failures, corrupt int64
	if store, err := r.store(); err == nil {
		for _, s := range store.Stats() {
			out = append(out,
				argocd.Reading{Name: reads, Labels: read("disk-"+s.Kind, "hit"), Value: s.Hits},
				argocd.Reading{Name: reads, Labels: read("disk-"+s.Kind, "miss"), Value: s.Misses},
			)
			failures, corrupt = failures+s.Failures, corrupt+s.Corrupt
		}
	}
	const faults = "ropewalk_cache_faults_total"
	return append(out,
		argocd.Reading{Name: faults, Kind: counter, Help: "Reads and writes of the cache on disk that failed, and entries that were damaged.", Labels: what("failed"), Value: failures},
		argocd.Reading{Name: faults, Labels: what("damaged"), Value: corrupt},
		argocd.Reading{Name: held, Kind: gauge, Help: "Bytes of what is remembered in memory.", Labels: fmt.Sprintf("cache=%q", "evaluations"), Value: e.Bytes},
		argocd.Reading{Name: held, Labels: fmt.Sprintf("cache=%q", "renders"), Value: m.Cost},
	)
}

func result(of string) string      { return fmt.Sprintf("result=%q", of) }
func what(of string) string        { return fmt.Sprintf("what=%q", of) }
func read(cache, is string) string { return fmt.Sprintf("cache=%q,result=%q", cache, is) }

// goMemory is what the limit of the collector is about: all that the runtime has
// taken and not given back, in bytes.
func goMemory() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64()) //nolint:gosec // no memory has 2^63 bytes
}
