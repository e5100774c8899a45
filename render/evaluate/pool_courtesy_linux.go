// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// processorTime is how long all threads of the process have run; false where that
// cannot be told.
func (p *process) processorTime() (time.Duration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return 0, false
	}
	// The clock of another process is its number with all bits turned over, and 2
	// for the time that its scheduler counts (see clock_getcpuclockid in POSIX).
	var now unix.Timespec
	if err := unix.ClockGettime(int32(^p.cmd.Process.Pid<<3|2), &now); err != nil { //nolint:gosec // no number of a process has 29 bits
		return 0, false
	}
	return time.Duration(now.Nano()), true
}

// runLast has the process run only when nothing else wants to, and reports whether
// it does. Without a privilege that cannot be taken back.
//
// Linux schedules threads, and a new one is as the one that started it: those that
// came meanwhile are in the list that is read next.
func (p *process) runLast() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return false
	}
	done := map[int]bool{}
	for more := true; more; {
		threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p.cmd.Process.Pid))
		if err != nil {
			return len(done) > 0
		}
		more = false
		for _, t := range threads {
			id, err := strconv.Atoi(t.Name())
			if err != nil || done[id] || !lastThread(id) {
				continue
			}
			done[id], more = true, true
		}
	}
	return len(done) > 0
}

// lastThread is runLast for a thread. The idle policy also has the kernel take a
// processor for free that runs nothing else; where it is filtered out, the lowest
// priority does most of it.
func lastThread(id int) bool {
	idle := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}
	return unix.SchedSetAttr(id, idle, 0) == nil || unix.Setpriority(unix.PRIO_PROCESS, id, 19) == nil
}
