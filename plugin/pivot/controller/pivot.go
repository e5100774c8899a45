// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	kuberecorder "k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/readings"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// concurrent is how many pivots a parent drives at once; others wait.
const concurrent = 50

// pivots are those that this process drives. What they have reached is in their receipts.
type pivots struct {
	// ctx ends with the process, or with its lease.
	ctx   context.Context //nolint:containedctx // it is that of the goroutines
	wake  func(name string)
	count func(readings.Failure)
	slots chan struct{}

	mu  sync.Mutex
	all map[types.UID]*driving
	// failed are the pivots that ended before they had anything to resume.
	failed map[types.UID]failure
}

// driving is one pivot.
type driving struct {
	ended   bool
	err     error
	message string

	stop context.CancelFunc
	done chan struct{}
}

// failure is why a pivot did not begin, or was aborted.
type failure struct {
	at  time.Time
	err error
}

// kind returns what a user sees of the failure in the metrics.
func (f failure) kind() readings.Failure {
	var refused *rejection
	switch {
	case errors.As(f.err, &refused):
		return readings.Refused
	case errors.Is(f.err, state.ErrAborted):
		return readings.Aborted
	}
	return readings.Stopped
}

func newPivots(ctx context.Context, wake func(name string), count func(readings.Failure)) *pivots {
	return &pivots{ctx: ctx, wake: wake, count: count, slots: make(chan struct{}, concurrent), all: map[types.UID]*driving{}, failed: map[types.UID]failure{}}
}

// drive begins a pivot if this process does not drive it yet. It returns a copy of its state. A
// pivot that has ended is forgotten by this call.
func (p *pivots) drive(c *v1alpha1.PivotCluster, run func(context.Context, func(state.Event)) error) driving {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.all[c.UID]
	if d != nil && d.ended {
		delete(p.all, c.UID)
		return *d
	}
	if d == nil {
		ctx, stop := context.WithCancel(p.ctx)
		d = &driving{message: "the pivot waits for others", stop: stop, done: make(chan struct{})}
		p.all[c.UID] = d
		go p.run(ctx, c.Name, d, run)
	}
	return *d
}

func (p *pivots) run(ctx context.Context, name string, d *driving, run func(context.Context, func(state.Event)) error) {
	defer d.stop()
	var err error
	select {
	case p.slots <- struct{}{}:
		err = run(ctx, func(e state.Event) { p.report(name, d, e) })
		<-p.slots
	case <-ctx.Done():
		err = ctx.Err()
	}
	p.mu.Lock()
	d.ended, d.err = true, err
	p.mu.Unlock()
	close(d.done)
	p.wake(name)
}

// stop ends the work on a pivot at its step, waits until that has ended, and forgets the pivot.
func (p *pivots) stop(ctx context.Context, cluster types.UID) error {
	p.mu.Lock()
	d := p.all[cluster]
	delete(p.failed, cluster)
	p.mu.Unlock()
	if d == nil {
		return nil
	}
	d.stop()
	select {
	case <-d.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, cluster)
	return nil
}

// driven reports whether this process drives a pivot, or has not reported yet how it ended.
func (p *pivots) driven(cluster types.UID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all[cluster] != nil
}

// fail counts a pivot that failed, and keeps why, so that it does not begin again at once.
func (p *pivots) fail(cluster types.UID, f failure) {
	p.count(f.kind())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed[cluster] = f
}

// lastFailure returns how a pivot failed last; its error is nil if it did not fail.
func (p *pivots) lastFailure(cluster types.UID) failure {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed[cluster]
}

// report keeps the message that a user sees of a pivot that is under way.
func (p *pivots) report(name string, d *driving, e state.Event) {
	message := e.Message
	switch {
	case message == "" && e.Step != "":
		message = "finished step " + string(e.Step)
	case e.Of > 0:
		return // Counts are for terminals.
	}
	p.mu.Lock()
	changed := d.message != message
	d.message = message
	p.mu.Unlock()
	if changed && e.Step != "" {
		p.wake(name)
	}
}

// links carry the requests of pivots.
type links struct {
	children  *children
	installer installer
	now       func() time.Time
}

// of returns the link of a cluster: the one of its agent, or the API server of a child that is
// installed.
func (l links) of(ctx context.Context, c *v1alpha1.PivotCluster) (state.Link, error) {
	if !installs(c) {
		return l.children.link(c.UID), nil
	}
	at, err := l.installer.target(ctx, c)
	if err == nil && at == nil {
		err = errors.New("the kubeconfig of the cluster is gone")
	}
	if err != nil {
		return nil, err
	}
	return &state.Target{Plane: at.plane, Now: l.now}, nil
}

