// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/bootstrap"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// Finalizer keeps a PivotCluster until its machines are gone, or it is another's.
const Finalizer = "ropewalk.dev/pivot"

// deletionOrphan of a delivery: what was delivered stays.
const deletionOrphan = "Orphan"

// remover deletes clusters.
type remover struct {
	client     client.Client
	plane      *plane.Plane
	engines    engines
	links      links
	pivots     *pivots
	tombstones tombstones
	status     statusWriter
}

// remove deletes the machines of a cluster that this plane is in charge of, and then lets the
// PivotCluster go. A cluster that is in charge of itself is deleted neither from here nor from
// itself, because its own deletion would end halfway.
func (r remover) remove(ctx context.Context, c *v1alpha1.PivotCluster) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(c, Finalizer) {
		return ctrl.Result{}, nil
	}
	// What is under way must not be driven on beside its end.
	if err := r.pivots.stop(ctx, c.UID); err != nil {
		return ctrl.Result{}, err
	}

	// The record of a cluster without children may be forgotten.
	below, err := r.childNames(ctx, c)
	if err != nil {
		return ctrl.Result{}, err
	}
	if c.Annotations[ForgetAnnotation] == c.Name && len(below) == 0 {
		return ctrl.Result{}, r.letGo(ctx, c)
	}

	// Delete what this plane has of the cluster, until all of it is gone.
	before := c.DeepCopy()
	gone, err := r.end(ctx, c, below)
	if gone {
		return ctrl.Result{}, r.letGo(ctx, c)
	}

	// A rejection waits for the user, all else goes on soon.
	after, failed := retryAfter, setError(c, err)
	if err != nil && failed == nil {
		after = again
	}
	return ctrl.Result{RequeueAfter: after}, errors.Join(failed, r.status.write(ctx, before, c))
}

// end deletes what this plane has of a cluster, and reports whether all of it is gone. Below are
// the names of the children of that cluster.
func (r remover) end(ctx context.Context, c *v1alpha1.PivotCluster, below []string) (gone bool, err error) {
	receipt, err := state.Read(ctx, r.plane, keyOf(c))
	if err != nil {
		return false, err
	}
	mirror(c, receipt)

	// Some clusters are not deleted from here.
	if why := cmp.Or(parentOf(below), refuses(c, receipt)); why != "" {
		return false, &rejection{why}
	}

	// A pivot that is under way is aborted first, so that the target does not stay.
	if receipt != nil && receipt.Role == state.RoleSource && !receipt.Step.Ended() {
		if err := r.abort(ctx, c); err != nil {
			return false, err
		}
	}

	// One that came here by a pivot has a tombstone of its parent of before.
	if receipt == nil || receipt.Role == state.RoleSource {
		if err := r.tombstones.checkRestored(ctx, c, receipt); err != nil {
			return false, err
		}
	}
	return r.deleteDelivered(ctx, c)
}

// abort aborts the pivot of a cluster. Where this controller serves no children the target is
// taken for lost.
func (r remover) abort(ctx context.Context, c *v1alpha1.PivotCluster) (err error) {
	source := &state.Source{Plane: r.plane, Cluster: keyOf(c), GitOps: r.engines.of(c)}
	lost := r.links.children == nil
	if !lost {
		if _, connected := r.links.children.child(c.UID); !connected && !installs(c) {
			return fmt.Errorf("the pivot has to be aborted before the cluster is deleted, and its agent is not connected: see why it is away; it is waited for%s", forgetAdvice(c))
		}
		source.Link, err = r.links.of(ctx, c)
		if err != nil {
			return err
		}
	}
	if _, err := source.Abort(ctx, lost); err != nil {
		return fmt.Errorf("the pivot has to be aborted before the cluster is deleted: %w", err)
	}
	return nil
}

