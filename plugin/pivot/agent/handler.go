// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/bootstrap"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/link/wire"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

var _ link.Handler = (*Agent)(nil)

// ready returns the first message of a session.
func (a *Agent) ready(ctx context.Context) (*wire.AgentReady, error) {
	uid, err := a.Plane.UID(ctx)
	if err != nil {
		return nil, err
	}
	version, err := a.Discovery.ServerVersion()
	if err != nil {
		return nil, err
	}
	out := &wire.AgentReady{AgentVersion: a.Version, KubernetesVersion: version.GitVersion, ClusterUid: uid}
	if credentials := a.identity.Load(); credentials != nil {
		out.Pins = credentials.Trust.Pins
		a.announced.Store(credentials)
	}

	// The parent compares the pivot with its own receipt.
	c, err := a.own(ctx)
	if err != nil || c == nil {
		return out, err
	}
	r, err := a.receipt(ctx, c)
	if err != nil {
		return nil, err
	}
	if r != nil {
		out.PivotId = r.ID
		out.PivotStep = string(r.Step)
	}
	return out, nil
}

// Pivot implements link.Handler.
func (a *Agent) Pivot(ctx context.Context, r state.Request) state.Response {
	out := a.pivot(ctx, r)
	if out.Refused == state.Blocked || out.Refused == state.Failed {
		a.Log.Info("a request of a pivot is refused", "operation", r.Op, "pivot", r.Pivot, "reason", out.Message)
	}
	return out
}

// pivot carries out a request of the parent, or refuses it.
func (a *Agent) pivot(ctx context.Context, r state.Request) state.Response {
	c, why, err := a.admit(ctx, r)
	if err != nil { // The same request may succeed later.
		return state.Response{Refused: state.Unavailable, Message: err.Error()}
	}
	if why != "" {
		return state.Response{Refused: state.Blocked, Message: why}
	}

	// The link calls this for one request at a time, so Accept can be set here.
	a.target.Accept = func(r plane.Ref) error { return accepts(c, r) }
	out, err := a.target.Call(ctx, r)
	if err != nil {
		return state.Response{Refused: state.Unavailable, Message: err.Error()}
	}
	return out
}

// admit returns the PivotCluster of a request, or why the request is refused. A cluster that is in
// charge of itself accepts only requests of its own pivot, because an answer may have been lost. By
// another pivot a parent could take the cluster back.
func (a *Agent) admit(ctx context.Context, r state.Request) (c *v1alpha1.PivotCluster, why string, err error) {
	// The cluster must have the identity of the certificate.
	identity, err := a.identityOf()
	if err != nil {
		return nil, "", err
	}
	c, err = a.own(ctx)
	if err != nil {
		return nil, "", err
	}
	switch {
	case c == nil:
		return nil, "the child has not been given its PivotCluster yet", nil
	case c.Annotations[bootstrap.SelfAnnotation] != identity:
		why := fmt.Sprintf("the cluster is %q, and its agent is enrolled as %q", c.Annotations[bootstrap.SelfAnnotation], identity)
		return nil, why, nil
	case r.Op == state.Hello:
		return c, "", nil
	}

	// After the handover the request must belong to the same pivot, by the receipt, or by the status
	// if the receipt was lost.
	receipt, err := a.receipt(ctx, c)
	if err != nil || !bootstrap.HandedOver(c, receipt) {
		return c, "", err
	}
	byReceipt := receipt != nil && receipt.Role == state.RoleTarget && receipt.ID == r.Pivot
	byStatus := receipt == nil && c.Status.Pivot != nil && c.Status.Pivot.ID == r.Pivot
	if byReceipt || (byStatus && r.Active) {
		return c, "", nil
	}
	return nil, fmt.Sprintf("PivotCluster %q is in charge of itself: no other pivot brings objects here", c.Name), nil
}

// accepts returns an error for an object that does not belong to this cluster, or whose kind does
// not move.
func accepts(c *v1alpha1.PivotCluster, r plane.Ref) error {
	const clusterAPI = "cluster.x-k8s.io"
	ours := r.Group == clusterAPI || strings.HasSuffix(r.Group, "."+clusterAPI)
	core := r.Group == "" && (r.Kind == "Secret" || r.Kind == "ConfigMap")
	switch {
	case r.Namespace == "" && r.Group == "infrastructure."+clusterAPI:
		return nil // an identity, which is cluster-scoped
	case r.Namespace != c.ClusterNamespace():
		return fmt.Errorf("only objects of namespace %q are taken", c.ClusterNamespace())
	case r.Group == clusterAPI && r.Kind == "Cluster" && r.Name != c.Name:
		return fmt.Errorf("only the Cluster %q is taken", c.Name)
	case ours, core:
		return nil
	}
	return errors.New("only objects of Cluster API, Secrets and ConfigMaps are taken")
}

// Bootstrap implements link.Handler.
func (a *Agent) Bootstrap(ctx context.Context, m *wire.Bootstrap) {
	if err := a.bootstrap(ctx, m); err != nil {
		a.Log.Info("the bootstrap is refused", "reason", err.Error())
		a.link.BootstrapComplete(&wire.BootstrapComplete{Id: m.GetId(), Error: err.Error()})
	}
}

