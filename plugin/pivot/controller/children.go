// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/bootstrap"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// Child is what an agent said last.
type Child struct {
	Version, KubernetesVersion string
	Seen                       time.Time
	// Pins are those of the authorities that the agent trusts, with spaces between.
	Pins string
	// Nodes of the child, and those of them that are ready.
	Nodes, NodesReady int32
	// Bootstrapped is the ID of the bootstrap that the agent has applied, and its GitOps has
	// begun. BootstrapError is what is in the way of it.
	Bootstrapped, BootstrapError string
	// State is what the agent does.
	State wire.AgentState
	// HandedOver is the pivot by which the cluster was given to itself, or is being so.
	HandedOver string
}

// children are the agents on the link, by the UID of their PivotCluster.
type children struct {
	store  *store
	parent string
	wake   func(name string)
	now    func() time.Time
	server *link.Server

	mu   sync.Mutex
	last map[string]Child
	// sessions are the numbers that this process has given last.
	sessions map[string]int64
}

// newChildren returns the children of a parent, of which none has called yet.
func newChildren(store *store, parent string, wake func(name string), now func() time.Time) *children {
	return &children{store: store, parent: parent, wake: wake, now: now, last: map[string]Child{}, sessions: map[string]int64{}}
}

// events returns the callbacks of the link. What the agents report is kept in memory only, because
// they report it again in each session.
func (k *children) events() link.Events {
	return link.Events{
		AgentReady: func(ctx context.Context, cluster string, m *wire.AgentReady) error {
			k.note(ctx, cluster, func(c *Child) {
				c.Version = m.GetAgentVersion()
				c.KubernetesVersion = m.GetKubernetesVersion()
				c.Pins = reported(m.GetPins())
				c.HandedOver = ""
				if state.Step(m.GetPivotStep()).Forward() {
					c.HandedOver = m.GetPivotId()
				}
			})
			return nil
		},
		Heartbeat: func(ctx context.Context, cluster string, m *wire.Heartbeat) {
			k.note(ctx, cluster, func(c *Child) { c.State = m.GetAgentState() })
		},
		ClusterHealth: func(ctx context.Context, cluster string, m *wire.ClusterHealth) {
			k.note(ctx, cluster, func(c *Child) {
				c.KubernetesVersion = m.GetKubernetesVersion()
				c.Nodes = m.GetNodes()
				c.NodesReady = m.GetNodesReady()
			})
		},
		BootstrapComplete: func(ctx context.Context, cluster string, m *wire.BootstrapComplete) {
			k.note(ctx, cluster, func(c *Child) {
				c.Bootstrapped = m.GetId()
				c.BootstrapError = m.GetError()
				if c.BootstrapError != "" {
					c.Bootstrapped = ""
				}
			})
		},
		PivotComplete: func(ctx context.Context, cluster string, m *wire.PivotComplete) {
			k.note(ctx, cluster, func(c *Child) { c.HandedOver = m.GetPivotId() })
		},
		Lost: func(cluster string, _ time.Time) { k.look(context.Background(), cluster) },
	}
}

// reported joins pins to one text. It returns "" for a text that is too long for the pins of an
// authority.
func reported(pins []string) string {
	const most = 256 // bytes, of three
	if text := strings.Join(pins, " "); len(text) <= most {
		return text
	}
	return ""
}

// note keeps what an agent reported. If that is news, its PivotCluster is reconciled.
func (k *children) note(ctx context.Context, cluster string, change func(*Child)) {
	k.mu.Lock()
	before := k.last[cluster]
	c := before
	change(&c)
	news := c != before
	c.Seen = k.now()
	k.last[cluster] = c
	k.mu.Unlock()
	if news {
		k.look(ctx, cluster)
	}
}

func (k *children) look(ctx context.Context, cluster string) {
	if c, err := k.store.cached(ctx, types.UID(cluster)); err == nil && c != nil {
		k.wake(c.Name)
	}
}