// childNames returns the names of the children that call the cell of c, if c is the cluster
// itself.
func (r remover) childNames(ctx context.Context, c *v1alpha1.PivotCluster) ([]string, error) {
	if c.Annotations[bootstrap.SelfAnnotation] == "" || c.Spec.Cell == nil {
		return nil, nil
	}
	var all v1alpha1.PivotClusterList
	if err := r.client.List(ctx, &all); err != nil {
		return nil, err
	}
	var out []string
	for _, child := range all.Items {
		if child.Name != c.Name {
			out = append(out, child.Name)
		}
	}
	return out, nil
}

// parentOf returns why a cluster with children is not let go; "" if it has none.
func parentOf(below []string) string {
	if len(below) == 0 {
		return ""
	}
	slices.Sort(below)
	return fmt.Sprintf("this cluster is the parent of %s, whose agents call its cell: delete their PivotClusters here first (those of clusters that are in charge of themselves are records: annotate them with %s)", strings.Join(below, ", "), ForgetAnnotation)
}

// refuses returns why the cluster cannot be deleted from here; "" if it can.
func refuses(c *v1alpha1.PivotCluster, receipt *state.Receipt) string {
	switch {
	case c.Annotations[bootstrap.SelfAnnotation] != "":
		return "this is the cluster itself, which cannot delete its own machines to the end: move it to another management cluster first (ropewalk pivot run), and delete it there" + forgetAdvice(c)
	case receipt != nil && receipt.Role == state.RoleSource && receipt.Step.Forward(), hasTombstone(c):
		return "the cluster is in charge of itself: it is not deleted from here; move it to a management cluster first (ropewalk pivot run), and delete it there" + forgetAdvice(c)
	}
	return ""
}

// deleteDelivered deletes the Transform, with what it delivered, and the namespace. It reports
// whether all of it is gone.
func (r remover) deleteDelivered(ctx context.Context, c *v1alpha1.PivotCluster) (gone bool, err error) {
	setProgress(c, c.Status.Phase, "the machines are being deleted")

	// The Transform goes first, and deletes what it delivered.
	in := metav1.ObjectMeta{Namespace: c.ClusterNamespace(), Name: c.Name}
	transform := &v1alpha1.Transform{ObjectMeta: in}
	switch err := r.client.Get(ctx, client.ObjectKeyFromObject(transform), transform); {
	case err == nil:
		if transform.DeletionTimestamp == nil {
			err = r.client.Delete(ctx, transform)
		}
		return false, client.IgnoreNotFound(err)
	case client.IgnoreNotFound(err) != nil:
		return false, err
	}
	// What the machines are made of goes by itself, after the Cluster.
	seen, err := observe(ctx, r.client, c)
	if rejected := (*rejection)(nil); errors.As(err, &rejected) {
		err = nil // Without Cluster API there are no machines.
	}
	if err != nil {
		return false, err
	}

	// Wait for the Cluster to go, unless it is to stay.
	orphan := c.Spec.Delivery != nil && c.Spec.Delivery.DeletionPolicy == deletionOrphan
	switch {
	case seen.There && orphan:
		return true, nil // With its namespace.
	case seen.There && !seen.Deleting:
		setProgress(c, c.Status.Phase, fmt.Sprintf("the machines are to be deleted: Cluster %s is still there: where its delivery was suspended nothing deletes it, so delete it by hand", keyOf(c)))
		return false, nil
	case seen.There:
		return false, nil
	}

	// The namespace goes last, if the controller made it.
	namespace := &corev1.Namespace{}
	err = r.client.Get(ctx, client.ObjectKey{Name: c.ClusterNamespace()}, namespace)
	if apierrors.IsNotFound(err) || err == nil && namespace.Labels[ClusterLabel] != c.Name {
		return true, nil // It is gone, or the user made it.
	}
	if err != nil {
		return false, err
	}
	return true, client.IgnoreNotFound(r.client.Delete(ctx, namespace))
}

// letGo lets the API server delete a PivotCluster.
func (r remover) letGo(ctx context.Context, c *v1alpha1.PivotCluster) error {
	before := c.DeepCopy()
	controllerutil.RemoveFinalizer(c, Finalizer)
	if err := r.client.Patch(ctx, c, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), owner); err != nil {
		return err
	}
	if r.links.children != nil {
		r.links.children.forget(c)
	}
	return nil
}