// bootstrap applies a bootstrap, unless it belongs to another cluster.
func (a *Agent) bootstrap(ctx context.Context, m *wire.Bootstrap) error {
	b, err := decode(m)
	if err != nil {
		return err
	}

	// A bootstrap of another cluster is refused.
	identity, err := a.identityOf()
	if err != nil {
		return err
	}
	if b.Identity != identity {
		return fmt.Errorf("it is that of another cluster, %q: this one is %q", b.Identity, identity)
	}

	// A PivotCluster that is there already must be the same cluster, and still belong to the parent:
	// after the pivot it belongs to the cluster.
	c, err := a.own(ctx)
	if err != nil {
		return err
	}
	if c != nil {
		r, err := a.receipt(ctx, c)
		if err != nil {
			return err
		}
		if bootstrap.HandedOver(c, r) {
			a.Log.Info("the bootstrap is ignored: the cluster is in charge of itself", "id", m.GetId())
			return nil
		}
		self := c.Annotations[bootstrap.SelfAnnotation]
		if c.Name != b.Name || self != identity {
			return fmt.Errorf("it is that of PivotCluster %q: this cluster is PivotCluster %q, %q", b.Name, c.Name, self)
		}
	}

	// Apply it, and note the ID once the agent may import.
	if err := a.applier.Apply(ctx, b); err != nil {
		return err
	}
	if err := a.takeRights(ctx, b.Name); err != nil {
		return err
	}
	if err := a.mark(ctx, b.Name, m.GetId()); err != nil {
		return err
	}
	return a.report(ctx)
}

// decode reads the message of a bootstrap.
func decode(m *wire.Bootstrap) (*bootstrap.Bootstrap, error) {
	b, err := bootstrap.Decode(m.GetPivotCluster())
	if err != nil {
		return nil, err
	}
	for _, s := range m.GetSecrets() {
		b.Secrets = append(b.Secrets, bootstrap.Secret{
			Namespace: s.GetNamespace(),
			Name:      s.GetName(),
			Type:      corev1.SecretType(s.GetType()),
			Data:      s.GetData(),
		})
	}
	return b, nil
}

// mark writes the ID of the bootstrap that was applied to the PivotCluster.
func (a *Agent) mark(ctx context.Context, name, id string) error {
	c := &v1alpha1.PivotCluster{}
	if err := a.Client.Get(ctx, types.NamespacedName{Name: name}, c); err != nil {
		return err
	}
	if c.Annotations[bootstrapAnnotation] == id {
		return nil
	}
	before := c.DeepCopy()
	metav1.SetMetaDataAnnotation(&c.ObjectMeta, bootstrapAnnotation, id)
	return a.Client.Patch(ctx, c, client.MergeFrom(before))
}

// Reconcile implements link.Handler.
func (a *Agent) Reconcile(ctx context.Context) { a.look(ctx) }

// Status implements link.Handler.
func (a *Agent) Status(ctx context.Context) *wire.ClusterHealth {
	out := &wire.ClusterHealth{}
	if version, err := a.Discovery.ServerVersion(); err == nil {
		out.KubernetesVersion = version.GitVersion
	}
	var err error
	out.Nodes, out.NodesReady, err = a.countNodes(ctx)
	if err != nil {
		a.Log.Info("the nodes cannot be read", "reason", err.Error())
	}
	return out
}

// Bootstrap names the ClusterRoleBinding for a bootstrap. It comes with the manifest of the agent.
const Bootstrap = "ropewalk-agent-bootstrap"

// takeRights binds the agent to the rights of an import.
func (a *Agent) takeRights(ctx context.Context, cluster string) error {
	err := a.Client.Create(ctx, a.binding(cluster))
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// dropRights deletes the bindings that only the bootstrap and the import need.
func (a *Agent) dropRights(ctx context.Context, c *v1alpha1.PivotCluster) error {
	ofBootstrap := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: Bootstrap}}
	for _, o := range []client.Object{a.binding(c.Name), ofBootstrap} {
		if err := a.Client.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// binding returns the binding to the rights of an import.
func (a *Agent) binding(cluster string) *rbacv1.RoleBinding {
	return bootstrap.MoverBinding(v1alpha1.ClusterNamespacePrefix+cluster, a.Account)
}

// look renews the certificate, and reports the progress of the cluster.
func (a *Agent) look(ctx context.Context) {
	if err := a.renew(ctx); err != nil {
		a.Log.Info("the certificate is not renewed", "reason", err.Error())
	}

	// The next session uses the new certificate, and reports the new pins to the parent.
	if a.link.Connected() && a.announced.Load() != a.identity.Load() {
		a.link.Renewed()
	}
	if err := a.report(ctx); err != nil && ctx.Err() == nil {
		a.Log.Info("the cluster cannot be looked at", "reason", err.Error())
	}
}

// report gives the link the reports for the parent, for this session and each session to come.
func (a *Agent) report(ctx context.Context) error {
	c, err := a.own(ctx)
	if err != nil {
		return err
	}
	if c == nil {
		a.doing.Store(int32(wire.AgentState_AGENT_STATE_WAITING))
		return nil
	}

	// Before the pivot, report the bootstrap.
	a.link.ClusterHealth(a.Status(ctx))
	r, err := a.receipt(ctx, c)
	if err != nil {
		return err
	}
	if !bootstrap.InCharge(c, r) {
		return a.reportBootstrap(ctx, c, r)
	}

	// After the pivot, give up the rights of the import.
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

	// The state is for heartbeats, and the report for the parent.
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