// authorize returns the UID of the cluster that the certificate of a connection belongs to, or why
// the connection is refused.
func (k *children) authorize(ctx context.Context, connection tls.ConnectionState) (string, error) {
	peer, err := enrol.PeerOf(connection)
	if err != nil {
		return "", err
	}
	c, err := k.store.cached(ctx, types.UID(peer.Cluster))
	if err == nil {
		err = enrol.Admit(c, k.parent, peer)
	}
	return peer.Cluster, err
}

// nextSession returns the number of the next session of a cluster, and writes it to the status. If
// the status is lost, it counts on from what this process has given.
func (k *children) nextSession(ctx context.Context, cluster string) (n int64, err error) {
	k.mu.Lock()
	given := k.sessions[cluster]
	k.mu.Unlock()
	err = k.store.change(ctx, types.UID(cluster), func(c *v1alpha1.PivotCluster) {
		if c.Status.Agent == nil {
			c.Status.Agent = &v1alpha1.AgentStatus{}
		}
		n = max(c.Status.Agent.Session, given) + 1
		c.Status.Agent.Session = n
	})
	if err != nil {
		return 0, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sessions[cluster] = max(k.sessions[cluster], n)
	return n, nil
}

// serve sets the server that reaches the children.
func (k *children) serve(s *link.Server) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.server = s
}

// reach returns the server, or an error while this controller serves none.
func (k *children) reach() (*link.Server, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.server == nil {
		return nil, errors.New("the link is not served yet")
	}
	return k.server, nil
}

// child returns what the agent of a cluster reported last, and whether it is connected.
func (k *children) child(cluster types.UID) (Child, bool) {
	server, err := k.reach()
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last[string(cluster)], err == nil && server.Connected(string(cluster))
}

// link returns the link for the pivot of a cluster.
func (k *children) link(cluster types.UID) state.Link {
	return state.LinkFunc(func(ctx context.Context, r state.Request) (state.Response, error) {
		server, err := k.reach()
		if err != nil {
			return state.Response{}, err
		}
		return server.Link(string(cluster)).Call(ctx, r)
	})
}

// bootstrap sends what an agent has to apply.
func (k *children) bootstrap(ctx context.Context, cluster types.UID, b *bootstrap.Bootstrap) error {
	data, err := b.Encode()
	if err != nil {
		return err
	}
	m := &wire.Bootstrap{Id: b.ID(), PivotCluster: data}
	for _, s := range b.Secrets {
		m.Secrets = append(m.Secrets, &wire.Secret{Namespace: s.Namespace, Name: s.Name, Type: string(s.Type), Data: s.Data})
	}
	server, err := k.reach()
	if err != nil {
		return err
	}
	return server.Bootstrap(ctx, string(cluster), m)
}

// block closes the connections of keys that are blocked.
func (k *children) block(c *v1alpha1.PivotCluster) {
	server, err := k.reach()
	if err != nil {
		return
	}
	for _, key := range c.Spec.Agent.BlockedKeys {
		server.Drop(key)
	}
}

// forget ends the session of an agent whose PivotCluster is deleted.
func (k *children) forget(c *v1alpha1.PivotCluster) {
	k.mu.Lock()
	delete(k.last, string(c.UID))
	delete(k.sessions, string(c.UID))
	k.mu.Unlock()
	if server, err := k.reach(); err == nil && c.Status.Enrolment != nil {
		server.Drop(c.Status.Enrolment.PublicKey)
	}
}

// follow asks agents to renew that trust other authorities than there are. Each call asks only
// some of them, so that they do not come all at once.
func (k *children) follow(ctx context.Context, pins []string) {
	const most, patience = 100, 3 * time.Second
	server, err := k.reach()
	if err != nil {
		return
	}
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	var sent sync.WaitGroup
	for _, cluster := range k.behind(strings.Join(pins, " "), most) {
		sent.Go(func() { _ = server.Reconcile(ctx, cluster) }) // One that is away gets them with its next session.
	}
	sent.Wait()
}

// behind returns the agents that reported other pins than those given, at most so many.
func (k *children) behind(pins string, most int) (out []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for cluster, c := range k.last {
		if c.Pins != "" && c.Pins != pins && len(out) < most && k.server.Connected(cluster) {
			out = append(out, cluster)
		}
	}
	return out
}
