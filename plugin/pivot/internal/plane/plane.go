// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
)

// Options configure a Plane; the zero value is good.
type Options struct {
	// Name names the plane in errors, such as "source".
	Name string
	// Server is the address of the API server, for the audit of a takeover.
	Server string
	// Patience bounds how long a request is repeated, 2 minutes by default.
	Patience time.Duration
	// Sleep waits for d, or until ctx ends; a timer if nil.
	Sleep func(ctx context.Context, d time.Duration) error
	// Waits receives the reason of a wait that lasts longer than Silence, and again as long as it
	// lasts. It may be nil, and is called for one wait at a time.
	Waits func(what string)
	// Parallel bounds the requests that run at once in Each, 8 by default.
	Parallel int
	// Discover reads a discovery document of the server, as JSON; it may be nil.
	Discover func(ctx context.Context, path string) ([]byte, error)
	// Metadata lists the metadata of objects; it may be nil.
	Metadata metadata.Interface
}

// Plane is an API server. Several goroutines can use it at once.
type Plane struct {
	client  dynamic.Interface
	options Options
	waits   *rate.Sometimes
}

// Silence is the time until a wait is reported, and between two such reports.
const Silence = 10 * time.Second

// New returns the plane of a client.
func New(client dynamic.Interface, o Options) *Plane {
	if o.Patience == 0 {
		o.Patience = 2 * time.Minute
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	if o.Parallel == 0 {
		o.Parallel = 8
	}
	return &Plane{client: client, options: o, waits: &rate.Sometimes{Interval: Silence}}
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Name returns the name of the plane in errors.
func (p *Plane) Name() string { return p.options.Name }

// Server returns the address of the API server.
func (p *Plane) Server() string { return p.options.Server }

// Sleep waits for d, or until ctx ends.
func (p *Plane) Sleep(ctx context.Context, d time.Duration) error { return p.options.Sleep(ctx, d) }

// Wait reports the reason of a long wait, unless another wait was reported within Silence.
func (p *Plane) Wait(what string) {
	if p.options.Waits != nil {
		p.waits.Do(func() { p.options.Waits(what) })
	}
}

// Within returns the plane with another patience, which is never longer than its own.
func (p *Plane) Within(patience time.Duration) *Plane {
	out := *p
	out.options.Patience = min(patience, p.options.Patience)
	return &out
}

// UID returns the UID of the namespace kube-system, which identifies the cluster of the API server
// for good.
func (p *Plane) UID(ctx context.Context) (string, error) {
	o, err := p.Get(ctx, NamespaceKind, Ref{Kind: "Namespace", Name: metav1.NamespaceSystem})
	if err != nil {
		return "", fmt.Errorf("%s plane: %w", p.Name(), err)
	}
	return string(o.GetUID()), nil
}

// resource returns the API of a kind, in the version that k names.
func (p *Plane) resource(k Kind, namespace string) dynamic.ResourceInterface {
	resources := p.client.Resource(schema.GroupVersionResource{Group: k.Group, Version: k.Version, Resource: k.Resource})
	if !k.Namespaced || namespace == "" {
		return resources
	}
	return resources.Namespace(namespace)
}

// repeat calls f until it succeeds, fails for good, or the patience is over.
func (p *Plane) repeat(ctx context.Context, f func(context.Context) error) error {
	return p.repeatIf(ctx, f, temporary)
}

// repeatIf calls f until it succeeds, fails with an error for which retry is false, or the
// patience is over. It returns the last error.
func (p *Plane) repeatIf(ctx context.Context, f func(context.Context) error, retry func(error) bool) error {
	const shortest, longest = 20 * time.Millisecond, 2 * time.Second
	wait := shortest

	// A single request may hang for longer than Silence as well.
	silence := time.AfterFunc(Silence, func() {
		p.Wait(fmt.Sprintf("waiting for the API server of the %s plane to answer", p.Name()))
	})
	defer silence.Stop()
	for waited := time.Duration(0); ; {
		err := f(ctx)
		isOver := ctx.Err() != nil || waited >= p.options.Patience
		if err == nil || isOver || !retry(err) {
			return err
		}

		// Wait for longer each time, or as long as the server asks.
		if waited >= Silence {
			p.Wait(fmt.Sprintf("waiting for the API server of the %s plane, up to %s: %v", p.Name(), p.options.Patience, err))
		}
		pause := wait
		if after, ok := apierrors.SuggestsClientDelay(err); ok {
			pause = max(pause, min(time.Duration(after)*time.Second, longest))
		}
		if p.options.Sleep(ctx, pause) != nil {
			return err
		}
		waited += pause
		wait = min(2*wait, longest)
	}
}

// Get reads an object.
func (p *Plane) Get(ctx context.Context, k Kind, r Ref) (o *unstructured.Unstructured, err error) {
	err = p.repeat(ctx, func(ctx context.Context) error {
		o, err = p.resource(k, r.Namespace).Get(ctx, r.Name, metav1.GetOptions{})
		return err
	})
	return o, err
}

// pageSize bounds the memory of a page of a list.
const pageSize = 50

// List calls f with each object of a kind in a namespace; "" stands for all namespaces, and for a
// kind without namespaces. Size bounds the objects of a page; 0 stands for 50.
func (p *Plane) List(ctx context.Context, k Kind, namespace string, size int64, f func(*unstructured.Unstructured) error) error {
	return p.list(ctx, k, namespace, metav1.ListOptions{Limit: cmp.Or(size, pageSize)}, f)
}

// Select calls f with each object of a kind in a namespace that a label selector matches. Size
// bounds the objects of a page, as in List.
func (p *Plane) Select(ctx context.Context, k Kind, namespace, labels string, size int64, f func(*unstructured.Unstructured) error) error {
	return p.list(ctx, k, namespace, metav1.ListOptions{Limit: cmp.Or(size, pageSize), LabelSelector: labels}, f)
}

// list calls f with each object of a list, page by page.
func (p *Plane) list(ctx context.Context, k Kind, namespace string, options metav1.ListOptions, f func(*unstructured.Unstructured) error) error {
	for {
		var page *unstructured.UnstructuredList
		err := p.repeat(ctx, func(ctx context.Context) (err error) {
			page, err = p.resource(k, namespace).List(ctx, options)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s plane: listing %s: %w", p.Name(), k.GroupKind(), err)
		}
		for i := range page.Items {
			if err := f(&page.Items[i]); err != nil {
				return err
			}
		}
		options.Continue = page.GetContinue()
		if options.Continue == "" {
			return nil
		}
	}
}

// Create creates an object, and returns it as the server has stored it, or the server's error.
// AlreadyExists may also be the answer to a request that was repeated.
func (p *Plane) Create(ctx context.Context, k Kind, o *unstructured.Unstructured, options metav1.CreateOptions) (created *unstructured.Unstructured, err error) {
	// A new object cannot be in conflict with another write, so a conflict is temporary too.
	retry := func(err error) bool { return temporary(err) || isConflict(err) }
	err = p.repeatIf(ctx, func(ctx context.Context) error {
		created, err = p.resource(k, o.GetNamespace()).Create(ctx, o, options)
		return err
	}, retry)
	return created, err
}

// ErrUnchanged is returned by the function of Update for an object that needs no change.
var ErrUnchanged = errors.New("unchanged")

// Update reads an object, lets change alter it, and writes it with the resourceVersion that was
// read. After a conflict it begins again. If change returns ErrUnchanged, nothing is written.
func (p *Plane) Update(ctx context.Context, k Kind, r Ref, options metav1.UpdateOptions, change func(*unstructured.Unstructured) error) (*unstructured.Unstructured, error) {
	var out *unstructured.Unstructured
	err := p.repeatIf(ctx, func(ctx context.Context) error {
		o, err := p.resource(k, r.Namespace).Get(ctx, r.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := change(o); errors.Is(err, ErrUnchanged) {
			out = o
			return nil
		} else if err != nil {
			return err
		}
		out, err = p.resource(k, r.Namespace).Update(ctx, o, options)
		return err
	}, func(err error) bool { return temporary(err) || isConflict(err) })
	return out, err
}

// Replace writes an object with the resourceVersion that it has. A conflict is returned, also if it
// was caused by an earlier attempt whose answer was lost.
func (p *Plane) Replace(ctx context.Context, k Kind, o *unstructured.Unstructured) (out *unstructured.Unstructured, err error) {
	err = p.repeat(ctx, func(ctx context.Context) error {
		out, err = p.resource(k, o.GetNamespace()).Update(ctx, o, metav1.UpdateOptions{})
		return err
	})
	return out, err
}

// Delete deletes an object with its UID and, if it has one, at its resourceVersion. An object that
// is gone is no error.
func (p *Plane) Delete(ctx context.Context, k Kind, o *unstructured.Unstructured) error {
	uid, version := o.GetUID(), o.GetResourceVersion()
	background := metav1.DeletePropagationBackground
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &background}
	if version != "" {
		options.Preconditions.ResourceVersion = &version
	}
	err := p.repeat(ctx, func(ctx context.Context) error {
		return p.resource(k, o.GetNamespace()).Delete(ctx, o.GetName(), options)
	})
	return IgnoreNotFound(err)
}

// Remove reads an object, lets prepare alter it, writes it, and deletes it at the UID and
// resourceVersion that it has then. After a conflict it begins again. If prepare returns
// ErrUnchanged, the object is deleted without a write before; after another error nothing is
// deleted. An object that is gone is no error.
func (p *Plane) Remove(ctx context.Context, k Kind, r Ref, options metav1.UpdateOptions, prepare func(*unstructured.Unstructured) error) error {
	err := p.repeatIf(ctx, func(ctx context.Context) error {
		o, err := p.resource(k, r.Namespace).Get(ctx, r.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := prepare(o); err == nil {
			o, err = p.resource(k, r.Namespace).Update(ctx, o, options)
			if err != nil {
				return err
			}
		} else if !errors.Is(err, ErrUnchanged) {
			return err
		}
		return p.Delete(ctx, k, o)
	}, func(err error) bool { return temporary(err) || isConflict(err) })
	return IgnoreNotFound(err)
}

// Each calls f for 0 to n-1, several at once, and returns all errors in that order. If one fails,
// the others go on.
func (p *Plane) Each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	errs := make([]error, n)
	var group errgroup.Group
	group.SetLimit(p.options.Parallel)
	for i := range n {
		group.Go(func() error {
			errs[i] = ctx.Err()
			if errs[i] == nil {
				errs[i] = f(ctx, i)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return errors.Join(errs...)
}
