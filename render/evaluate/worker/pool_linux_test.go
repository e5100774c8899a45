// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/object"
)

// distinctNames is an input with n field names that no other input has.
func distinctNames(round, n int) object.Value {
	labels := object.Value{Kind: object.KindMap}
	for i := range n {
		labels.Members = append(labels.Members, object.Member{
			Name:  fmt.Sprintf("name-%d-%d-%s", round, i, strings.Repeat("x", 100)),
			Value: object.Value{Kind: object.KindNumber, Text: "1"},
		})
	}
	return fieldOf("labels", labels)
}

const labelModule = `package labels
ropewalk: apiVersion: "v1alpha1"
input: labels: [string]: int
graph: nodes: a: object: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "a", data: count: "\(len(input.labels))"}
`

func TestAWorkerThatFillsUpWithFieldNamesIsReplacedInTime(t *testing.T) {
	t.Parallel()
	// An eighth of the limit is 8 MiB, which are some 40,000 of these names.
	p := newTestPool(t, Options{Size: 1, Memory: 64 << 20})
	req := ask(labelModule)
	for round := range 60 {
		req.Input = distinctNames(round, 2000)
		_, err := p.Evaluate(t.Context(), req)
		require.NoError(t, err)
		require.Less(t, p.Stats().LiveHeap, int64(32<<20))
	}
	stats := p.Stats()
	require.GreaterOrEqual(t, stats.Recycled, 1)
	require.LessOrEqual(t, stats.Recycled, 10, "not with every request")
	require.Zero(t, stats.Killed)
	require.Zero(t, stats.Retried)
}

func TestAWorkerThatFillsUpWithModulesIsReplacedInTime(t *testing.T) {
	t.Parallel()
	p := newTestPool(t, Options{Size: 1, Memory: 64 << 20})
	for round := range 40 {
		req := ask(goodModule + "// " + strings.Repeat("x", 1<<20) + strconv.Itoa(round))
		_, err := p.Evaluate(t.Context(), req)
		require.NoError(t, err)
	}
	stats := p.Stats()
	require.GreaterOrEqual(t, stats.Recycled, 1)
	require.LessOrEqual(t, stats.Recycled, 20, "not with every request")
	require.Zero(t, stats.Killed)
}

func TestAWorkerSeesNothingOfItsSurroundings(t *testing.T) {
	t.Setenv("TOKEN", "of somebody")
	p := newTestPool(t, Options{Size: 1, Memory: 128 << 20})
	requireGood(t, p)
	proc := fmt.Sprintf("/proc/%d/", p.slots[0].proc.cmd.Process.Pid)

	environment, err := os.ReadFile(proc + "environ")
	require.NoError(t, err)
	require.Empty(t, environment)

	folder, err := os.Readlink(proc + "cwd")
	require.NoError(t, err)
	require.Equal(t, "/", folder)

	files, err := os.ReadDir(proc + "fd")
	require.NoError(t, err)
	for _, f := range files {
		target, err := os.Readlink(proc + "fd/" + f.Name())
		require.NoError(t, err)
		if n, err := strconv.Atoi(f.Name()); err == nil && n <= 2 {
			require.Regexp(t, `^pipe:`, target)
		} else {
			require.Regexp(t, `^(anon_inode:|/sys/fs/cgroup/)`, target, "what the runtime opens for itself")
		}
	}

	group, err := syscall.Getpgid(p.slots[0].proc.cmd.Process.Pid)
	require.NoError(t, err)
	require.Equal(t, p.slots[0].proc.cmd.Process.Pid, group)

	if hardLimit {
		limits, err := os.ReadFile(proc + "limits")
		require.NoError(t, err)
		found := regexp.MustCompile(`Max data size +(\d+) +(\d+)`).FindStringSubmatch(string(limits))
		require.Len(t, found, 3)
		require.Equal(t, found[1], found[2], "a worker cannot raise its limit again")
		bytes, err := strconv.Atoi(found[1])
		require.NoError(t, err)
		require.GreaterOrEqual(t, bytes, 128<<20+threadMemory)
		require.Less(t, bytes, 128<<20+threadMemory+128<<20)
		require.Regexp(t, `Max core file size +0 +0`, string(limits))
	}
}
