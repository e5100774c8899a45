// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/bootstrap"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/gitops"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// ForgetAnnotation with the name of the PivotCluster as its value, allows the deletion of the
// record of a cluster that is in charge of itself. The machines stay, and the tombstone does.
const ForgetAnnotation = "pivot.ropewalk.dev/forget"

// tombstones know from the registry, and from agents, which clusters are in charge of themselves.
type tombstones struct {
	client      client.Client
	engines     engines
	provisioner provisioner
	// children are nil where this controller serves none.
	children *children
}

// hasTombstone reports whether the status says that the cluster is in charge of itself.
func hasTombstone(c *v1alpha1.PivotCluster) bool {
	return c.Status.Pivot != nil && c.Status.Pivot.Tombstone != ""
}

// lookup asks the registry whether the cluster is in charge of itself already. It does not ask
// while this parent provisions the cluster; a Transform alone does not prove that, as it may come
// from a backup, which has no status.
func (t tombstones) lookup(ctx context.Context, c *v1alpha1.PivotCluster) error {
	err := t.client.Get(ctx, keyOf(c), &v1alpha1.Transform{})
	there := err == nil
	if client.IgnoreNotFound(err) != nil || there && c.Status.Enrolment != nil {
		return err
	}
	// It logs in at the registry as the Transform does.
	if err := t.provisioner.ensureNamespace(ctx, c, true); err != nil {
		return err
	}
	found, is, err := t.engines.of(c).Lookup(ctx)
	switch {
	case errors.Is(err, gitops.ErrAnother):
		return &rejection{err.Error()}
	case err != nil:
		return fmt.Errorf("nothing is provisioned before it is known whether the cluster is in charge of itself already: %w", err)
	case is && there:
		return restored(c, found.String())
	case is:
		// A user, or another engine, must not make it here either.
		if err := t.engines.of(c).Forbid(ctx, found); err != nil {
			return err
		}
		c.Status.Pivot = &v1alpha1.PivotStatus{ID: found.Pivot, Step: string(state.Done), Digest: found.Digest, Tombstone: cmp.Or(found.Artifact, found.Pivot)}
	}
	return nil
}

// note writes to the status which artifact keeps the cluster from being provisioned again.
func (t tombstones) note(ctx context.Context, c *v1alpha1.PivotCluster) error {
	if c.Status.Pivot.Tombstone != "" {
		return nil
	}
	found, _, err := t.engines.of(c).Lookup(ctx)
	c.Status.Pivot.Tombstone = found.Artifact
	return err
}

// record writes the tombstone, unless the parent has. A parent that is lost after the
// activation, and is built again from Git, would provision the cluster again without it.
func (t tombstones) record(ctx context.Context, c *v1alpha1.PivotCluster, receipt *state.Receipt) (err error) {
	_, uid, is := strings.Cut(c.Annotations[bootstrap.SelfAnnotation], "/")
	if !is || receipt == nil || !receipt.InCharge() || c.Status.Pivot.Tombstone != "" {
		return nil
	}
	c.Status.Pivot.Tombstone, err = t.engines.of(c).Record(ctx, receipt, uid)
	switch {
	case errors.Is(err, gitops.ErrAnother):
		return &rejection{err.Error()}
	case err != nil:
		return fmt.Errorf("a parent that is built again would provision this cluster again, as its tombstone cannot be written: %w", err)
	}
	return nil
}

// checkRestored returns an error if this plane has objects of a cluster that is in charge of
// itself all the same: the plane was restored from a backup of before the pivot.
func (t tombstones) checkRestored(ctx context.Context, c *v1alpha1.PivotCluster, receipt *state.Receipt) error {
	if err := t.contradicts(c, receipt); err != nil {
		return err
	}
	there, err := t.delivered(ctx, c)
	if err != nil || !there {
		return err
	}
	found, is, err := t.engines.of(c).Lookup(ctx)
	switch {
	case errors.Is(err, gitops.ErrAnother):
		return &rejection{err.Error() + forgetAdvice(c)}
	case err != nil:
		return fmt.Errorf("nothing is deleted before it is known whether the cluster is in charge of itself: %w", err)
	case is:
		return restored(c, found.String())
	}
	return nil
}

// delivered reports whether this plane has the Transform of a cluster, or its Cluster, which may
// be there still without the Transform.
func (t tombstones) delivered(ctx context.Context, c *v1alpha1.PivotCluster) (bool, error) {
	err := t.client.Get(ctx, keyOf(c), &v1alpha1.Transform{})
	if client.IgnoreNotFound(err) != nil || err == nil {
		return err == nil, err
	}
	seen, err := observe(ctx, t.client, c)
	if rejected := (*rejection)(nil); errors.As(err, &rejected) {
		return false, nil // Without Cluster API there are no machines.
	}
	return seen.There, err
}

// restored returns the error for a parent that was restored from a backup of before a pivot. By is
// what reports that the cluster is in charge of itself.
func restored(c *v1alpha1.PivotCluster, by string) error {
	return reject("the cluster is in charge of itself, as %s says, and this parent has objects of it all the same: it was restored from a backup of before the pivot: "+
		"suspend Transform %s, pause Cluster %[2]s, and delete both with all other objects of namespace %s, without their finalizers, so that no machine is deleted with them%s", by, keyOf(c), c.ClusterNamespace(), forgetAdvice(c))
}

// contradicts returns an error if the agent reports that the cluster was given to itself, and this
// parent knows nothing of it. A child that lies is cut off by its key.
func (t tombstones) contradicts(c *v1alpha1.PivotCluster, receipt *state.Receipt) error {
	if t.children == nil || receipt != nil && !receipt.Step.Ended() {
		return nil
	}
	child, connected := t.children.child(c.UID)
	if !connected || child.HandedOver == "" {
		return nil
	}
	return restored(c, fmt.Sprintf("its agent with pivot %q", child.HandedOver))
}

// forgetAdvice returns how a record is deleted, for the end of a message.
func forgetAdvice(c *v1alpha1.PivotCluster) string {
	return "; to delete this record of it, annotate it with " + ForgetAnnotation + ": " + c.Name
}
