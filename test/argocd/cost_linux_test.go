// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit in which Linux tells the CPU time of processes.
const tick = 10 * time.Millisecond

// cpu is the time that a process has used, and all below it, also those that have
// ended and were waited for.
func cpu(pid int) time.Duration {
	var total time.Duration
	for _, one := range append(below(pid), pid) {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", one)) // it may have ended
		// User and system, its own and those of children; proc(5) counts from the name.
		if fields := stat(data); len(fields) > 14 {
			for _, field := range fields[11:15] {
				n, _ := strconv.ParseInt(field, 10, 64)
				total += time.Duration(n) * tick
			}
		}
	}
	return total
}

// forgetPeak makes highest begin anew.
func forgetPeak(pid int) {
	for _, one := range append(below(pid), pid) {
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", one), []byte("5"), 0o600) // it may have ended
	}
}

// highest is the most that a process has had in memory since forgetPeak, and all
// below it, in bytes: the sum of the peaks of each.
func highest(pid int) int64 {
	var total int64
	for _, one := range append(below(pid), pid) {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", one)) // it may have ended
		for line := range strings.Lines(string(data)) {
			if value, found := strings.CutPrefix(line, "VmHWM:"); found {
				kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
				total += kib << 10
			}
		}
	}
	return total
}
