// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package skew

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"time"
)

// Set moves the clock of a process that is stopped (SIGSTOP). Its time of day is that of the
// machine and by, of which the part below a second does not count.
func Set(pid int, by time.Duration) error {
	begin, end, err := mapped(pid)
	if err != nil {
		return err
	}
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer memory.Close() //nolint:errcheck // what was written is there
	image := make([]byte, end-begin)
	if _, err := memory.ReadAt(image, begin); err != nil {
		return err
	}
	at, err := clock(image)
	if err != nil {
		return err
	}
	_, err = memory.WriteAt(code(by), begin+at)
	return err
}

// mapped is where the vDSO of a process is.
func mapped(pid int) (begin, end int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasSuffix(strings.TrimSpace(line), "[vdso]") {
			_, err := fmt.Sscanf(line, "%x-%x", &begin, &end)
			return begin, end, err
		}
	}
	return 0, 0, fmt.Errorf("process %d has no vDSO", pid)
}

// clock is where clock_gettime begins.
func clock(image []byte) (int64, error) {
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return 0, err
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return 0, err
	}
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" {
			return int64(s.Value), nil //nolint:gosec // an offset in some pages
		}
	}
	return 0, fmt.Errorf("the vDSO has no clock_gettime")
}

// code calls the kernel, and adds seconds where the clock is the time of day and there is no
// error.
func code(by time.Duration) []byte {
	out := []byte{
		0xb8, 228, 0, 0, 0, // mov eax, 228 (clock_gettime)
		0x0f, 0x05, // syscall
		0x85, 0xc0, // test eax, eax
		0x75, 17, // jnz to the end
		0x85, 0xff, // test edi, edi (CLOCK_REALTIME is 0)
		0x75, 13, // jnz to the end
		0x48, 0xb9, // mov rcx, the seconds
	}
	out = binary.LittleEndian.AppendUint64(out, uint64(by/time.Second)) //nolint:gosec // two's complement is what the processor adds
	return append(out,
		0x48, 0x01, 0x0e, // add [rsi], rcx
		0xc3) // ret
}
