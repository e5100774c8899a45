// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"

	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/bootstrap"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// self is the cluster that this plane is or becomes.
type self struct {
	client      client.Client
	provisioner provisioner
	tombstones  tombstones
}

// reconcile reconciles the PivotCluster of the cluster itself, which this plane is or becomes.
func (s self) reconcile(ctx context.Context, c *v1alpha1.PivotCluster, receipt *state.Receipt) error {
	if !bootstrap.InCharge(c, receipt) {
		message := notInCharge(receipt)
		set(c, v1alpha1.PivotedCondition, false, "Pivoted", message)
		setProgress(c, v1alpha1.PhasePivoting, message)
		return nil
	}

	// From here on this plane delivers the cluster.
	if err := s.provisioner.ensureNamespace(ctx, c, false); err != nil {
		return err
	}
	// One that a user moved here from elsewhere is not this cluster.
	why, err := s.provisioner.ensureTransform(ctx, c, c.Annotations[bootstrap.SelfAnnotation] != "")
	if err != nil {
		return err
	}

	// Report what Cluster API reports of it.
	seen, err := observe(ctx, s.client, c)
	if err != nil {
		return err
	}
	reportMachines(c, seen)
	set(c, v1alpha1.PivotedCondition, true, "Pivoted", "")

	// A spec that is not delivered makes the cluster Degraded.
	phase, message := phaseOf(seen, true)
	if why != "" {
		phase, message = v1alpha1.PhaseDegraded, message+"; "+why
	}
	setSettled(c, phase, message)
	return s.tombstones.record(ctx, c, receipt)
}

// notInCharge returns why what is changed on this plane does not count: the parent is in charge
// still, or the cluster moves on from here.
func notInCharge(receipt *state.Receipt) string {
	if receipt == nil || receipt.Role != state.RoleSource {
		return "the parent is in charge: what is changed here counts after the pivot"
	}
	to := cmp.Or(receipt.Target.Server, "the cluster with UID "+receipt.Target.UID)
	return "the cluster moves to " + to + ": what is changed here does not count"
}

// records are the PivotClusters of clusters that are in charge of themselves, on their parent.
type records struct {
	provisioner provisioner
	tokens      tokens
	agents      agents
	installer   installer
}

// reconcile reconciles a PivotCluster whose cluster is in charge of itself: this object is
// only a record of it. Its agent may still get a new token here.
func (r records) reconcile(ctx context.Context, c *v1alpha1.PivotCluster) error {
	if installs(c) {
		return r.reportInstalled(ctx, c)
	}
	if r.tokens.endpoints != nil && wantsToken(c) {
		if err := r.provisioner.ensureNamespace(ctx, c, true); err != nil {
			return err
		}
		if changed, err := r.tokens.ensure(ctx, c, true); err != nil || changed {
			return cmp.Or(err, errChanged)
		}
	}

	// Report what its agent reports.
	child, connected := r.agents.observe(c)
	set(c, v1alpha1.PivotedCondition, true, "Pivoted", "")
	seen := observation{Nodes: v1alpha1.NodeCounts{Wanted: child.Nodes, Ready: child.NodesReady}}
	if connected {
		c.Status.Nodes = &seen.Nodes
	}
	phase, message := phaseOf(seen, connected)
	setSettled(c, phase, message+": change it there")
	return nil
}

// wantsToken reports whether a user wants a new token for the agent of a record, which has not
// enrolled by it yet.
func wantsToken(c *v1alpha1.PivotCluster) bool {
	e := c.Status.Enrolment
	used := e != nil && e.Rejoin == c.Spec.Agent.Rejoin && e.PublicKey != ""
	return c.Spec.Agent.Rejoin != "" && !used
}

// reportInstalled sets the status of an installed cluster that is in charge of itself. It is Ready
// once it reports so itself: from then on this plane may be deleted.
func (r records) reportInstalled(ctx context.Context, c *v1alpha1.PivotCluster) error {
	set(c, v1alpha1.PivotedCondition, true, "Pivoted", "")

	// Without a kubeconfig the cluster was not made from this plane.
	if data, err := r.installer.ensureKubeconfig(ctx, c); err != nil || data == nil {
		return cmp.Or(err, reject("the cluster is in charge of itself since pivot %s, and was not made from here: nothing is provisioned", c.Status.Pivot.ID))
	}

	// Find what keeps it from being Ready.
	own, why, err := r.installer.look(ctx, c)
	if err != nil {
		return err
	}
	if why == "" {
		why = whyUnready(own)
	}

	// A cluster that was Ready before is Degraded now, any other is still on its way.
	if own != nil {
		c.Status.Nodes = own.Status.Nodes
	}
	switch {
	case why == "":
		setSettled(c, v1alpha1.PhaseReady, "in charge of itself, and the bootstrap cluster is not needed any more: change it there")
	case c.Status.Phase == v1alpha1.PhaseReady || c.Status.Phase == v1alpha1.PhaseDegraded:
		setSettled(c, v1alpha1.PhaseDegraded, "in charge of itself; "+why)
	default:
		setProgress(c, v1alpha1.PhasePivoting, "in charge of itself; "+why)
	}
	return nil
}

// whyUnready returns why a cluster is not Ready, as its own PivotCluster says; "" if it is.
func whyUnready(own *v1alpha1.PivotCluster) (why string) {
	switch {
	case own == nil:
		return "its PivotCluster is gone"
	case own.Status.Phase == v1alpha1.PhaseReady:
		return ""
	}
	why = "it says of itself: " + cmp.Or(string(own.Status.Phase), "nothing")
	if ready := apimeta.FindStatusCondition(own.Status.Conditions, meta.ReadyCondition); ready != nil {
		why += ": " + ready.Message
	}
	return why
}
