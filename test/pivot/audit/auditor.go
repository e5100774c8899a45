// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/ropewalk/ropewalk/test/pivot/harness"
)

const (
	// every is the time between polls.
	every = 100 * time.Millisecond
	// timeout is how long a plane may take to answer a poll.
	timeout = 2 * time.Second
	// gap is a time between two polls that is told of: longer than a plane that does not
	// answer holds up the other.
	gap = timeout + time.Second
)

// Log is what a program has said so far.
type Log struct {
	Name string
	Text func() string
}

// Auditor observes one Cluster from Start until Stop.
type Auditor struct {
	cluster *harness.Cluster
	cloud   *harness.Cloud
	planes  []*observer
	first   harness.Machines
	secrets needles

	stop    chan struct{}
	running sync.WaitGroup

	mu     sync.Mutex
	logs   []Log
	report Report
}

// Start records the objects that the plane in charge has of a Cluster, the machines that the
// cloud has of it and all secrets, and observes until Stop. Bearer tokens of kubeconfigs are
// given by the caller.
func Start(t testing.TB, w *harness.World, c *harness.Cluster, inCharge *harness.Plane, tokens ...string) *Auditor {
	t.Helper()
	return Between(t, w, c, [2]*harness.Plane{w.A, w.B}, inCharge, tokens...)
}

// Between is Start for a Cluster that moves between two other planes.
func Between(t testing.TB, w *harness.World, c *harness.Cluster, planes [2]*harness.Plane, inCharge *harness.Plane, tokens ...string) *Auditor {
	t.Helper()
	ctx := w.Context()
	a := &Auditor{cluster: c, cloud: w.Cloud, stop: make(chan struct{}), secrets: needles{}}
	for _, p := range planes {
		o, err := newObserver(ctx, p.Name, p.Config, c)
		require.NoError(t, err)
		a.planes = append(a.planes, o)
		a.secrets.kubeconfig("kubeconfig of plane "+p.Name, p.Config)
	}
	for i, token := range tokens {
		a.secrets.add(fmt.Sprintf("token %d", i), token)
	}
	at := slices.IndexFunc(a.planes, func(o *observer) bool { return o.name == inCharge.Name })
	set, err := a.planes[at].record(ctx, a.secrets)
	require.NoError(t, err)
	for _, o := range a.planes {
		o.want = set
	}
	a.first, err = a.cloud.Of(ctx, c.Namespace, c.Name)
	require.NoError(t, err)
	require.NotEmpty(t, a.first.Machines, "the cloud has no machines")
	a.report = Report{Began: time.Now(), Objects: len(set), Machines: len(a.first.Machines), Needles: len(a.secrets), Unknown: map[string]int{}}
	a.running.Go(func() { a.repeat(ctx, every, a.poll) })
	a.running.Go(func() { a.repeat(ctx, time.Second, a.search) })
	return a
}

// Set are the objects that were recorded at the start, sorted.
func (a *Auditor) Set() []ID { return a.planes[0].want.sorted() }

// Watch has a log looked through from now on.
func (a *Auditor) Watch(log Log) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.logs = append(a.logs, log)
}

// Polled waits until the planes were looked at n times more.
func (a *Auditor) Polled(t testing.TB, n int) {
	t.Helper()
	polls := func() int {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.report.Polls
	}
	until := polls() + n
	harness.Await(t, time.Minute, "the auditor looks at the planes", func() bool { return polls() >= until })
}

// Stop is End that prints the report.
func (a *Auditor) Stop(t testing.TB) Report {
	t.Helper()
	report := a.End(t)
	t.Logf("%s", report)
	return report
}

// End looks through everything once more and gives the report.
func (a *Auditor) End(t testing.TB) Report {
	t.Helper()
	close(a.stop)
	a.running.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
	defer cancel()
	a.poll(ctx)
	a.search(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.report.Ended = time.Now()
	return a.report
}

// repeat does something until Stop.
func (a *Auditor) repeat(ctx context.Context, every time.Duration, do func(context.Context)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for last := time.Now(); ; last = time.Now() {
		do(ctx)
		select {
		case <-a.stop:
			return
		case <-ctx.Done(): // the run ends without a Stop
			return
		case <-tick.C:
		}
		if since := time.Since(last); since > every+gap {
			a.mu.Lock()
			a.report.Gaps = append(a.report.Gaps, Gap{last, since})
			a.mu.Unlock()
		}
	}
}

// poll looks at I1, I2 and I3 once.
func (a *Auditor) poll(ctx context.Context) {
	began := time.Now()
	var seen [2]view
	var there harness.Machines
	var cloudErr error
	var read sync.WaitGroup
	read.Go(func() { seen[0] = a.look(ctx, 0) })
	read.Go(func() { seen[1] = a.look(ctx, 1) })
	read.Go(func() { there, cloudErr = a.cloud.Of(ctx, a.cluster.Namespace, a.cluster.Name) })
	read.Wait()
	both := func(is func(view) bool) bool {
		return is(seen[0]) && is(seen[1]) && is(a.look(ctx, 0)) && is(a.look(ctx, 1)) && is(a.look(ctx, 0))
	}
	active := both(view.active)
	incomplete := !active && both(view.incomplete)
	a.mu.Lock()
	defer a.mu.Unlock()
	r := &a.report
	r.Polls++
	r.Longest = max(r.Longest, time.Since(began))
	for i, v := range seen {
		if v.err != nil {
			r.Unknown[a.planes[i].name]++
		}
	}
	if active {
		r.violate("I1", "both planes have the Cluster without a pause")
	}
	if incomplete {
		r.violate("I2", fmt.Sprintf("no plane is complete: %s lacks %s, %s lacks %s",
			a.planes[0].name, seen[0].lacking(), a.planes[1].name, seen[1].lacking()))
	}
	if cloudErr != nil {
		r.Unknown["cloud"]++
	} else {
		for _, text := range differences(a.first, there) {
			r.violate("I3", text)
		}
	}
	r.see([]string{a.planes[0].name, a.planes[1].name}, seen[:])
}

func (a *Auditor) look(ctx context.Context, i int) view {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return a.planes[i].look(ctx)
}

// differences are what became of the machines of the cloud.
func differences(before, now harness.Machines) []string {
	var out []string
	for name, created := range before.Machines {
		again, there := now.Machines[name]
		switch {
		case !there:
			out = append(out, "the cloud has no machine "+name+" any more")
		case !again.Equal(created):
			out = append(out, "machine "+name+" was made again")
		}
	}
	for _, event := range now.Journal[min(len(before.Journal), len(now.Journal)):] {
		out = append(out, fmt.Sprintf("machine %s was %s", event.Name, event.Event))
	}
	slices.Sort(out)
	return out
}

// search looks at I4 once.
func (a *Auditor) search(ctx context.Context) {
	a.mu.Lock()
	logs := slices.Clone(a.logs)
	a.mu.Unlock()
	var found []string
	for _, log := range logs {
		found = append(found, a.secrets.in("the log of "+log.Name, log.Text())...)
	}
	for _, o := range a.planes {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		found = append(found, o.search(ctx, a.secrets)...)
		cancel()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, text := range found {
		a.report.violate("I4", text)
	}
	a.report.Searches++
}

// unlimited is a configuration of a client of the auditor's own.
func unlimited(config *rest.Config) *rest.Config {
	own := rest.CopyConfig(config)
	own.QPS, own.UserAgent = -1, "auditor"
	return own
}
