// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package kustomize_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkHundredKustomizations builds 100 kustomizations of 10 resources. With
// ROPEWALK_KUSTOMIZE, the path of the program, it reports the CPU time as a ratio against that
// of the program, run for each; the bound is 1.0.
func BenchmarkHundredKustomizations(b *testing.B) {
	files := map[string]string{}
	const count, resources = 100, 10
	for i := range count {
		var names []string
		for j := range resources {
			name := fmt.Sprintf("r%d.yaml", j)
			names = append(names, name)
			files[fmt.Sprintf("k%d/%s", i, name)] = strings.ReplaceAll(deployment, "name: web", fmt.Sprintf("name: web-%d", j))
		}
		files[fmt.Sprintf("k%d/kustomization.yaml", i)] = fmt.Sprintf("namespace: n%d\nnamePrefix: p-\nlabels:\n- pairs: {team: a}\nimages:\n- {name: nginx, newTag: \"1.29\"}\nresources: [%s]\n",
			i, strings.Join(names, ", "))
	}
	fsys, build := tree(files), engine(nil)
	begin := used(b, syscall.RUSAGE_SELF)
	for b.Loop() {
		for i := range count {
			req := request(fsys, nil)
			req.Component.Kustomize.Path.Text = fmt.Sprintf("k%d", i)
			out, err := build(b.Context(), req)
			require.NoError(b, err)
			require.Len(b, out.Objects, resources)
		}
	}
	ours := (used(b, syscall.RUSAGE_SELF) - begin) / time.Duration(b.N)
	b.ReportMetric(float64(ours.Milliseconds()), "cpu-ms/op")
	program := os.Getenv("ROPEWALK_KUSTOMIZE")
	if program == "" {
		return
	}
	dir := b.TempDir()
	for name, text := range files {
		require.NoError(b, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700))
		require.NoError(b, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	begin = used(b, syscall.RUSAGE_CHILDREN)
	for i := range count {
		run := exec.CommandContext(b.Context(), program, "build", fmt.Sprintf("k%d", i)) //nolint:gosec // The program of the test.
		run.Dir = dir
		require.NoError(b, run.Run())
	}
	theirs := used(b, syscall.RUSAGE_CHILDREN) - begin
	b.ReportMetric(float64(theirs.Milliseconds()), "kustomize-cpu-ms/op")
	b.ReportMetric(ours.Seconds()/theirs.Seconds(), "ratio")
}

// used is the CPU time of this process, or of those that it started and waited for.
func used(b *testing.B, who int) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(who, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
