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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link"
)

// AuthoritySecret is the Secret of the authority of a parent, in the namespace of the
// controller.
const AuthoritySecret = "ropewalk-pivot-authority" //nolint:gosec // the name of a Secret

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

	reconciler *Reconciler
	log        logr.Logger
	current    atomic.Pointer[place]
	// problem is why children are not served yet.
	problem atomic.Pointer[error]
}

// place is where children reach a parent, and by which certificates.
type place struct {
	cell     *v1alpha1.Cell
	endpoint *enrol.Endpoint
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
	authority, err := e.ensureAuthority(ctx)
	if err != nil {
		return nil, err
	}
	cells, err := e.remember(ctx, cell)
	if err != nil {
		return nil, err
	}
	return &place{cell, enrol.NewEndpoint(authority, hosts(cells), e.reconciler.Now)}, nil
}

// find returns the cell; nil if there is none.
func (e *Endpoints) find(ctx context.Context) (*v1alpha1.Cell, error) {
	if e.Given != nil {
		return e.Given, nil
	}
	own, err := e.reconciler.children.store.own(ctx)
	if err != nil || own == nil {
		return nil, err
	}
	return own.Spec.Cell, nil
}

// readAuthority returns the Secret of the authority, and the authority in it.
func (e *Endpoints) readAuthority(ctx context.Context) (*corev1.Secret, *enrol.Authority, error) {
	live := &corev1.Secret{}
	if err := e.reconciler.client.Get(ctx, types.NamespacedName{Namespace: e.Namespace, Name: AuthoritySecret}, live); err != nil {
		return nil, nil, err
	}
	a, err := enrol.DecodeAuthority(live.Data)
	return live, a, err
}

// ensureAuthority returns the authority of the Secret. It makes one if there is no Secret, or if
// the Secret is empty.
func (e *Endpoints) ensureAuthority(ctx context.Context) (*enrol.Authority, error) {
	live, a, err := e.readAuthority(ctx)
	gone := apierrors.IsNotFound(err)
	if !gone && (live == nil || len(live.Data) > 0) {
		return a, err
	}

	// A new authority must not strand agents of the lost one.
	if gone {
		if err := e.checkStranded(ctx); err != nil {
			return nil, err
		}
	}

	// Make an authority, and write it before it is used.
	made, err := enrol.NewAuthority(e.reconciler.Now())
	if err != nil {
		return nil, err
	}
	data, err := made.Encode()
	if err != nil {
		return nil, err
	}
	if !gone {
		live.Data = data
		return made, e.reconciler.client.Update(ctx, live, owner)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: AuthoritySecret}, Data: data}
	if err := e.reconciler.client.Create(ctx, secret, owner); apierrors.IsAlreadyExists(err) {
		_, a, err = e.readAuthority(ctx) // Another controller was first.
		return a, err
	} else if err != nil {
		return nil, err
	}
	return made, nil
}

// checkStranded returns an error if agents have certificates of an authority that was lost: they
// would accept no other one.
func (e *Endpoints) checkStranded(ctx context.Context) error {
	var list v1alpha1.PivotClusterList
	if err := e.reconciler.client.List(ctx, &list); err != nil {
		return err
	}
	n := 0
	for _, c := range list.Items {
		if c.Status.Enrolment != nil && c.Status.Enrolment.PublicKey != "" {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("the Secret %s/%s is gone, and the agents of %d PivotClusters take no other authority than that: restore it from a backup; or create it without data, change spec.agent.rejoin of all of them, and give each agent its new token",
		e.Namespace, AuthoritySecret, n)
}

// look is how often the cell and the authority are looked at.
const look = 10 * time.Second

// Start serves until ctx ends.
func (e *Endpoints) Start(ctx context.Context) error {
	// Wait until there is a cell and an authority.
	var at *place
	for {
		var err error
		at, err = e.prepare(ctx)
		if at != nil {
			break
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

	// Make both servers, and listen before agents and the reconciler can find them.
	r := e.reconciler
	server, err := link.NewServer(link.ServerOptions{
		TLS: at.endpoint.TLS(tls.RequireAndVerifyClientCert, "h2"), Authorize: r.children.authorize, Session: r.children.nextSession, Events: r.children.events(),
		Pins: func() []string { return at.endpoint.Authority().Trust().Pins }, Log: e.log.WithName("link"),
	})
	if err != nil {
		return err
	}
	registration := &enrol.Server{
		Parent: r.uid, Endpoint: at.endpoint, Store: r.children.store, Manifest: r.manifest, Log: e.log.WithName("registration"), Now: r.Now,
		Event: func(c *v1alpha1.PivotCluster, kind, reason, message string) { r.Events.Event(c, kind, reason, message) },
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
	r.children.serve(server)
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

func (e *Endpoints) refresh(ctx context.Context, endpoint *enrol.Endpoint, at listeners) error {
	secret, a, err := e.readAuthority(ctx)
	if err != nil {
		return err
	}
	endpoint.Use(a)
	e.reconciler.children.follow(ctx, a.Trust().Pins)
	if err := e.rotate(ctx, secret); err != nil {
		return err
	}
	cell, err := e.find(ctx)
	if err != nil || cell == nil {
		return err // A PivotCluster that is deleted leaves the cell as it was.
	}
	cells, err := e.remember(ctx, cell)
	if err != nil {
		return err
	}
	endpoint.Serve(hosts(cells))
	e.current.Store(&place{cell, endpoint})
	if e.Given != nil {
		return nil // The Service is that of the user.
	}
	return e.reconciler.client.Apply(ctx, service(e.Namespace, cells, at), owner, client.ForceOwnership)
}
