// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package pivot

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/pivot/faults"
	"github.com/ropewalk/ropewalk/test/pivot/network"
)

// TestASlowLink enrols and moves a cluster over a link with 300 ms of latency, 1 % of loss,
// 256 kbit/s, and a buffer in which what is sent waits for two seconds.
func TestASlowLink(t *testing.T) {
	d := newDistant(t)
	slow := network.Condition{Delay: 150 * time.Millisecond, Loss: 0.01, Rate: 256_000, Queue: 64 << 10}
	d.wire.Set(slow, slow)
	d.provision()
	d.cluster.Fill(t, d.A, 6, 150<<10)
	m := &moments{}
	d.gates[d.A].Set(func(r faults.Request) faults.Fault {
		if step := d.stepOf(r); step != "" {
			m.progress()
			m.end(m.begin("parent", step, "slow"))
		}
		return faults.Fault{}
	})
	began := time.Now()
	d.join()
	d.await(d.A, "Connected")
	first, _ := d.session()
	d.shows(m.table)
	d.converge(8 * time.Minute)
	last, _ := d.session()
	d.says("300 ms, 1 %% of loss, 256 kbit/s: in charge %s after the agent has started; sessions %d to %d", since(began), first, last)
	require.Equal(t, first, last, "the session is lost behind the chunks")
}
