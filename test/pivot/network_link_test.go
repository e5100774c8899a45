// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package pivot

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ropewalk/ropewalk/test/pivot/harness"
	"github.com/ropewalk/ropewalk/test/pivot/network"
	"github.com/ropewalk/ropewalk/test/pivot/skew"
)

// TestFaultsOfTheLink are those that need no pivot, each with an agent of its own, at once.
func TestFaultsOfTheLink(t *testing.T) {
	d := newDistant(t)
	d.run(d.B, "", "apply", "--server-side", "-k", filepath.Join("..", "..", "deploy", "crds"))
	// The controller needs the definitions of Flux. No cluster is to be made.
	for _, p := range []*harness.Plane{d.A, d.B} {
		source, kustomize := d.Flux(t, p)
		source.Kill()
		kustomize.Kill()
	}
	d.startParent()
	l := d.look()
	drop := network.Condition{Drop: true}
	cases := []struct {
		name string
		run  func(*apart)
	}{
		{"lost-both", func(a *apart) { a.halfOpen("packets of both directions", drop, drop) }},
		{"lost-up", func(a *apart) { a.halfOpen("packets of the child", network.Condition{}, drop) }},
		{"lost-down", func(a *apart) { a.halfOpen("packets of the parent", drop, network.Condition{}) }},
		{"moved", (*apart).moves},
		{"balanced", func(a *apart) { a.balanced("8501", &network.Balancer{Idle: 25 * time.Second}) }},
		{"dropped", func(a *apart) { a.balanced("8502", &network.Balancer{Idle: 5 * time.Second}) }},
		{"forgotten", func(a *apart) { a.balanced("8503", &network.Balancer{Idle: 5 * time.Second, Forget: true}) }},
		{"reinstalled", (*apart).reinstalled},
		{"stolen", (*apart).stolen},
		{"early", func(a *apart) { a.skewed(-8*24*time.Hour, "is not valid yet") }},
		{"late", func(a *apart) { a.skewed(8*24*time.Hour, "is expired") }},
		{"wrong", (*apart).wrong},
	}
	all := make([]*apart, len(cases))
	for i, c := range cases {
		all[i] = d.apart(l, i+1, c.name)
	}
	var running sync.WaitGroup
	for i, c := range cases {
		running.Go(func() { c.run(all[i]) })
	}
	running.Wait()
	d.says("the parent has %s", memoryOf(t, d.parent.Pid()))
}

// begin gives the agent what it needs, and starts it.
func (a *apart) begin(link string) int64 {
	a.t.Helper()
	a.given(link)
	a.agent = a.start(a.at, "agent-"+a.name, a.B.Kubeconfig)
	return a.connected(0)
}

// halfOpen loses packets for longer than until a child is lost, and no end is told.
func (a *apart) halfOpen(what string, toChild, toParent network.Condition) {
	first := a.begin("")
	a.wire.Set(toChild, toParent)
	began := time.Now()
	a.lost()
	after := since(began)
	require.Less(a.t, after, 75*time.Second, "nothing is received for 60 s at most, and the status is written a moment later")
	time.Sleep(time.Until(began.Add(80 * time.Second)))
	a.wire.Set(network.Condition{}, network.Condition{})
	began = time.Now()
	next := a.connected(first)
	a.says("half-open, %s are dropped: session %d is lost after %s; with the wire whole again, session %d after %s", what, first, after, next, since(began))
}

// moves gives the machine another address while its connection is open, and starts the agent
// again: the parent has a session on which nothing will come any more.
func (a *apart) moves() {
	first := a.begin("")
	a.wire.Set(network.Condition{Drop: true}, network.Condition{Drop: true})
	a.agent.Kill()
	a.wire.Move(a.t, &a.wire.B, &a.wire.A, "10.212.0.2")
	a.wire.Set(network.Condition{}, network.Condition{})
	began := time.Now()
	require.NoError(a.t, a.agent.Start())
	next := a.connected(first)
	fenced := fmt.Sprintf("session %d of the cluster has begun, so that %d is over", next, first)
	harness.Await(a.t, 5*time.Second, "the parent logs: "+fenced, func() bool { return strings.Contains(a.parent.Log(), fenced) })
	a.says("half-open, the machine has another address: session %d after %s, and %d is fenced", next, since(began), first)
}

