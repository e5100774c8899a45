// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFiftyPivotsAtOnce moves fifty clusters at once over the link of one parent, each between
// two API servers in memory: none waits for another, and all arrive.
func TestFiftyPivotsAtOnce(t *testing.T) {
	const clusters, most = 50, 1 << 30
	p := newParent(t, nil)
	var all []*world
	for n := range clusters {
		all = append(all, newWorldOf(t, p, fmt.Sprint("cluster-", n), nil))
	}
	for n := range all {
		p.connected(all[n].identity)
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse
	}
	runtime.GC()
	before := heap()
	var peak atomic.Uint64
	done, sampled := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sampled)
		for {
			peak.Store(max(peak.Load(), heap()))
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	took, errs := make([]time.Duration, clusters), make([]error, clusters)
	begun := time.Now()
	var running sync.WaitGroup
	for n, w := range all {
		running.Go(func() {
			errs[n] = w.run(t.Context())
			took[n] = time.Since(begun)
		})
	}
	running.Wait()
	close(done)
	<-sampled
	for n, w := range all {
		require.NoError(t, errs[n], w.identity)
		w.moved(w.identity)
		require.Equal(t, int64(1), w.sessionsOf()[w.identity], "its session held")
	}
	slices.Sort(took)
	grown := peak.Load() - min(before, peak.Load())
	t.Logf("%d pivots at once of %d objects each: the first was done after %s, the median %s, the last %s; the heap of the parent, all agents and all API servers had %d MiB before and %d MiB at most",
		clusters, len(all[0].refs), took[0].Round(time.Millisecond), took[clusters/2].Round(time.Millisecond), took[clusters-1].Round(time.Millisecond), before>>20, peak.Load()>>20)
	require.LessOrEqual(t, took[clusters-1], 4*took[clusters/2], "the last waited for the others")
	require.LessOrEqual(t, grown, uint64(most))
}
