// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/bootstrap"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// Agent is a Runnable of the manager of a child.
type Agent struct {
	// Namespace of the agent and its Secret.
	Namespace string
	// Account is the ServiceAccount of the agent. It has the rights of an import while the import
	// lasts.
	Account types.NamespacedName
	// Version of the program.
	Version string
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Client, Discovery and Plane are clients of the child's API server. SetupWithManager sets them.
	Client    client.Client
	Discovery discovery.ServerVersionInterface
	Plane     *plane.Plane
	// Log is set by SetupWithManager.
	Log logr.Logger
	// Often is the interval at which the agent looks at its cluster, 10 s by default.
	Often time.Duration

	target  *state.Target
	applier *bootstrap.Applier
	link    *link.Client
	// identity has the certificate; nil until the agent is enrolled.
	identity atomic.Pointer[enrol.Credentials]
	// doing is the wire.AgentState at the last look at the cluster.
	doing atomic.Int32
	// announced are the credentials of the last session.
	announced atomic.Pointer[enrol.Credentials]

	// renewing guards the fields below.
	renewing sync.Mutex
	// retry is the earliest time of the next request for a certificate, after a failure.
	retry time.Time
	// spent is a token of the Secret that the parent has refused.
	spent string
	// followed are the pins of the parent at the last renewal for a rotation.
	followed []string
}

// own returns the PivotCluster of this cluster; nil if the parent has not sent it yet. If no
// PivotCluster has the identity of the certificate, it returns the PivotCluster with another
// identity: its parent was built again.
func (a *Agent) own(ctx context.Context) (*v1alpha1.PivotCluster, error) {
	var list v1alpha1.PivotClusterList
	if err := a.Client.List(ctx, &list); err != nil {
		return nil, err
	}
	identity, _ := a.identityOf()
	var out *v1alpha1.PivotCluster
	for i := range list.Items {
		c := &list.Items[i]
		self := c.Annotations[bootstrap.SelfAnnotation]
		if self == "" {
			continue
		}
		if self == identity {
			return c, nil
		}
		out = c
	}
	return out, nil
}

// identityOf returns the identity of the certificate, as in bootstrap.SelfAnnotation.
func (a *Agent) identityOf() (string, error) {
	credentials := a.identity.Load()
	if credentials == nil {
		return "", errors.New("the agent is not enrolled")
	}
	i, err := credentials.Identity()
	return i.Parent + "/" + i.Cluster, err
}

// receipt returns the receipt of the cluster's pivot; nil if there is none.
func (a *Agent) receipt(ctx context.Context, c *v1alpha1.PivotCluster) (*state.Receipt, error) {
	return state.Read(ctx, a.Plane, types.NamespacedName{Namespace: c.ClusterNamespace(), Name: c.Name})
}

// countNodes counts the nodes of the cluster, and the ready nodes.
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

// wait waits for d, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
