// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// concurrent is how many pivots a parent drives at once; others wait.
const concurrent = 50

// pivots are those that this process drives. What they have reached is in their receipts.
type pivots struct {
	// ctx ends with the process, or with its lease.
	ctx   context.Context //nolint:containedctx // it is that of the goroutines
	wake  func(name string)
	slots chan struct{}

	mu  sync.Mutex
	all map[types.UID]*driving
}

// driving is one pivot.
type driving struct {
	ended   bool
	err     error
	message string
}

func newPivots(ctx context.Context, wake func(name string)) *pivots {
	return &pivots{ctx: ctx, wake: wake, slots: make(chan struct{}, concurrent), all: map[types.UID]*driving{}}
}

// drive begins a pivot where this process does not drive it yet. It returns a copy of what it
// knows of it; a pivot that has ended is forgotten with that.
func (p *pivots) drive(c *v1alpha1.PivotCluster, run func(context.Context, func(state.Event)) error) driving {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.all[c.UID]
	if d != nil && d.ended {
		delete(p.all, c.UID)
		return *d
	}
	if d == nil {
		d = &driving{message: "the pivot waits for others"}
		p.all[c.UID] = d
		go p.run(c.Name, d, run)
	}
	return *d
}

func (p *pivots) run(name string, d *driving, run func(context.Context, func(state.Event)) error) {
	var err error
	select {
	case p.slots <- struct{}{}:
		err = run(p.ctx, func(e state.Event) { p.report(name, d, e) })
		<-p.slots
	case <-p.ctx.Done():
		err = p.ctx.Err()
	}
	p.mu.Lock()
	d.ended, d.err = true, err
	p.mu.Unlock()
	p.wake(name)
}

// report keeps what a user sees of a pivot that is under way.
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

// pivot begins the move of the Cluster API objects, or goes on with it.
func (r *Reconciler) pivot(ctx context.Context, c *v1alpha1.PivotCluster, receipt *state.Receipt) error {
	resume := receipt != nil && !receipt.Step.Ended()
	if !resume && !r.retries(c, receipt) {
		return nil
	}
	snapshot := c.DeepCopy()
	d := r.pivots.drive(c, func(ctx context.Context, report func(state.Event)) error {
		source := &state.Source{
			Plane: r.plane, Link: r.children.link(c.UID), Cluster: r.cluster(c), GitOps: r.gitOps(snapshot),
			Resume: resume, Hold: r.Hold, Report: report,
		}
		_, err := source.Run(ctx)
		return err
	})
	set(c, v1alpha1.PivotedCondition, false, "Pivoted", d.message)
	if !d.ended {
		r.progress(c, v1alpha1.PhasePivoting, d.message)
		return nil
	}
	return r.ended(ctx, c, d.err)
}

// ended says how a pivot of this process ended. What it has reached the next look finds in
// the receipt.
func (r *Reconciler) ended(ctx context.Context, c *v1alpha1.PivotCluster, err error) error {
	var findings inventory.Findings
	switch {
	case err == nil:
		r.Events.Event(c, corev1.EventTypeNormal, "Pivoted", "the cluster is in charge of itself")
		r.progress(c, v1alpha1.PhasePivoting, "the cluster is in charge of itself")
		return nil
	case errors.Is(err, context.Canceled):
		return nil
	}
	log.FromContext(ctx).Info("the pivot stopped", "reason", err.Error())
	r.Events.Event(c, corev1.EventTypeWarning, "PivotFailed", err.Error())
	if errors.As(err, &findings) {
		return &rejection{fmt.Sprintf("the pivot is refused: %s", findings)}
	}
	return err
}

// retries reports whether a pivot may begin: one that was aborted does after a while.
func (r *Reconciler) retries(c *v1alpha1.PivotCluster, receipt *state.Receipt) bool {
	if receipt == nil {
		return true
	}
	last := receipt.Marks[len(receipt.Marks)-1]
	if wait := again - r.Now().Sub(last.At); wait > 0 {
		r.progress(c, v1alpha1.PhasePivoting, fmt.Sprintf("the pivot was aborted, and begins again: %s", last.Note))
		return false
	}
	return true
}
