// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package bench

import (
	"bytes"
	"debug/buildinfo"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// programs are the two that are compared.
type programs struct{ ropewalk, cue string }

// find skips a benchmark where the environment does not name the programs.
func find(b *testing.B) programs {
	b.Helper()
	p := programs{ropewalk: os.Getenv("ROPEWALK_BIN"), cue: os.Getenv("ROPEWALK_CUE")}
	if p.ropewalk == "" || p.cue == "" {
		b.Skip("ROPEWALK_BIN and ROPEWALK_CUE name the programs to compare: run make bench")
	}
	info, err := buildinfo.ReadFile(p.cue)
	require.NoError(b, err)
	if why := unfair(info); why != "" {
		b.Skipf("%s %s: remove it and run make bench", p.cue, why)
	}
	p.ropewalk, p.cue = copied(b, p.ropewalk), copied(b, p.cue)
	return p
}

// unfair is why a cue command is no yardstick, "" where it is one. With cgo it
// starts with the dynamic linker, for a tenth of the CPU time of a small export:
// who is compared with that seems better than they are.
func unfair(info *debug.BuildInfo) string {
	for _, s := range info.Settings {
		switch {
		case s.Key == "CGO_ENABLED" && s.Value != "0":
			return "was built with cgo"
		case s.Key == "-race" && s.Value == "true":
			return "was built with the race detector"
		}
	}
	return ""
}

// copied is a program in a file of its own. How the pages of a file lie in
// memory hangs on how it was written, and makes a start cheaper or dearer by a
// tenth: what is compared must have been written in the same way.
func copied(b *testing.B, name string) string {
	b.Helper()
	from, err := os.Open(name)
	require.NoError(b, err)
	defer func() { _ = from.Close() }()
	out, err := os.OpenFile(filepath.Join(b.TempDir(), filepath.Base(name)), os.O_CREATE|os.O_WRONLY, 0o700)
	require.NoError(b, err)
	// In large pieces, as an installer writes it, and not as a whole through memory:
	// the peak of a process counts that of its parent at the start.
	_, err = io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{from}, make([]byte, 8<<20))
	require.NoError(b, err)
	require.NoError(b, out.Close())
	return out.Name()
}

// cost is what one run of a program took.
type cost struct {
	cpu, wall time.Duration
	peak      int64 // bytes resident
	bytes     int   // written to standard output
}

// run runs a program in dir and fails the benchmark if it fails. Variables of
// env are added to an environment that is empty but for a home folder.
func run(b *testing.B, dir string, env []string, name string, args ...string) cost {
	b.Helper()
	var out, problems bytes.Buffer
	cmd := exec.CommandContext(b.Context(), name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &problems
	cmd.Env = append([]string{"HOME=" + dir, "CUE_CACHE_DIR=" + dir + "/.cache"}, env...)
	began := time.Now()
	err := cmd.Run()
	wall := time.Since(began)
	if err != nil {
		b.Fatalf("%s %v: %v\n%s", name, args, err, problems.String())
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		b.Fatal("the system does not tell what a process used")
	}
	return cost{
		cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), wall: wall,
		peak: usage.Maxrss * residentUnit, bytes: out.Len(),
	}
}

// costs are those of several runs of one program.
type costs []cost

func (cs costs) median(of func(cost) float64) float64 {
	values := make([]float64, len(cs))
	for i, c := range cs {
		values[i] = of(c)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

func cpu(c cost) float64  { return c.cpu.Seconds() * 1000 }
func wall(c cost) float64 { return c.wall.Seconds() * 1000 }
func peak(c cost) float64 { return float64(c.peak) / (1 << 20) }

// compare reports ours against theirs: a ratio below one is less than theirs.
func compare(b *testing.B, ours, theirs costs, what string, of func(cost) float64, unit string) {
	b.Helper()
	a, c := ours.median(of), theirs.median(of)
	b.ReportMetric(a/c, what+"/cue")
	b.ReportMetric(a, unit)
}
