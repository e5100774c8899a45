// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package bench

import (
	"fmt"
	"path/filepath"
	"testing"
)

// export is the yardstick: cue export of the module in a project.
func export(b *testing.B, p programs, dir string) cost {
	b.Helper()
	return run(b, filepath.Join(dir, "module"), nil, p.cue, "export", "--out", "yaml", ".")
}

func render(b *testing.B, p programs, dir string, env ...string) cost {
	b.Helper()
	return run(b, dir, env, p.ropewalk, "render", "specs.yaml")
}

// BenchmarkColdSmall promises cpu/cue of at most 1: one render of a module of
// five objects with nothing cached.
func BenchmarkColdSmall(b *testing.B) { cold(b, smallModule()) }

// BenchmarkColdLarge promises cpu/cue and peak/cue of at most 1, both with
// GOGC=50: one render of a module of 500 objects with nothing cached. The other
// settings show the trade: the one that Ropewalk has by itself takes a third of
// the CPU time of cue export, and an eighth more memory.
func BenchmarkColdLarge(b *testing.B) {
	b.Run("default", func(b *testing.B) { cold(b, largeModule()) })
	for _, percent := range []int{25, 50, 100, 200, 400} {
		b.Run(fmt.Sprintf("GOGC=%d", percent), func(b *testing.B) {
			cold(b, largeModule(), fmt.Sprintf("GOGC=%d", percent))
		})
	}
}

// cold compares one render with one export.
func cold(b *testing.B, module string, env ...string) {
	p := find(b)
	dir := project(b, module, 1)
	var ours, theirs costs
	for b.Loop() {
		theirs = append(theirs, export(b, p, dir))
		ours = append(ours, render(b, p, dir, env...))
	}
	compare(b, ours, theirs, "cpu", cpu, "cpu-ms")
	compare(b, ours, theirs, "peak", peak, "peak-MiB")
}

// Sizes of BenchmarkThousandSpecs: the exports are measured by a sample, which
// is scaled up.
const (
	specs  = 1000
	sample = 50
)

// BenchmarkThousandSpecs promises wall/cue of at most 1/8 = 0.125 and a peak
// below 200 MiB: a project with 1,000 specs of one module against as many
// runs of cue export.
func BenchmarkThousandSpecs(b *testing.B) {
	p := find(b)
	dir := project(b, smallModule(), specs)
	var ours, theirs costs
	for b.Loop() {
		ours = append(ours, render(b, p, dir))
		var sum cost
		for range sample {
			c := export(b, p, dir)
			sum.cpu += c.cpu
			sum.wall += c.wall
			sum.peak = max(sum.peak, c.peak)
		}
		sum.cpu *= specs / sample
		sum.wall *= specs / sample
		theirs = append(theirs, sum)
	}
	b.Logf("%d exports took %.0f ms, which stands for %d as %.0f ms",
		sample, theirs.median(wall)*sample/specs, specs, theirs.median(wall))
	compare(b, ours, theirs, "wall", wall, "wall-ms")
	compare(b, ours, theirs, "cpu", cpu, "cpu-ms")
	b.ReportMetric(ours.median(peak), "peak-MiB")
	b.ReportMetric(theirs.median(wall)/ours.median(wall), "times-faster")
}

// BenchmarkThousandSpecsInWorkers is the same with two worker processes, as
// adapters evaluate.
func BenchmarkThousandSpecsInWorkers(b *testing.B) {
	p := find(b)
	dir := project(b, smallModule(), specs)
	var plain, workers costs
	for b.Loop() {
		plain = append(plain, render(b, p, dir))
		workers = append(workers, run(b, dir, nil, p.ropewalk, "render", "--workers", "2", "specs.yaml"))
	}
	b.ReportMetric(workers.median(wall)/plain.median(wall), "wall/in-process")
	b.ReportMetric(workers.median(cpu)/plain.median(cpu), "cpu/in-process")
	b.ReportMetric(workers.median(wall), "wall-ms")
}
