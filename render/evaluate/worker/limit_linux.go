// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// limitWorker lowers what the process may use: its memory to so many bytes,
// core dumps and files to zero, and open files to its streams.
//
// RLIMIT_DATA counts what can be written to. It does not hinder a Go program
// that reserves address space, and ends a program that exceeds it at once. But
// since Linux 6.12 a mapping that replaces a reservation, which is how Go takes
// memory, is only refused when the limit is exceeded already: one large block
// always gets through. RLIMIT_AS refuses the reservation of such a block.
func limitWorker(memory int64) error {
	runtime.GOMAXPROCS(workerProcs)
	if memory <= 0 {
		return nil
	}
	tune(memory)
	closeInherited()
	if err := limitTo(unix.RLIMIT_CORE, 0); err != nil {
		return err
	}
	if err := limitTo(unix.RLIMIT_FSIZE, 0); err != nil || !hardLimit {
		return err
	}
	now := memoryUse()
	bytes := uint64(memory)
	if exactLimit && now.address > 0 {
		// The heap begins somewhere in its first arena, and grows by whole
		// arenas: one large block can exceed the limit by one arena at most.
		if err := limitTo(unix.RLIMIT_AS, now.address+bytes+arena/2); err != nil {
			return err
		}
	}
	// The runtime keeps 60 MiB of books that count as data and that it hardly
	// writes to: without them the limit covers the memory that the process really uses.
	return limitTo(unix.RLIMIT_DATA, bytes+now.data-min(now.data, now.used)+threadMemory)
}

// arena is the size by which the heap of Go grows on 64-bit systems, in bytes.
const arena = 64 << 20

func limitTo(resource int, bytes uint64) error {
	return unix.Setrlimit(resource, &unix.Rlimit{Cur: bytes, Max: bytes})
}

// use holds what the kernel counts of this process, in bytes: all addresses, the
// addresses that can be written to, and the memory that was written. It is zero
// if the kernel does not tell.
type use struct{ address, data, used uint64 }

func memoryUse() use {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return use{}
	}
	defer func() { _ = f.Close() }()
	kib := map[string]uint64{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		if text, ok := strings.CutSuffix(value, " kB"); ok {
			kib[name], _ = strconv.ParseUint(strings.TrimSpace(text), 10, 32)
		}
	}
	return use{address: kib["VmSize"] << 10, data: kib["VmData"] << 10, used: kib["RssAnon"] << 10}
}

// closeInherited closes the files that an ancestor left open for its children
// to find. Go marks its own files, so that these come from elsewhere. Files that
// the runtime has opened for itself stay open.
func closeInherited() {
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, f := range files {
		n, err := strconv.Atoi(f.Name())
		if err != nil || n <= unix.Stderr {
			continue
		}
		target, err := os.Readlink("/proc/self/fd/" + f.Name())
		if err != nil || strings.HasPrefix(target, "anon_inode:") || strings.HasPrefix(target, "/sys/fs/cgroup/") {
			continue
		}
		_ = unix.Close(n)
	}
}
