// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package pivot

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/test/pivot/faults"
	"github.com/ropewalk/ropewalk/test/pivot/harness"
	"github.com/ropewalk/ropewalk/test/pivot/network"
)

const (
	// outage is how long an interface is down, and silence how long it is at the commit: longer
	// than until a child is lost.
	outage  = 3 * time.Second
	silence = 70 * time.Second
)

// moment is when something was done to a pivot, at a step of an end.
type moment struct {
	end, step, what string
	// at is when it was done, over when that was over, and next when an end wrote a step after
	// that.
	at, over, next time.Time
}

// moments are those of a pivot.
type moments struct {
	mu  sync.Mutex
	all []*moment
}

func (m *moments) begin(end, step, what string) *moment {
	m.mu.Lock()
	defer m.mu.Unlock()
	one := &moment{end: end, step: step, what: what, at: time.Now()}
	m.all = append(m.all, one)
	return one
}

func (m *moments) end(one *moment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	one.over = time.Now()
}

// progress notes that an end writes a step.
func (m *moments) progress() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.all {
		if !one.over.IsZero() && one.next.IsZero() {
			one.next = time.Now()
		}
	}
}

// table is all of it for people.
func (m *moments) table() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "end\tstep\twhat\tfor\tnext step after\t")
	for _, o := range m.all {
		next := "(the last)"
		if !o.next.IsZero() {
			next = o.next.Sub(o.over).Round(10 * time.Millisecond).String()
		}
		took := "(it is not over)"
		if !o.over.IsZero() {
			took = o.over.Sub(o.at).Round(10 * time.Millisecond).String()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t\n", o.end, o.step, o.what, took, next)
	}
	_ = w.Flush() // into memory
	return text.String()
}

// cuts takes an interface down at each step of a pivot: that of the end which writes the step,
// before its API server has it.
type cuts struct {
	moments

	d *distant
	// cutting is full while an interface is down.
	cutting chan struct{}
	done    map[string]bool
}

func (c *cuts) rule(name string, end *network.End) faults.Rule {
	return func(r faults.Request) faults.Fault {
		step := c.d.stepOf(r)
		if step == "" {
			return faults.Fault{}
		}
		c.cutting <- struct{}{}
		c.progress()
		if c.done[name+step] {
			<-c.cutting
			return faults.Fault{}
		}
		c.done[name+step] = true
		now, down := c.begin(name, step, "interface down"), outage
		if name == "parent" && step == "Committed" {
			down = silence
		}
		end.Down(c.d.t)
		time.AfterFunc(down, func() {
			end.Up(c.d.t)
			c.end(now)
			<-c.cutting
		})
		return faults.Fault{}
	}
}

// TestTheLinkIsCutAtEveryStep of a pivot, and is up again after some seconds.
func TestTheLinkIsCutAtEveryStep(t *testing.T) {
	d := newDistant(t)
	d.provision()
	c := &cuts{d: d, cutting: make(chan struct{}, 1), done: map[string]bool{}}
	d.gates[d.A].Set(c.rule("parent", &d.wire.A))
	d.join()
	d.gates[d.B].Set(c.rule("child", &d.wire.B))
	began := time.Now()
	d.shows(c.table)
	d.converge(8 * time.Minute)
	c.cutting <- struct{}{} // the last one is over
	d.says("cuts at each step: %d of %s each, one of %s; converged in %s", len(c.all)-1, outage, silence, since(began))
	require.GreaterOrEqual(t, len(c.all), 15)
	number, _ := d.session()
	require.Greater(t, number, int64(1), "no session was lost")
}

// TestProcessesAreKilledAtEveryStepOverTheLink kills the parent and the child at each step that
// they write, before and after their API server has it.
func TestProcessesAreKilledAtEveryStepOverTheLink(t *testing.T) {
	d := newDistant(t)
	d.provision()
	k := &kills{d: d}
	d.gates[d.A].Set(k.rule("parent", d.parent))
	d.join()
	d.gates[d.B].Set(k.rule("child", d.agent))
	began := time.Now()
	d.shows(k.table)
	d.converge(10 * time.Minute)
	d.says("kills at each step: %d; converged in %s", len(k.all), since(began))
	require.GreaterOrEqual(t, len(k.all), 30)
}

// kills ends processes, and starts them again at once.
type kills struct {
	moments

	d *distant
}

func (k *kills) rule(name string, p *harness.Process) faults.Rule {
	var mu sync.Mutex
	writes, dead := map[string]int{}, false
	die := func(step, when string) func() {
		return func() {
			mu.Lock()
			defer mu.Unlock()
			now := k.begin(name, step, "kill "+when)
			dead = true
			p.Kill()
			k.end(now)
			go func() {
				mu.Lock()
				defer mu.Unlock()
				dead = false
				require.NoError(k.d.t, p.Start())
			}()
		}
	}
	return func(r faults.Request) faults.Fault {
		step := k.d.stepOf(r)
		mu.Lock()
		defer mu.Unlock()
		if dead {
			return faults.Fault{Before: func() {}}
		}
		if step == "" {
			return faults.Fault{}
		}
		k.progress()
		switch writes[step]++; writes[step] {
		case 1:
			return faults.Fault{Before: die(step, "before")}
		case 2:
			return faults.Fault{After: die(step, "after")}
		}
		return faults.Fault{}
	}
}
