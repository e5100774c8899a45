// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plane_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/e2e/plane"
)

// TestNoPortIsGivenTwice also asks from another process, which ends last.
func TestNoPortIsGivenTwice(t *testing.T) {
	const count = 300
	var got []string
	for range count {
		got = append(got, plane.FreePort(t))
	}
	if os.Getenv("ROPEWALK_PORTS") != "" {
		require.NoError(t, os.WriteFile(os.Getenv("ROPEWALK_PORTS"), []byte(strings.Join(got, "\n")), 0o600))
		return
	}
	file := t.TempDir() + "/ports"
	other := exec.Command(os.Args[0], "-test.run=^TestNoPortIsGivenTwice$") //nolint:gosec // this program
	other.Env = append(os.Environ(), "ROPEWALK_PORTS="+file)
	out, err := other.CombinedOutput()
	require.NoError(t, err, string(out))
	data, err := os.ReadFile(file) //nolint:gosec // a folder of the test
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, port := range append(got, strings.Split(string(data), "\n")...) {
		require.False(t, seen[port], "%s is given twice", port)
		seen[port] = true
	}
	require.Len(t, seen, 2*count)
}

// TestAProgramOfOthersIsStartedAgain has one that ends twice, and one that never stays.
func TestAProgramOfOthersIsStartedAgain(t *testing.T) {
	dir := t.TempDir()
	p := plane.NewProcess(dir, "twice", []string{"/bin/sh", "-c", "echo x >>n; [ $(wc -l <n) -lt 3 ] && exit 1; touch ready; exec sleep 60"}, os.Environ())
	t.Chdir(dir)
	require.NoError(t, p.Start())
	t.Cleanup(p.Kill)
	p.AwaitOther(t, func() bool { _, err := os.Stat("ready"); return err == nil })

	run := plane.NewRun(dir)
	defer run.End()
	never := plane.NewProcess(dir, "never", []string{"/bin/sh", "-c", "echo said; exit 7"}, os.Environ())
	require.NoError(t, never.Start())
	err := plane.Attempt(func() { never.AwaitOther(run, func() bool { return false }) })
	require.ErrorContains(t, err, "never ended (exit status 7): said")
}