// balanced has a load balancer in the middle that drops idle connections.
func (a *apart) balanced(port string, b *network.Balancer) {
	const watched = 100 * time.Second
	b.Serve(a.t, a.parentAt, net.JoinHostPort(cell, port), net.JoinHostPort(cell, linkPort))
	first := a.begin(net.JoinHostPort(cell, port))
	began := time.Now()
	var away, longest time.Duration
	var since time.Time
	for time.Since(began) < watched {
		switch _, is := a.looks.session(a.name); {
		case !is && since.IsZero():
			since = time.Now()
		case is && !since.IsZero():
			away += time.Since(since)
			longest, since = max(longest, time.Since(since)), time.Time{}
		}
		time.Sleep(50 * time.Millisecond)
	}
	last := a.connected(0)
	count, _ := b.Dropped()
	if b.Idle > 15*time.Second {
		require.Zero(a.t, count, "heartbeats keep a connection")
		require.Equal(a.t, first, last)
	} else {
		require.Positive(a.t, count)
		require.Greater(a.t, last, first)
	}
	what := "closes"
	if b.Forget {
		what = "forgets"
	}
	a.says("a load balancer %s what is idle for %s: in %s it did so %d times, sessions %d to %d, not connected for %s in all, %s at most",
		what, b.Idle, watched, count, first, last, away.Round(10*time.Millisecond), longest.Round(10*time.Millisecond))
}

// reinstalled deletes the Secret of the agent: a new token enrols a new key, and the key before
// is refused.
func (a *apart) reinstalled() {
	first := a.begin("")
	old, key := a.secret(), a.key()
	a.agent.Kill()
	a.run(a.B, "", "delete", "secret", "ropewalk-agent", "--namespace=agent-"+a.name)
	a.patch(`{"agent":{"rejoin":"again"}}`)
	began := time.Now()
	harness.Await(a.t, time.Minute, "a new token", func() bool { return a.key() == "" })
	a.given("")
	require.NoError(a.t, a.agent.Start())
	next := a.connected(first)
	took := since(began)
	require.NotEqual(a.t, key, a.key())
	a.agent.Kill()
	a.lost()

	a.run(a.B, "{apiVersion: v1, kind: Namespace, metadata: {name: agent-"+a.name+"-old}}", "apply", "-f", "-")
	a.write("agent-"+a.name+"-old", old.Data)
	before := a.start(a.at, "agent-"+a.name+"-old", a.B.Kubeconfig)
	const why = "the key of the certificate is not the one that is enrolled"
	harness.Await(a.t, 30*time.Second, "the agent of before logs: "+why, func() bool { return strings.Contains(before.Log(), why) })
	number, is := a.looks.session(a.name)
	require.False(a.t, is)
	require.Equal(a.t, next, number)
	before.Kill()
	require.NoError(a.t, a.agent.Start())
	a.connected(next)
	a.says("the agent is reinstalled: with a new token, session %d of another key after %s; the key before: %q", next, took, why)
}

