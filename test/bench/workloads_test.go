// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// scoreFile is the workload that score-k8s was measured with: one container,
// three variables, one file, one port, requests; and with resources also a
// database, a host name, a route and a URL.
func scoreFile(i int, resources bool) string {
	variable, tail := "", ""
	if resources {
		variable = "\n      DATABASE_URL: ${resources.db.connection_string}"
		tail = `
resources:
  db:
    type: postgres
  dns:
    type: dns
  route:
    type: route
    params:
      host: ${resources.dns.host}
      path: /
      port: 80`
	}
	return fmt.Sprintf(`apiVersion: score.dev/v1b1
metadata:
  name: w%04[1]d
containers:
  main:
    image: ghcr.io/acme/w%04[1]d:1.0.%[1]d
    variables:
      LOG_LEVEL: info
      GREETING: hello %[1]d
      PORT: "8080"%[2]s
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
      targetPort: 8080%[3]s
`, i, variable, tail)
}

// workloads writes a folder of n Score files.
func workloads(b *testing.B, n int, resources bool) string {
	dir := b.TempDir()
	for i := range n {
		require.NoError(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("w%04d.yaml", i)), []byte(scoreFile(i, resources)), 0o600))
	}
	return dir
}

// BenchmarkWorkloads promises for 1,000 plain workloads at most 2.5 s CPU and 150
// MiB, with a database, a host name and a route each at most 5 s and 250 MiB, both
// without the check against schemas (with it they are printed too), and 1,000 at
// most 12 times the CPU of 100. score-k8s 0.15.0 takes 12.0 and 48.0 s CPU for
// the same files.
func BenchmarkWorkloads(b *testing.B) {
	p := find(b)
	for _, kind := range []string{"plain", "resources"} {
		hundred := workloads(b, 100, kind == "resources")
		thousand := workloads(b, 1000, kind == "resources")
		for _, check := range []string{"", "--skip-schemas"} {
			name := strings.TrimPrefix(kind+" "+check, " ")
			b.Run(strings.TrimSpace(name), func(b *testing.B) {
				var few, many costs
				for b.Loop() {
					few = append(few, run(b, hundred, nil, p.ropewalk, renderArgs(check)...))
					many = append(many, run(b, thousand, nil, p.ropewalk, renderArgs(check)...))
				}
				b.ReportMetric(many.median(cpu)/1000, "s-CPU")
				b.ReportMetric(many.median(wall)/1000, "s-wall")
				b.ReportMetric(many.median(peak), "MiB")
				b.ReportMetric(many.median(cpu)/few.median(cpu), "x-of-100")
			})
		}
	}
}

func renderArgs(check string) []string {
	args := []string{"render", ".", "--dialect", "argocd"}
	if check != "" {
		args = append(args, check)
	}
	return args
}
