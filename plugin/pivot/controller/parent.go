// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/bootstrap"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// parent brings a cluster to where it is in charge of itself.
type parent struct {
	client      client.Client
	manifests   manifests
	provisioner provisioner
	tokens      tokens
	agents      agents
	installer   installer
	tombstones  tombstones
	givers      givers
	mover       mover
}

// provision makes the machines, gives the child what it needs, and begins the pivot.
func (p parent) provision(ctx context.Context, c *v1alpha1.PivotCluster, receipt *state.Receipt) error {
	// Make what the cluster is delivered with.
	why, err := p.deliver(ctx, c)
	if err != nil {
		return err
	}

	// Wait for the machines, and for the child to be reached.
	seen, err := observe(ctx, p.client, c)
	if err != nil {
		return err
	}
	reportMachines(c, seen)
	child, missing, err := p.awaitChild(ctx, c, seen)
	if err != nil {
		return err
	}
	if missing != "" {
		reportMissing(c, seen, missing, why)
		return nil
	}

	// A cluster that says it is in charge of itself is not bootstrapped.
	if err := p.tombstones.contradicts(c, receipt); err != nil {
		return err
	}

	// Send the child what it needs, which must not stop a pivot that is under way.
	ready, err := p.givers.give(ctx, c, child)
	if receipt != nil && !receipt.Step.Ended() {
		if err != nil {
			log.FromContext(ctx).Info("an edit of the PivotCluster is not sent to the child yet", "reason", shorten(err.Error()))
		}
		// What was edited since the pivot began is with the child, where it counts after the pivot.
		return p.mover.pivot(ctx, c, receipt)
	}
	if err != nil || !ready {
		return err
	}

	// A pivot begins only with a delivered spec and a cluster at rest.
	if waits := unready(seen, why); waits != "" {
		setProgress(c, v1alpha1.PhaseProvisioning, waits)
		return nil
	}
	return p.mover.pivot(ctx, c, receipt)
}

// deliver makes the namespace, the token and the Transform of a cluster. It returns why the spec is
// not delivered; "" if it is, or is on its way.
func (p parent) deliver(ctx context.Context, c *v1alpha1.PivotCluster) (why string, err error) {
	// Machines whose agent cannot be installed are of no use.
	if e := c.Status.Enrolment; !installs(c) && (e == nil || e.Certificate == "") {
		if _, err := p.manifests.child(ctx); err != nil {
			return "", err
		}
	}

	// The namespace holds the Secret of the token, which the machines of the Transform need.
	if err := p.provisioner.ensureNamespace(ctx, c, true); err != nil {
		return "", err
	}
	changed, err := p.tokens.ensure(ctx, c, apimeta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ProvisionedCondition))
	if err != nil || changed {
		return "", cmp.Or(err, errChanged)
	}
	return p.provisioner.ensureTransform(ctx, c, false)
}

// awaitChild returns the child, and what is still waited for; "" if the child is reached.
func (p parent) awaitChild(ctx context.Context, c *v1alpha1.PivotCluster, seen observation) (child Child, why string, err error) {
	connected := false
	if !installs(c) {
		child, connected = p.agents.observe(c)
	}
	switch {
	case !seen.Provisioned:
		why = seen.Message
	case installs(c):
		_, why, err = p.installer.look(ctx, c)
	case !connected:
		why = cmp.Or(expired(c.Status.Enrolment, p.agents.now()), "waiting for the agent to call")
	}
	return child, why, err
}

// reportMissing sets the status of a cluster whose child is waited for. Undelivered is why its spec
// is not delivered; "" if it is.
func reportMissing(c *v1alpha1.PivotCluster, seen observation, missing, undelivered string) {
	phase := v1alpha1.PhaseProvisioning
	if !seen.There {
		phase = v1alpha1.PhasePending
	}
	if undelivered != "" {
		missing += ": " + undelivered
	}
	setProgress(c, phase, missing)
}

// unready returns why a cluster whose child has what it needs cannot be moved yet; "" if it can.
func unready(seen observation, undelivered string) string {
	switch {
	case undelivered != "":
		return "the pivot waits until the spec is delivered: " + undelivered
	case !seen.Available:
		return "the pivot waits until the cluster is at rest: " + seen.Message
	}
	return ""
}

// givers give children what they need before the pivot.
type givers struct {
	client client.Client
	// parent is the identity of this parent.
	parent string
	// account is the ServiceAccount of the controller.
	account   types.NamespacedName
	children  *children
	installer installer
}

// give sends the child what it needs before the pivot, and reports whether the child has it.
func (g givers) give(ctx context.Context, c *v1alpha1.PivotCluster, child Child) (bool, error) {
	// Collect it, which fails for what the user has to put right.
	b, err := bootstrap.Collect(ctx, g.client, c, g.parent+"/"+string(c.UID), g.account.Namespace)
	if wrong := (bootstrap.Wrong{}); errors.As(err, &wrong) {
		return false, &rejection{err.Error()}
	}
	if err != nil {
		return false, err
	}

	// Send it, by the API server of the child or by its agent.
	done := child.Bootstrapped == b.ID()
	message := cmp.Or(child.BootstrapError, "the child is being given its GitOps")
	switch {
	case installs(c):
		done, message, err = g.installer.give(ctx, c, b)
	case !done:
		err = g.children.bootstrap(ctx, c.UID, b)
	}
	if err != nil {
		return false, err
	}

	// Report what the child still waits for.
	if !done {
		setProgress(c, v1alpha1.PhaseProvisioning, message)
	}
	set(c, v1alpha1.BootstrappedCondition, done, "Bootstrapped", message)
	return done, nil
}
