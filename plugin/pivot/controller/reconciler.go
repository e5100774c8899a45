// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	kuberecorder "k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/bootstrap"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// Reconciler reconciles PivotClusters. Its exported fields are set before SetupWithManager.
type Reconciler struct {
	// Events records events.
	Events kuberecorder.EventRecorder
	// Endpoints are for children; nil where this controller serves none.
	Endpoints *Endpoints
	// ChildManifest is the YAML with which an agent is installed, without its Secret; that of
	// ManifestConfigMap where the error is fs.ErrNotExist.
	ChildManifest func() ([]byte, error)
	// Delivery is that of clusters on this plane.
	Delivery Delivery
	// Account is the ServiceAccount of this controller, which has its rights in the namespace of
	// a cluster by a binding there.
	Account types.NamespacedName
	// Hold is how long the target of a pivot has to be active before the source is deleted.
	Hold time.Duration
	// Now is the clock; time.Now where nil.
	Now func() time.Time

	// client reads from the API server itself.
	client client.Client
	// plane is the same API server, for pivots.
	plane *plane.Plane
	// uid is that of the namespace kube-system: the identity of this parent.
	uid      string
	children *children
	pivots   *pivots
	// dial opens the API server of a child that is installed, by a real connection where nil.
	dial func(*rest.Config) (*target, error)
}

// parts are the parts of a reconciliation, each of which knows only what it uses.
type parts struct {
	plane      *plane.Plane
	pivots     *pivots
	manifests  manifests
	tombstones tombstones
	parent     parent
	self       self
	records    records
	mover      mover
	remover    remover
	status     statusWriter
}

// parts returns the parts of a reconciliation.
func (r *Reconciler) parts() parts {
	// What several parts use.
	status := statusWriter{r.client, r.Events}
	engines := engines{r.plane, r.Delivery}
	provisioner := provisioner{r.client, r.Account}
	tokens := tokens{r.client, r.Endpoints, r.Now}
	manifests := manifests{r.client, r.ChildManifest, r.Account.Namespace, r.Endpoints}
	agents := agents{r.children, r.Now}
	installer := installer{r.client, r.Account.Namespace, r.dial}
	links := links{r.children, installer, r.Now}
	tombstones := tombstones{r.client, engines, provisioner, r.children}
	givers := givers{r.client, r.uid, r.Account, r.children, installer}
	mover := mover{r.plane, engines, links, r.pivots, r.Events, r.Hold, r.Now}

	// What a reconciliation may come to.
	return parts{
		plane: r.plane, pivots: r.pivots, manifests: manifests, tombstones: tombstones, mover: mover, status: status,
		parent:  parent{r.client, manifests, provisioner, tokens, agents, installer, tombstones, givers, mover},
		self:    self{r.client, provisioner, tombstones},
		records: records{provisioner, tokens, agents, installer},
		remover: remover{r.client, r.plane, engines, links, r.pivots, tombstones, status},
	}
}

// Reconcile brings one PivotCluster on.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	c := &v1alpha1.PivotCluster{}
	if err := r.client.Get(ctx, req.NamespacedName, c); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.children != nil {
		r.children.block(c) // Whatever else is wrong.
	}
	p := r.parts()

	// Deletion, the finalizer and suspension come before all else.
	before := c.DeepCopy()
	if c.DeletionTimestamp != nil {
		return p.remover.remove(ctx, c)
	}
	if controllerutil.AddFinalizer(c, Finalizer) {
		// The event of this change is one that the controller does not look at.
		return ctrl.Result{RequeueAfter: time.Millisecond}, r.client.Patch(ctx, c, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), owner)
	}
	if c.Spec.Suspend {
		return ctrl.Result{}, p.pivots.stop(ctx, c.UID)
	}

	// Take the next step.
	err := p.advance(ctx, c)
	if errors.Is(err, errChanged) {
		return ctrl.Result{RequeueAfter: time.Millisecond}, nil
	}

	// Write the status, and come back sooner while something is on the way.
	err = setError(c, err)
	c.Status.ObservedGeneration = c.Generation
	if failed := p.status.write(ctx, before, c); failed != nil {
		return ctrl.Result{}, errors.Join(err, failed)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if c.Status.Phase == v1alpha1.PhaseReady || c.Status.Phase == v1alpha1.PhaseFailed {
		return ctrl.Result{RequeueAfter: again}, nil
	}
	return ctrl.Result{RequeueAfter: retryAfter}, nil
}

// advance takes the next step. What is still on the way is written to the status, and is no error.
func (p parts) advance(ctx context.Context, c *v1alpha1.PivotCluster) error {
	receipt, err := state.Read(ctx, p.plane, keyOf(c))
	if err != nil {
		return err
	}
	mirror(c, receipt)
	switch {
	case c.Annotations[bootstrap.SelfAnnotation] != "":
		return p.self.reconcile(ctx, c, receipt)
	case receipt != nil && receipt.Role == state.RoleTarget:
		// It came back by a pivot of a user: this plane is in charge.
		return p.self.reconcile(ctx, c, receipt)
	case receipt != nil && receipt.Step == state.Done:
		return cmp.Or(p.tombstones.note(ctx, c), p.records.reconcile(ctx, c))
	case receipt != nil && receipt.Step.Forward():
		return p.mover.pivot(ctx, c, receipt)
	}

	// Before a pivot has begun, a tombstone in the registry decides.
	if !hasTombstone(c) {
		if err := p.tombstones.lookup(ctx, c); err != nil {
			return err
		}
	}
	if hasTombstone(c) {
		return p.records.reconcile(ctx, c)
	}
	return p.parent.provision(ctx, c, receipt)
}