// stolen copies the Secret of the agent to a process elsewhere, which is then blocked.
func (a *apart) stolen() {
	first := a.begin("")
	stolen, key := a.secret(), a.key()
	a.run(a.B, "{apiVersion: v1, kind: Namespace, metadata: {name: agent-"+a.name+"-thief}}", "apply", "-f", "-")
	a.write("agent-"+a.name+"-thief", stolen.Data)
	a.agent.Kill()
	a.lost()
	at := network.New(a.t)
	network.Connect(a.t, "thief", a.parentAt, at, cell, "10.213.0.2")
	at.Forward(a.t, loopbackOf(a.t, a.B.Kubeconfig))
	thief := a.start(at, "agent-"+a.name+"-thief", a.B.Kubeconfig)
	second := a.connected(first)
	require.True(a.t, established(a.t, thief.Pid()), "the thief is connected")

	began := time.Now()
	a.patch(`{"agent":{"blockedKeys":["` + key + `"]}}`)
	for established(a.t, thief.Pid()) {
		require.Less(a.t, time.Since(began), 10*time.Second, "the thief is still connected")
		time.Sleep(time.Millisecond)
	}
	cut := time.Since(began).Round(time.Millisecond)
	require.Less(a.t, cut, time.Second)
	const why = "the key is in spec.agent.blockedKeys"
	harness.Await(a.t, time.Minute, "the parent logs: "+why, func() bool { return strings.Contains(a.parent.Log(), why) })
	time.Sleep(10 * time.Second)
	number, is := a.looks.session(a.name)
	require.False(a.t, is)
	require.Equal(a.t, second, number, "the thief has no further session")

	began = time.Now()
	a.patch(`{"agent":{"rejoin":"after the theft"}}`)
	harness.Await(a.t, time.Minute, "a new token", func() bool { return a.key() == "" })
	a.run(a.B, "", "delete", "secret", "ropewalk-agent", "--namespace=agent-"+a.name)
	a.given("")
	require.NoError(a.t, a.agent.Start())
	third := a.connected(second)
	a.says("a certificate is stolen and blocked: session %d of the thief is cut after %s, and it gets no other: %q; the agent has session %d of another key %s after it was to rejoin",
		second, cut, why, third, since(began))
}

// established reports whether a process's namespace has a connection to the link.
func established(t testing.TB, pid int) bool {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/tcp", pid))
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		// sl local remote state: 10.210.0.1:8444 as the kernel has it, and ESTABLISHED.
		if f := strings.Fields(line); len(f) > 3 && f[2] == "0100D20A:20FC" && f[3] == "01" {
			return true
		}
	}
	return false
}

// skewed has an agent with another time than the parent, before it is enrolled and afterwards.
func (a *apart) skewed(by time.Duration, why string) {
	a.given("")
	// The certificates of the plane are of a week too: only the link is to be looked at.
	config, err := clientcmd.LoadFromFile(a.B.Kubeconfig)
	require.NoError(a.t, err)
	for _, c := range config.Clusters {
		c.CertificateAuthorityData, c.InsecureSkipTLSVerify = nil, true
	}
	kubeconfig := filepath.Join(a.t.TempDir(), "kubeconfig")
	require.NoError(a.t, clientcmd.WriteToFile(*config, kubeconfig))

	a.agent = a.start(a.at, "agent-"+a.name, kubeconfig)
	unenrolled := a.complains(by, "the certificate of the parent "+why)
	a.agent.Kill()
	require.NoError(a.t, a.agent.Start())
	first := a.connected(0)
	a.agent.Kill()
	require.NoError(a.t, a.agent.Start())
	enrolled := a.complains(by, "the certificate of the agent "+why)
	a.agent.Kill()
	began := time.Now()
	require.NoError(a.t, a.agent.Start())
	next := a.connected(first)
	a.says("the clock of the child is %s off, before it is enrolled: %s\n  and afterwards: %s\n  with the clock set, session %d after %s", by, unenrolled, enrolled, next, since(began))
}

// complains moves the clock of the agent, which has just been started, and waits until it logs
// something.
func (a *apart) complains(by time.Duration, what string) (line string) {
	a.t.Helper()
	said := a.agent.Said()
	harness.Await(a.t, 10*time.Second, "the agent is executed", func() bool {
		is, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", a.agent.Pid()))
		return err == nil && strings.HasSuffix(is, filepath.Base(a.Program(a.t, "ropewalk-controller")))
	})
	a.agent.Pause()
	time.Sleep(100 * time.Millisecond) // until all threads have stopped
	require.NoError(a.t, skew.Set(a.agent.Pid(), by))
	a.agent.Resume()
	harness.Await(a.t, time.Minute, "the agent logs: "+what, func() bool {
		for l := range strings.Lines(a.agent.Log()[said:]) {
			if strings.Contains(l, what) {
				line = strings.TrimSpace(l)
				return true
			}
		}
		return false
	})
	return line
}
