// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package argocd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// isolate gives cmd a process group, and a signal for when this process dies
// without a cleanup, as a test binary does that runs out of time.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killGroup ends the process group.
func killGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended
}

// resident is the memory of a process and of all below it, in bytes: what is
// resident of each, so that what they share counts more than once. It is 0 where
// that cannot be told.
func resident(pid int) int64 {
	var total int64
	for _, one := range append(below(pid), pid) {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", one)) // it may have ended
		if fields := strings.Fields(string(data)); len(fields) > 1 {
			pages, _ := strconv.ParseInt(fields[1], 10, 64)
			total += pages * int64(os.Getpagesize())
		}
	}
	return total
}

// below are the processes that a process has started, and those that they have. It
// is empty where that cannot be told.
func below(pid int) []int {
	children := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	for _, name := range stats {
		data, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		if fields := stat(data); len(fields) > 1 {
			child, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			parent, _ := strconv.Atoi(fields[1])
			children[parent] = append(children[parent], child)
		}
	}
	var all []int
	for next := children[pid]; len(next) > 0; next = next[1:] {
		all = append(all, next[0])
		next = append(next, children[next[0]]...)
	}
	return all
}

// running reports whether a process is there, and no zombie that waits to be asked
// how it ended.
func running(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := stat(data)
	return err == nil && len(fields) > 0 && fields[0] != "Z"
}

// stat is what a file stat says after the name of the program, which may hold
// anything: the state and the parent first.
func stat(data []byte) []string {
	_, rest, _ := strings.Cut(string(data), ") ")
	return strings.Fields(rest)
}
