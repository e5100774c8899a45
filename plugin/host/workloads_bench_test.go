// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/render/evaluate/resultcache"
)

const plainWorkload = `apiVersion: score.dev/v1b1
metadata:
  name: w%04[1]d
containers:
  main:
    image: ghcr.io/acme/w%04[1]d:1.0.%[2]d
    variables:
      LOG_LEVEL: info
      GREETING: hello %[1]d
      PORT: "8080"
    files:
      /etc/app/config.yaml:
        content: |
          name: ${metadata.name}
          index: %[1]d
    resources:
      requests:
        cpu: 100m
        memory: 128Mi
service:
  ports:
    http:
      port: 80
      targetPort: 8080
`

// BenchmarkThousandWorkloadsWithOneChanged promises at most 0.4 s for a project
// of 1,000 plain workloads in a process that rendered it before and finds one of
// them changed: everything is read, joined, ordered and written again, and one
// workload is evaluated.
func BenchmarkThousandWorkloadsWithOneChanged(b *testing.B) {
	dir := b.TempDir()
	write := func(i, version int) {
		file := filepath.Join(dir, fmt.Sprintf("w%04d.yaml", i))
		require.NoError(b, os.WriteFile(file, fmt.Appendf(nil, plainWorkload, i, version), 0o600))
	}
	for i := range 1000 {
		write(i, 0)
	}
	h := host.Host{Embedded: cue.Module, EmbeddedNames: cue.Names()}
	results := resultcache.New(64 << 20)
	r := render.Renderer{Evaluator: resultcache.Evaluator{Results: results, Next: inprocess.New(inprocess.Options{
		Schemas: map[string]fs.FS{cue.SchemaPath: cue.Schema()},
	})}}
	once := func() {
		loaded, err := h.Load(b.Context(), host.Options{Args: []string{dir}, SkipSchemas: true})
		require.NoError(b, err)
		loaded.Request.Parallel = runtime.GOMAXPROCS(0)
		result, err := r.Render(b.Context(), loaded.Request)
		require.NoError(b, err)
		require.Len(b, result.Files, 5000)
	}
	once()
	misses := results.Stats().Misses
	version := 0
	for b.Loop() {
		version++
		write(version%1000, version)
		once()
	}
	require.EqualValues(b, version, results.Stats().Misses-misses)
}
