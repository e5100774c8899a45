// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	kuberecorder "k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link"
)

// Endpoints are the registration endpoint and the link of a parent. They are a Runnable of the
// manager, of the controller that leads.
type Endpoints struct {
	// Given is where children reach this parent; where it is nil, the PivotCluster of the
	// cluster itself says so, in its cell.
	Given *v1alpha1.Cell
	// Registration and Link are the addresses to listen at.
	Registration, Link string
	// Namespace is that of the controller.
	Namespace string

	serving
	current atomic.Pointer[place]
	// problem is why children are not served yet.
	problem atomic.Pointer[error]
}

// serving is what children are served with.
type serving struct {
	client   client.Client
	children *children
	// manifest returns what a machine of the control plane of a cluster applies.
	manifest func(ctx context.Context, c *v1alpha1.PivotCluster, token string) ([]byte, error)
	events   kuberecorder.EventRecorder
	now      func() time.Time
	log      logr.Logger
}

// NeedLeaderElection returns true: an agent is served by the controller that drives its pivot.
func (*Endpoints) NeedLeaderElection() bool { return true }

// prepare finds the cell, and reads or makes the authority. It returns nil if this cluster has no
// cell yet.
func (e *Endpoints) prepare(ctx context.Context) (*place, error) {
	cell, err := e.find(ctx)
	if err != nil || cell == nil {
		return nil, err
	}
	authority, err := e.authority().ensure(ctx)
	if err != nil {
		return nil, err
	}
	cells, err := e.authority().remember(ctx, *cell)
	if err != nil {
		return nil, err
	}
	return &place{cell, enrol.NewEndpoint(authority, hosts(cells), e.now)}, nil
}

// authority returns the Secret of the authority.
func (e *Endpoints) authority() authoritySecret {
	return authoritySecret{client: e.client, namespace: e.Namespace, now: e.now}
}

// find returns the cell; nil if there is none.
func (e *Endpoints) find(ctx context.Context) (*v1alpha1.Cell, error) {
	if e.Given != nil {
		return e.Given, nil
	}
	own, err := e.children.store.own(ctx)
	if err != nil || own == nil {
		return nil, err
	}
	return own.Spec.Cell, nil
}

// look is how often the cell and the authority are looked at.
const look = 10 * time.Second

// Start serves until ctx ends.
func (e *Endpoints) Start(ctx context.Context) error {
	at := e.awaitPlace(ctx)
	if at == nil {
		return nil // It has ended.
	}

	// Make both servers, and listen before agents and the reconciler can find them.
	registration, server, err := e.servers(at)
	if err != nil {
		return err
	}
	first, err := listen(ctx, e.Registration)
	if err != nil {
		return err
	}
	second, err := listen(ctx, e.Link)
	if err != nil {
		return errors.Join(err, first.Close())
	}

	// From here on children can be given this place.
	e.children.serve(server)
	e.current.Store(at)
	e.log.Info("serving children", "registration", e.Registration, "link", e.Link, "host", at.cell.Host)

	// Serve until one of both servers ends, which ends the other one.
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 2)
	go func() { ended <- registration.Serve(ctx, first) }()
	go func() { ended <- server.Serve(ctx, second) }()
	go e.follow(ctx, at.endpoint, listeners{portOf(first), portOf(second)})
	err = <-ended
	stop()
	return errors.Join(err, <-ended)
}

// awaitPlace waits until there is a cell and an authority. It returns nil if ctx ends before.
func (e *Endpoints) awaitPlace(ctx context.Context) *place {
	for {
		at, err := e.prepare(ctx)
		if at != nil {
			return at
		}
		if err != nil {
			e.log.Error(err, "children are not served")
		}
		e.problem.Store(&err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(look):
		}
	}
}

// servers returns what agents enrol at, and what they call.
func (e *Endpoints) servers(at *place) (*enrol.Server, *link.Server, error) {
	server, err := link.NewServer(link.ServerOptions{
		TLS: at.endpoint.TLS(tls.RequireAndVerifyClientCert, "h2"), Authorize: e.children.authorize, Session: e.children.nextSession, Events: e.children.events(),
		Pins: func() []string { return at.endpoint.Authority().Trust().Pins }, Log: e.log.WithName("link"),
	})
	registration := &enrol.Server{
		Parent: e.children.parent, Endpoint: at.endpoint, Store: e.children.store, Manifest: e.manifest, Log: e.log.WithName("registration"), Now: e.now,
		Event: func(c *v1alpha1.PivotCluster, kind, reason, message string) { e.events.Event(c, kind, reason, message) },
	}
	return registration, server, err
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", address)
}

