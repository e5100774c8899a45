// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/bootstrap"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// SetupWithManager adds the agent to a manager.
func (a *Agent) SetupWithManager(mgr ctrl.Manager) (err error) {
	config := mgr.GetConfig()
	a.Log = mgr.GetLogger().WithName("agent")
	a.Client, err = client.New(config, client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient()})
	if err != nil {
		return err
	}
	a.Discovery, err = discovery.NewDiscoveryClientForConfigAndClient(config, mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	a.Plane, err = plane.Connect(config, plane.Options{Name: "child"})
	if err != nil {
		return err
	}
	if err := a.Setup(); err != nil {
		return err
	}
	return mgr.Add(a)
}

// Setup prepares Start.
func (a *Agent) Setup() (err error) {
	if a.Now == nil {
		a.Now = time.Now
	}
	a.Often = cmp.Or(a.Often, 10*time.Second)
	a.applier = &bootstrap.Applier{Client: a.Client, Namespace: a.Namespace}
	a.target = &state.Target{Plane: a.Plane}
	a.link, err = link.NewClient(link.ClientOptions{
		Parent:  a.parent,
		Ready:   a.ready,
		Handler: a,
		Log:     a.Log.WithName("link"),
		State:   func() wire.AgentState { return wire.AgentState(a.doing.Load()) },
		Silent: func(s link.Silence) {
			a.Log.Info("no session with the parent; the cluster goes on without it", "since", s.Since.UTC().Format(time.RFC3339),
				"attempts", s.Attempts, "reason", fmt.Sprint(s.Err))
		},
	})
	return err
}

// Healthy returns nil while the agent has a session, or tries to begin a session.
func (a *Agent) Healthy() error { return a.link.Healthy() }

// Start runs the agent until ctx ends.
func (a *Agent) Start(ctx context.Context) error {
	if err := a.awaitEnrolment(ctx); err != nil || ctx.Err() != nil {
		return err
	}

	// Look at the cluster beside the sessions.
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			a.look(ctx)
			wait(ctx, a.Often)
		}
	}()
	err := a.link.Run(ctx)
	<-done
	if ctx.Err() != nil {
		return nil //nolint:nilerr // The agent is being stopped.
	}
	return err
}
