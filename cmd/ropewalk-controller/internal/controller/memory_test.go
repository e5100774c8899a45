// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"os"
	"runtime/debug"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/go-logr/logr"
)

func TestTheControllerAndItsWorkersFitIntoTheTotal(t *testing.T) {
	for workers := 1; workers <= 8; workers++ {
		for total := int64(384 << 20); total <= 8<<30; total += 128 << 20 {
			s, err := divide(total, workers)
			if err != nil {
				require.Less(t, total, int64(2*workers*(leastWorker+processCost)+leastParent))
				continue
			}
			require.GreaterOrEqual(t, s.worker, int64(leastWorker))
			require.LessOrEqual(t, s.heap+processCost+int64(workers)*(s.worker+processCost), total)
			require.Less(t, s.evaluations*evaluationCost+s.renders+s.trees+s.plans, s.heap/2)
		}
	}
}

func TestTheMemoryThatIsAskedForIsEnough(t *testing.T) {
	for workers := 1; workers <= 8; workers++ {
		_, err := divide(1<<20, workers)
		require.Error(t, err)
		var need int64
		var given string
		_, scan := fmt.Sscanf(err.Error(), "--memory-total %s cannot hold %d workers beside the controller: give it at least %dMiB", &given, &workers, &need)
		require.NoError(t, scan)
		_, err = divide(need<<20, workers)
		require.NoError(t, err)
		_, err = divide((need-1)<<20, workers)
		require.Error(t, err)
	}
}

func TestTheUserSaysHowMuchGoMayTake(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	t.Setenv("GOMEMLIMIT", "off")
	shares{heap: 1 << 30}.hold()
	require.Equal(t, before, debug.SetMemoryLimit(-1))
	require.NoError(t, os.Unsetenv("GOMEMLIMIT"))
	shares{heap: 1 << 30}.hold()
	require.Equal(t, int64(1<<30), debug.SetMemoryLimit(-1))
}

func TestMetricsAreRegisteredOnce(t *testing.T) {
	p, err := parsed(t, "--cache-dir="+t.TempDir()).newParts(logr.Discard())
	require.NoError(t, err)
	defer func() { require.NoError(t, p.close()) }()
	registry := prometheus.NewPedanticRegistry()
	_, unregister, err := p.register(registry)
	require.NoError(t, err)
	families, err := registry.Gather()
	require.NoError(t, err)
	names := map[string]bool{}
	for _, f := range families {
		names[f.GetName()] = true
	}
	for _, name := range []string{"ropewalk_workers_total", "ropewalk_cache_reads_total", "ropewalk_cache_bytes", "ropewalk_memory_limit_bytes", "ropewalk_cache_faults_total"} {
		require.True(t, names[name], name)
	}
	_, _, err = p.register(registry)
	require.Error(t, err)
	unregister()
	_, unregister, err = p.register(registry)
	require.NoError(t, err, "what was registered by halves is gone")
	unregister()
}