// mover moves the Cluster API objects to their cluster.
type mover struct {
	plane   *plane.Plane
	engines engines
	links   links
	pivots  *pivots
	events  kuberecorder.EventRecorder
	hold    time.Duration
	now     func() time.Time
}

// pivot begins to move the Cluster API objects, or goes on with it.
func (m mover) pivot(ctx context.Context, c *v1alpha1.PivotCluster, receipt *state.Receipt) error {
	resume := receipt != nil && !receipt.Step.Ended()
	// One that has just ended is reported first.
	if !m.pivots.driven(c.UID) {
		why, err := m.delay(c, receipt, resume)
		if err != nil {
			return err
		}
		if why != "" {
			setProgress(c, v1alpha1.PhasePivoting, why)
			return nil
		}
	}

	// Drive it in the background, once per cluster.
	link, err := m.links.of(ctx, c)
	if err != nil {
		return err
	}
	// It outlives this look, which writes the status into c.
	snapshot := c.DeepCopy()
	d := m.pivots.drive(c, func(ctx context.Context, report func(state.Event)) error {
		source := &state.Source{
			Plane: m.plane, Link: link, Cluster: keyOf(snapshot), GitOps: m.engines.of(snapshot),
			Resume: resume, Hold: m.hold, Now: m.now, Report: report,
		}
		_, err := source.Run(ctx)
		return err
	})

	// Report how far it is, or how it ended.
	set(c, v1alpha1.PivotedCondition, false, "Pivoted", d.message)
	if !d.ended {
		setProgress(c, v1alpha1.PhasePivoting, d.message)
		return nil
	}
	return m.reportEnd(ctx, c, d.err)
}

// delay returns why a pivot must wait before it begins or goes on; "" if it need not.
func (m mover) delay(c *v1alpha1.PivotCluster, receipt *state.Receipt, resume bool) (why string, err error) {
	last := m.pivots.lastFailure(c.UID)
	if resume {
		return delayResume(receipt, last, m.now()), nil
	}
	return delayBegin(receipt, last, m.now())
}

// delayResume returns why a pivot that has failed must wait before it goes on; "" if it need not.
// It may fail at once each time.
func delayResume(receipt *state.Receipt, last failure, now time.Time) (why string) {
	if last.err == nil || now.Sub(last.at) >= retryAfter {
		return ""
	}
	return fmt.Sprintf("the pivot stopped after step %s, and goes on in %s: %s", receipt.Step, retryAfter, last.err)
}

// delayBegin returns why a pivot must wait before it begins; "" if it need not. A pivot that was
// refused or aborted begins again after a minute. The error is the refusal.
func delayBegin(receipt *state.Receipt, last failure, now time.Time) (why string, err error) {
	var refused *rejection
	if errors.As(last.err, &refused) && now.Sub(last.at) < again {
		return "", refused
	}
	if receipt == nil || now.Sub(receipt.When(receipt.Step)) >= again {
		return "", nil
	}
	why = "see the events"
	for _, m := range receipt.Marks {
		why = cmp.Or(m.Note, why)
	}
	if last.err != nil {
		why = last.err.Error()
	}
	return "the pivot was aborted, and begins again: " + why, nil
}

// reportEnd reports how a pivot of this process ended. The next reconciliation finds in the
// receipt what the pivot has reached.
func (m mover) reportEnd(ctx context.Context, c *v1alpha1.PivotCluster, err error) error {
	var findings inventory.Findings
	switch {
	case err == nil:
		m.events.Event(c, corev1.EventTypeNormal, "Pivoted", "the cluster is in charge of itself")
		setProgress(c, v1alpha1.PhasePivoting, "the cluster is in charge of itself")
		return nil
	case errors.Is(err, context.Canceled):
		return nil
	}
	if errors.As(err, &findings) {
		err = &rejection{fmt.Sprintf("the pivot is refused: %s", findings)}
	}
	m.pivots.fail(c.UID, failure{m.now(), err})
	why := shorten(err.Error())
	log.FromContext(ctx).Info("the pivot stopped", "reason", why)
	m.events.Event(c, corev1.EventTypeWarning, "PivotFailed", why)
	return err
}
