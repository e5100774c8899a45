// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package inprocess

import (
	"syscall"
	"testing"
)

// reportCPU adds the processor time of all threads, collection included, to
// what a benchmark reports: unlike wall time it means something on a busy
// machine.
func reportCPU(b *testing.B) {
	b.Helper()
	before := cpu(b)
	b.Cleanup(func() { b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op") })
}

func cpu(b *testing.B) int64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
