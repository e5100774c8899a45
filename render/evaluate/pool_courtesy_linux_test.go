// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/ropewalk/ropewalk/render/object"
)

// slowModule takes as long as its input says.
const slowModule = `package slow
import "list"
ropewalk: apiVersion: "v1alpha1"
input: n: int
_n: list.Range(0, input.n, 1)
_all: [for i in _n for j in _n for k in _n if mod(i+j+k, 1000) == 999 {i}]
graph: nodes: a: object: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "a", data: count: "\(len(_all))"}
`

func withN(n int) object.Value {
	return fieldOf("n", object.Value{Kind: object.KindNumber, Text: strconv.Itoa(n)})
}

// policies says of each slot with a process whether all of its threads run last.
func policies(t *testing.T, p *Pool) (last []bool) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.slots {
		if s.proc == nil {
			continue
		}
		dir := fmt.Sprintf("/proc/%d/task", s.proc.cmd.Process.Pid)
		threads, err := os.ReadDir(dir)
		require.NoError(t, err)
		idle := 0
		for _, thread := range threads {
			id, err := strconv.Atoi(thread.Name())
			require.NoError(t, err)
			if attr, err := unix.SchedGetAttr(id, 0); err == nil && attr.Policy == unix.SCHED_IDLE {
				idle++
			}
		}
		require.Contains(t, []int{0, len(threads)}, idle, "some threads and not all")
		last = append(last, idle > 0)
	}
	return last
}

func TestAWorkerThatTakesLongRunsBehindOthers(t *testing.T) {
	p := newTestPool(t, PoolOptions{Size: 2})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := p.Evaluate(ctx, ask(hangs))
		ended <- err
	}()
	over := func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, s := range p.slots {
			if s.watch != nil && s.watch.over {
				return true
			}
		}
		return false
	}
	require.Eventually(t, over, 10*time.Second, time.Millisecond)
	require.Equal(t, []bool{false}, policies(t, p), "nobody else wants the processor")
	requireGood(t, p)
	require.ElementsMatch(t, []bool{true, false}, policies(t, p))
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	requireGood(t, p)
	require.NotContains(t, policies(t, p), true)
}

func TestAWorkerThatRanBehindOthersIsReplacedOnce(t *testing.T) {
	p := newTestPool(t, PoolOptions{Size: 2, Timeout: time.Minute})
	requireGood(t, p)
	var req Request
	beside := func() {
		ended := make(chan error, 1)
		go func() {
			_, err := p.Evaluate(context.Background(), req)
			ended <- err
		}()
		for {
			select {
			case err := <-ended:
				require.NoError(t, err)
				return
			case <-time.After(5 * time.Millisecond):
				requireGood(t, p)
			}
		}
	}
	for n := 20; p.Stats().Slowed == 0; n += 10 { // As slow as is needed here, and each time a module that is not known.
		require.Less(t, n, 200)
		req = ask(slowModule + "// " + strconv.Itoa(n))
		req.Input = withN(n)
		beside()
	}
	require.NotContains(t, policies(t, p), true, "another one is there already")
	for range 3 {
		beside()
	}
	require.Equal(t, 1, p.Stats().Slowed, "it is known that the module needs that long")
	require.Zero(t, p.Stats().Killed)
}

func TestSlowModulesAreForgottenInTheirOrder(t *testing.T) {
	var k knownSlow
	require.Equal(t, courtesy, k.allowance("a"))
	k.learn("", time.Minute)
	require.Equal(t, courtesy, k.allowance(""), "a module without a digest may be any")
	k.learn("a", courtesy)
	require.Equal(t, 2*courtesy, k.allowance("a"))
	k.learn("a", time.Hour)
	require.Equal(t, longestCourtesy, k.allowance("a"))
	for i := range maxKnownSlow {
		k.learn(strconv.Itoa(i), courtesy)
	}
	require.Equal(t, courtesy, k.allowance("a"))
	require.Len(t, k.took, maxKnownSlow)
}