// follow applies edits of the cell and rotations of the authority to the endpoint, and rotates the
// authority. A Secret that is gone changes nothing, because another authority would strand all
// agents.
func (e *Endpoints) follow(ctx context.Context, endpoint *enrol.Endpoint, at listeners) {
	for {
		if err := e.refresh(ctx, endpoint, at); err != nil && ctx.Err() == nil {
			e.log.Error(err, "the endpoints for children stay as they are")
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(look):
		}
	}
}

// refresh reads the Secret of the authority and the cell, and serves what they say.
func (e *Endpoints) refresh(ctx context.Context, endpoint *enrol.Endpoint, at listeners) error {
	// The authority of the Secret is used, and agents are asked to trust it.
	secret, a, err := e.authority().read(ctx)
	if err != nil {
		return err
	}
	endpoint.Use(a)
	e.children.follow(ctx, a.Trust().Pins)
	if err := e.rotate(ctx, secret); err != nil {
		return err
	}

	// The certificate is of the hosts of all cells that children were given.
	cell, err := e.find(ctx)
	if err != nil || cell == nil {
		return err // A PivotCluster that is deleted leaves the cell as it was.
	}
	cells, err := e.authority().remember(ctx, *cell)
	if err != nil {
		return err
	}
	endpoint.Serve(hosts(cells))
	e.current.Store(&place{cell, endpoint})

	// The Service of a cell that is given is that of the user.
	if e.Given != nil {
		return nil
	}
	return e.client.Apply(ctx, service(e.Namespace, cells, at), owner, client.ForceOwnership)
}

// rotate takes the next step of a rotation that a user wants, and writes and reports it. The
// authority is used only when the Secret is read again, so that the Secret always has what is used.
func (e *Endpoints) rotate(ctx context.Context, secret *corev1.Secret) error {
	if !wantsRotation(secret) {
		return nil
	}
	agents, err := findStandings(ctx, e.children.store.cache, e.children.child)
	if err != nil {
		return err
	}
	message, err := rotateSecret(secret, agents, e.now())
	if err != nil || message == "" {
		return err
	}
	if err := e.client.Update(ctx, secret, owner); err != nil {
		return err
	}
	e.log.Info("rotation of the authority", "rotation", secret.Annotations[RotateAnnotation], "message", message)
	e.events.Event(secret, corev1.EventTypeNormal, "Rotation", message)
	return nil
}

// placeOf returns where the child of a PivotCluster reaches this cluster, or why it cannot. A
// controller that serves no children has no Endpoints.
func (e *Endpoints) placeOf(ctx context.Context, c *v1alpha1.PivotCluster) (*place, error) {
	if e == nil {
		return nil, reject("this controller serves no children")
	}

	// A PivotCluster that names a cell names that of this cluster.
	own, err := e.children.store.own(ctx)
	if err != nil {
		return nil, err
	}
	if ref := c.Spec.CellRef; ref != nil && own == nil {
		return nil, reject("spec.cellRef: this cluster has no PivotCluster of its own, as %q would be: remove cellRef, or create this PivotCluster on the cluster %q", ref.Name, ref.Name)
	} else if ref != nil && ref.Name != own.Name {
		return nil, reject("spec.cellRef: expected %q, the PivotCluster of this cluster: correct it, or create this PivotCluster on the cluster %q", own.Name, ref.Name)
	}

	// Explain what keeps the endpoints from being served.
	at := e.current.Load()
	switch {
	case at != nil:
		return at, nil
	case e.Given == nil && own == nil:
		return nil, reject("this cluster cannot have children: it has no PivotCluster of its own, which may have spec.cell; start the controller with --cell-host")
	case e.Given == nil && own.Spec.Cell == nil:
		return nil, reject("this cluster cannot have children: add spec.cell to its own PivotCluster, %q", own.Name)
	}
	if why := e.problem.Load(); why != nil && *why != nil {
		return nil, fmt.Errorf("children are not served: %w", *why)
	}
	return nil, errors.New("the endpoints for children are not served yet")
}
