// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
)

// Patience bounds a wait, and reports its reason.
type Patience struct {
	// Timeout bounds the whole wait; it must be set.
	Timeout time.Duration
	// Report receives the reason of the wait, whenever that changes; it may be nil.
	Report func(what string)
}

// bound returns a context that ends with the patience.
func (p Patience) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, p.Timeout, errLate)
}

// errLate ends a wait after its Timeout.
var errLate = errors.New("the time is over")

// check reports whether an object is in the wanted state, and otherwise what it waits for. Its error
// means that the object will not get there by itself.
type check func(o *item) (done bool, waits string, err error)

// await returns an object once it passes a check. It watches the object. If a watch ends, as it does
// after [kubeconfig.Timeout], or the server is away, it begins another watch.
func (c *Cluster) await(ctx context.Context, p Patience, r Ref, is check) (*item, error) {
	// Report the reason of the wait, whenever it changes.
	waits := ""
	known := false
	look := func(o *item) (bool, error) {
		done, what, err := is(o)
		what = fmt.Sprintf("%s: %s", r, what)
		if !done && err == nil && what != waits {
			waits = what
			if p.Report != nil {
				p.Report(waits)
			}
		}
		return done, err
	}
	for {
		// An object that was read once may be away for a while, but not forbidden.
		o, done, err := c.follow(ctx, r, look)
		lasting := !known || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
		known = known || o != nil
		var state *Error
		switch {
		case errors.Is(context.Cause(ctx), errLate):
			advice := "look at it with ropewalk get tree, or give a longer --timeout"
			return o, failed(advice, "not Ready in %s: %s", p.Timeout, waits)
		case ctx.Err() != nil:
			return o, ctx.Err()
		case done:
			return o, nil
		case err != nil && (lasting || errors.As(err, &state)):
			return o, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// pause is the time between the end of a watch and the next watch.
const pause = 500 * time.Millisecond

// follow checks an object, and checks it again after each change, until look is done or returns an
// error, or the watch ends. It returns the last version of the object.
func (c *Cluster) follow(ctx context.Context, r Ref, look func(*item) (bool, error)) (o *item, done bool, err error) {
	// The object may be in the wanted state already.
	o, err = c.get(ctx, r)
	if err != nil {
		return nil, false, err
	}
	done, err = look(o)
	if done || err != nil {
		return o, done, err
	}

	// Watch from the version that was read.
	w, err := c.resource(r.Kind, r.Namespace).Watch(ctx, metav1.ListOptions{
		FieldSelector:   fields.OneTermEqualSelector("metadata.name", r.Name).String(),
		ResourceVersion: o.Metadata.ResourceVersion,
	})
	if err != nil {
		return o, false, fmt.Errorf("watching %s: %w", r, err)
	}
	defer w.Stop()
	defer context.AfterFunc(ctx, w.Stop)() // A watch may outlive its context.
	for event := range w.ResultChan() {
		seen, is := event.Object.(*unstructured.Unstructured)
		if !is || event.Type == watch.Deleted {
			return o, false, nil // The watch has ended, with a status or a deletion.
		}
		if seen.GetName() != r.Name {
			continue // Not every server selects by fields.
		}
		o, err = itemOf(seen)
		if err != nil {
			return nil, false, err
		}
		done, err = look(o)
		if done || err != nil {
			return o, done, err
		}
	}
	return o, false, nil
}

// isReady returns the check that an object is Ready at its present spec. If final is true, an
// object that is not Ready is an error even when its controller tries again by itself.
func isReady(final bool) check {
	return func(o *item) (bool, string, error) {
		c := o.ready()
		switch {
		case c.Status == metav1.ConditionTrue:
			return true, "", nil
		case o.Spec.Suspend:
			return false, "", failed(resuming(o.ref()), "%s is suspended, and not Ready at its present spec", o.ref())
		case o.stalled(), final && c.Status == metav1.ConditionFalse:
			return false, "", failed("", "%s is not Ready: %s: %s", o.ref(), c.Reason, c.Message)
		}
		return false, c.Message, nil
	}
}

// resuming returns how a user resumes an object.
func resuming(r Ref) string {
	if r.Kind == "Transform" {
		return fmt.Sprintf("resume it: ropewalk resume transform %s -n %s", r.Name, r.Namespace)
	}
	return "resume it with flux"
}

// Wait returns a Transform once it and all of its Kustomizations are Ready at their present spec. A
// Transform that is Stalled or suspended, or is not Ready in time, is an [Error].
func (c *Cluster) Wait(ctx context.Context, namespace, name string, p Patience) (*Transform, error) {
	ctx, cancel := p.bound(ctx)
	defer cancel()
	return c.wait(ctx, transformRef(namespace, name), p, isReady(false))
}

// wait waits for a Transform, and then for its Kustomizations.
func (c *Cluster) wait(ctx context.Context, r Ref, p Patience, is check) (*Transform, error) {
	t, err := c.await(ctx, p, r, is)
	if err != nil {
		return nil, err
	}
	layers, err := c.kustomizations(ctx, t)
	if err != nil {
		return nil, err
	}
	for _, k := range layers {
		_, err := c.await(ctx, p, k.ref(), isReady(false))
		var state *Error
		gone := errors.As(err, &state) && state.Absent // It was a layer before the last change.
		if err != nil && !gone {
			return nil, err
		}
	}
	return t.transform(), nil
}
