// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/bootstrap"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// Agent is a Runnable of the manager of a child.
type Agent struct {
	// Namespace of the agent: that of its Secret.
	Namespace string
	// Account is the ServiceAccount of the agent, which is bound to the rights of an import for
	// as long as it lasts.
	Account types.NamespacedName
	// Version of the program.
	Version string
	// Now is the clock; time.Now where nil.
	Now func() time.Time
	// Client, Discovery and Plane are the API server of the child, three times. SetupWithManager
	// sets them.
	Client    client.Client
	Discovery discovery.ServerVersionInterface
	Plane     *plane.Plane
	// Log is set by SetupWithManager.
	Log logr.Logger
	// Often is how often the agent looks at its cluster; 10 s where zero.
	Often time.Duration

	target  *state.Target
	applier *bootstrap.Applier
	link    *link.Client
	// identity is that of the certificate; nil until the agent is enrolled.
	identity atomic.Pointer[enrol.Credentials]
	// doing is the wire.AgentState that the last look at the cluster has found.
	doing atomic.Int32
	// announced is what the last session has begun with.
	announced atomic.Pointer[enrol.Credentials]

	renewing sync.Mutex
	// retry is when the next certificate may be asked for, after a failure.
	retry time.Time
	// spent is a token of the Secret that the parent has refused.
	spent string
	// followed are the pins of the parent for which the certificate was renewed last.
	followed []string
}

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
		Parent: a.parent, Ready: a.ready, Handler: a, Log: a.Log.WithName("link"),
		State: func() wire.AgentState { return wire.AgentState(a.doing.Load()) },
		Silent: func(s link.Silence) {
			a.Log.Info("no session with the parent; the cluster goes on without it", "since", s.Since.UTC().Format(time.RFC3339), "attempts", s.Attempts, "reason", fmt.Sprint(s.Err))
		},
	})
	return err
}

// Healthy returns nil while the agent does what it should: it has a session, or tries to have one.
func (a *Agent) Healthy() error { return a.link.Healthy() }

// Start runs the agent until ctx ends.
func (a *Agent) Start(ctx context.Context) error {
	if err := a.awaitEnrolment(ctx); err != nil || ctx.Err() != nil {
		return err
	}
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

// look renews the certificate, and reports what the cluster has reached.
func (a *Agent) look(ctx context.Context) {
	if err := a.renew(ctx); err != nil {
		a.Log.Info("the certificate is not renewed", "reason", err.Error())
	}
	if a.link.Connected() && a.announced.Load() != a.identity.Load() {
		a.link.Renewed() // The next session is of the new certificate, and tells the parent what is trusted now.
	}
	if err := a.report(ctx); err != nil && ctx.Err() == nil {
		a.Log.Info("the cluster cannot be looked at", "reason", err.Error())
	}
}

// report gives the link what the parent has to know, at once and in each session to come.
func (a *Agent) report(ctx context.Context) error {
	c, err := a.own(ctx)
	if err != nil {
		return err
	}
	if c == nil {
		a.doing.Store(int32(wire.AgentState_AGENT_STATE_WAITING))
		return nil
	}
	a.link.ClusterHealth(a.Status(ctx))
	r, err := a.receipt(ctx, c)
	if err != nil {
		return err
	}
	if !bootstrap.InCharge(c, r) {
		return a.reportBootstrap(ctx, c, r)
	}
	a.doing.Store(int32(wire.AgentState_AGENT_STATE_IN_CHARGE))
	if r != nil && r.InCharge() {
		a.link.PivotComplete(&wire.PivotComplete{PivotId: r.ID, Digest: r.Digest})
	}
	if r == nil || r.Step.Ended() {
		return a.dropRights(ctx, c)
	}
	return nil
}

// reportBootstrap reports a bootstrap whose GitOps has begun, or why it has not.
func (a *Agent) reportBootstrap(ctx context.Context, c *v1alpha1.PivotCluster, r *state.Receipt) error {
	id := c.Annotations[bootstrapAnnotation]
	if id == "" {
		a.doing.Store(int32(wire.AgentState_AGENT_STATE_WAITING))
		return nil
	}
	begun, message, err := a.applier.State(ctx, &bootstrap.Bootstrap{Name: c.Name, Spec: c.Spec})
	if err != nil {
		return err
	}
	switch {
	case r != nil && !r.Step.Ended():
		a.doing.Store(int32(wire.AgentState_AGENT_STATE_IMPORTING))
	case !begun:
		a.doing.Store(int32(wire.AgentState_AGENT_STATE_BOOTSTRAPPING))
	default:
		a.doing.Store(int32(wire.AgentState_AGENT_STATE_BOOTSTRAPPED))
	}
	if !begun {
		a.link.BootstrapComplete(&wire.BootstrapComplete{Id: id, Error: message})
		return nil
	}
	a.link.BootstrapComplete(&wire.BootstrapComplete{Id: id})
	return nil
}

// bootstrapAnnotation of the PivotCluster is the ID of the bootstrap that was applied.
const bootstrapAnnotation = "pivot.ropewalk.dev/bootstrap-id"

// own returns the PivotCluster of this cluster; nil if the parent has not sent it yet. If no
// PivotCluster has the identity of the certificate, it returns the one with another identity: that
// of a parent which was built again.
func (a *Agent) own(ctx context.Context) (*v1alpha1.PivotCluster, error) {
	var list v1alpha1.PivotClusterList
	if err := a.Client.List(ctx, &list); err != nil {
		return nil, err
	}
	identity, _ := a.identityOf()
	var out *v1alpha1.PivotCluster
	for i := range list.Items {
		switch c := &list.Items[i]; c.Annotations[bootstrap.SelfAnnotation] {
		case "":
		case identity:
			return c, nil
		default:
			out = c
		}
	}
	return out, nil
}

func (a *Agent) identityOf() (string, error) {
	credentials := a.identity.Load()
	if credentials == nil {
		return "", errors.New("the agent is not enrolled")
	}
	i, err := credentials.Identity()
	return i.Parent + "/" + i.Cluster, err
}

func (a *Agent) receipt(ctx context.Context, c *v1alpha1.PivotCluster) (*state.Receipt, error) {
	return state.Read(ctx, a.Plane, types.NamespacedName{Namespace: c.ClusterNamespace(), Name: c.Name})
}

// countNodes counts the nodes of the cluster, and those of them that are ready.
func (a *Agent) countNodes(ctx context.Context) (all, ready int32, err error) {
	var list corev1.NodeList
	if err := a.Client.List(ctx, &list); err != nil {
		return 0, 0, err
	}
	for _, n := range list.Items {
		all++
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	return all, ready, nil
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
