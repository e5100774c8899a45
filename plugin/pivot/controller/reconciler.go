// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	kuberecorder "k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/bootstrap"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/gitops"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// Finalizer keeps a PivotCluster until its machines are gone, or it is another's.
const Finalizer = "ropewalk.dev/pivot"

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

// again is how long until everything is looked at again.
const (
	again      = time.Minute
	retryAfter = 5 * time.Second
)

// errChanged: the status was written on the way, and everything is to be looked at again.
var errChanged = errors.New("the status was changed")

// Reconcile brings one PivotCluster on.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	c := &v1alpha1.PivotCluster{}
	if err := r.client.Get(ctx, req.NamespacedName, c); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	before := c.DeepCopy()
	if r.children != nil {
		r.children.block(c) // Whatever else is wrong.
	}

	// Deletion, the finalizer and suspension come before all else.
	if c.DeletionTimestamp != nil {
		return r.remove(ctx, c)
	}
	if controllerutil.AddFinalizer(c, Finalizer) {
		// The event of this change is one that the controller does not look at.
		return ctrl.Result{RequeueAfter: time.Millisecond}, r.client.Patch(ctx, c, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), owner)
	}
	if c.Spec.Suspend {
		return ctrl.Result{}, r.pivots.stop(ctx, c.UID)
	}

	// Take the next step.
	err := r.advance(ctx, c)
	if errors.Is(err, errChanged) {
		return ctrl.Result{RequeueAfter: time.Millisecond}, nil
	}

	// A rejection waits for the user, any other error is tried again.
	var rejected *rejection
	switch {
	case errors.As(err, &rejected):
		r.setStalled(c, rejected.text)
		err = nil
	case err != nil:
		r.setFailing(c, err)
	}

	// Write the status, and come back sooner while something is on the way.
	c.Status.ObservedGeneration = c.Generation
	if failed := r.write(ctx, before, c); failed != nil {
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
func (r *Reconciler) advance(ctx context.Context, c *v1alpha1.PivotCluster) error {
	receipt, err := state.Read(ctx, r.plane, r.cluster(c))
	if err != nil {
		return err
	}
	mirror(c, receipt)
	switch {
	case c.Annotations[bootstrap.SelfAnnotation] != "":
		return r.reconcileSelf(ctx, c, receipt)
	case receipt != nil && receipt.Role == state.RoleTarget:
		// It came back by a pivot of a user: this plane is in charge.
		return r.reconcileSelf(ctx, c, receipt)
	case receipt != nil && receipt.Step == state.Done:
		return cmp.Or(r.noteTombstone(ctx, c), r.reconcileRecord(ctx, c))
	case receipt != nil && receipt.Step.Forward():
		return r.pivot(ctx, c, receipt)
	}
	if c.Status.Pivot == nil || c.Status.Pivot.Tombstone == "" {
		if err := r.lookup(ctx, c); err != nil {
			return err
		}
	}
	if c.Status.Pivot != nil && c.Status.Pivot.Tombstone != "" {
		return r.reconcileRecord(ctx, c)
	}
	return r.provision(ctx, c, receipt)
}

// lookup asks the registry whether the cluster is in charge of itself already. It does not ask
// while this parent provisions the cluster; a Transform alone does not prove that, as it may come
// from a backup, which has no status.
func (r *Reconciler) lookup(ctx context.Context, c *v1alpha1.PivotCluster) error {
	err := r.client.Get(ctx, r.cluster(c), &v1alpha1.Transform{})
	there := err == nil
	if client.IgnoreNotFound(err) != nil || there && c.Status.Enrolment != nil {
		return err
	}
	// It logs in at the registry as the Transform does.
	if err := r.ensureNamespace(ctx, c, true); err != nil {
		return err
	}
	t, found, err := r.gitOps(c).Lookup(ctx)
	switch {
	case errors.Is(err, gitops.ErrAnother):
		return &rejection{err.Error()}
	case err != nil:
		return fmt.Errorf("nothing is provisioned before it is known whether the cluster is in charge of itself already: %w", err)
	case found && there:
		return r.restored(c, t.String())
	case found:
		// A user, or another engine, must not make it here either.
		if err := r.gitOps(c).Forbid(ctx, t); err != nil {
			return err
		}
		c.Status.Pivot = &v1alpha1.PivotStatus{ID: t.Pivot, Step: string(state.Done), Digest: t.Digest, Tombstone: cmp.Or(t.Artifact, t.Pivot)}
	}
	return nil
}

// noteTombstone writes to the status which artifact keeps the cluster from being provisioned
// again.
func (r *Reconciler) noteTombstone(ctx context.Context, c *v1alpha1.PivotCluster) error {
	if c.Status.Pivot.Tombstone != "" {
		return nil
	}
	t, _, err := r.gitOps(c).Lookup(ctx)
	c.Status.Pivot.Tombstone = t.Artifact
	return err
}

func (r *Reconciler) cluster(c *v1alpha1.PivotCluster) types.NamespacedName {
	return types.NamespacedName{Namespace: c.ClusterNamespace(), Name: c.Name}
}

// provision makes the machines, gives the child what it needs, and begins the pivot.
func (r *Reconciler) provision(ctx context.Context, c *v1alpha1.PivotCluster, receipt *state.Receipt) error {
	if e := c.Status.Enrolment; !installs(c) && (e == nil || e.Certificate == "") {
		// Machines whose agent cannot be installed are of no use.
		if _, err := r.childManifest(ctx); err != nil {
			return err
		}
	}

	// Make what the cluster is delivered with: the namespace, the token and the Transform.
	if err := r.ensureNamespace(ctx, c, true); err != nil {
		return err
	}
	changed, err := r.ensureToken(ctx, c, apimeta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ProvisionedCondition))
	if err != nil || changed {
		return cmp.Or(err, errChanged)
	}
	why, err := r.ensureTransform(ctx, c, false)
	if err != nil {
		return err
	}

	// Wait for the machines, and for the child to be reached.
	seen, err := r.observe(ctx, c)
	if err != nil {
		return err
	}
	c.Status.Nodes = &seen.Nodes
	set(c, v1alpha1.ProvisionedCondition, seen.Provisioned, "Provisioned", seen.Message)
	child, missing, err := r.awaitChild(ctx, c, seen)
	if err != nil {
		return err
	}
	if missing != "" {
		phase := v1alpha1.PhaseProvisioning
		if !seen.There {
			phase = v1alpha1.PhasePending
		}
		if why != "" {
			missing += ": " + why
		}
		r.setProgress(c, phase, missing)
		return nil
	}

	// A cluster that says it is in charge of itself is not bootstrapped.
	if err := r.contradicts(c, receipt); err != nil {
		return err
	}

	// Send the child what it needs, which must not stop a pivot that is under way.
	ready, err := r.bootstrap(ctx, c, child)
	if receipt != nil && !receipt.Step.Ended() {
		if err != nil {
			log.FromContext(ctx).Info("an edit of the PivotCluster is not sent to the child yet", "reason", shorten(err.Error()))
		}
		// What was edited since the pivot began is with the child, where it counts after the pivot.
		return r.pivot(ctx, c, receipt)
	}
	if err != nil || !ready {
		return err
	}

	// A pivot begins only with a delivered spec and a cluster at rest.
	if why != "" {
		r.setProgress(c, v1alpha1.PhaseProvisioning, "the pivot waits until the spec is delivered: "+why)
		return nil
	}
	if !seen.Available {
		r.setProgress(c, v1alpha1.PhaseProvisioning, "the pivot waits until the cluster is at rest: "+seen.Message)
		return nil
	}
	return r.pivot(ctx, c, receipt)
}

// awaitChild returns the child, and what is still waited for; "" if the child is reached.
func (r *Reconciler) awaitChild(ctx context.Context, c *v1alpha1.PivotCluster, seen observation) (child Child, why string, err error) {
	connected := false
	if !installs(c) {
		child, connected = r.observeChild(c)
	}
	switch {
	case !seen.Provisioned:
		why = seen.Message
	case installs(c):
		_, why, err = r.look(ctx, c)
	case !connected:
		why = cmp.Or(expired(c.Status.Enrolment, r.Now()), "waiting for the agent to call")
	}
	return child, why, err
}

// observeChild returns what the agent reports, and whether it is connected. It sets the conditions
// of the agent.
func (r *Reconciler) observeChild(c *v1alpha1.PivotCluster) (Child, bool) {
	enrolled := c.Status.Enrolment != nil && c.Status.Enrolment.Certificate != ""
	why := cmp.Or(expired(c.Status.Enrolment, r.Now()), "the agent has not asked for a certificate yet")
	set(c, v1alpha1.EnrolledCondition, enrolled, "Enrolled", why)
	if r.children == nil {
		return Child{}, false
	}
	child, connected := r.children.child(c.UID)
	set(c, v1alpha1.ConnectedCondition, connected, "Connected", "the agent is not on the link")
	if !connected {
		return child, false
	}
	if c.Status.Agent == nil {
		c.Status.Agent = &v1alpha1.AgentStatus{}
	}
	a := c.Status.Agent
	a.Version = child.Version
	a.KubernetesVersion = child.KubernetesVersion
	a.Pins = strings.Fields(child.Pins)
	// Each write of a status is a write to etcd.
	if a.LastSeen == nil || child.Seen.Sub(a.LastSeen.Time) >= time.Minute {
		a.LastSeen = &metav1.Time{Time: child.Seen.Truncate(time.Second)}
	}
	return child, true
}

// bootstrap sends the child what it needs before the pivot, and reports whether the child has it.
func (r *Reconciler) bootstrap(ctx context.Context, c *v1alpha1.PivotCluster, child Child) (bool, error) {
	b, err := bootstrap.Collect(ctx, r.client, c, r.uid+"/"+string(c.UID), r.Account.Namespace)
	if wrong := (bootstrap.Wrong{}); errors.As(err, &wrong) {
		return false, &rejection{err.Error()}
	}
	if err != nil {
		return false, err
	}
	done := child.Bootstrapped == b.ID()
	message := cmp.Or(child.BootstrapError, "the child is being given its GitOps")
	switch {
	case installs(c):
		done, message, err = r.give(ctx, c, b)
	case !done:
		err = r.children.bootstrap(ctx, c.UID, b)
	}
	if err != nil {
		return false, err
	}
	if !done {
		r.setProgress(c, v1alpha1.PhaseProvisioning, message)
	}
	set(c, v1alpha1.BootstrappedCondition, done, "Bootstrapped", message)
	return done, nil
}

// reconcileSelf reconciles the PivotCluster of the cluster itself, which this plane is or becomes.
func (r *Reconciler) reconcileSelf(ctx context.Context, c *v1alpha1.PivotCluster, receipt *state.Receipt) error {
	if !bootstrap.InCharge(c, receipt) {
		message := "the parent is in charge: what is changed here counts after the pivot"
		if receipt != nil && receipt.Role == state.RoleSource {
			message = "the cluster moves to " + cmp.Or(receipt.Target.Server, "the cluster with UID "+receipt.Target.UID) + ": what is changed here does not count"
		}
		set(c, v1alpha1.PivotedCondition, false, "Pivoted", message)
		r.setProgress(c, v1alpha1.PhasePivoting, message)
		return nil
	}

	// From here on this plane delivers the cluster.
	if err := r.ensureNamespace(ctx, c, false); err != nil {
		return err
	}
	// One that a user moved here from elsewhere is not this cluster.
	why, err := r.ensureTransform(ctx, c, c.Annotations[bootstrap.SelfAnnotation] != "")
	if err != nil {
		return err
	}

	// Report what Cluster API reports of it.
	seen, err := r.observe(ctx, c)
	if err != nil {
		return err
	}
	c.Status.Nodes = &seen.Nodes
	set(c, v1alpha1.ProvisionedCondition, seen.Provisioned, "Provisioned", seen.Message)
	set(c, v1alpha1.PivotedCondition, true, "Pivoted", "")

	// A spec that is not delivered makes the cluster Degraded.
	phase, message := phaseOf(seen, true)
	if why != "" {
		phase, message = v1alpha1.PhaseDegraded, message+"; "+why
	}
	r.setSettled(c, phase, message)
	return r.recordTombstone(ctx, c, receipt)
}

// recordTombstone writes the tombstone, unless the parent has. A parent that is lost after the
// activation, and is built again from Git, would provision the cluster again without it.
func (r *Reconciler) recordTombstone(ctx context.Context, c *v1alpha1.PivotCluster, receipt *state.Receipt) (err error) {
	_, uid, is := strings.Cut(c.Annotations[bootstrap.SelfAnnotation], "/")
	if !is || receipt == nil || !receipt.InCharge() || c.Status.Pivot.Tombstone != "" {
		return nil
	}
	c.Status.Pivot.Tombstone, err = r.gitOps(c).Record(ctx, receipt, uid)
	switch {
	case errors.Is(err, gitops.ErrAnother):
		return &rejection{err.Error()}
	case err != nil:
		return fmt.Errorf("a parent that is built again would provision this cluster again, as its tombstone cannot be written: %w", err)
	}
	return nil
}

// reconcileRecord reconciles a PivotCluster whose cluster is in charge of itself: this object is
// only a record of it. Its agent may still get a new token here.
func (r *Reconciler) reconcileRecord(ctx context.Context, c *v1alpha1.PivotCluster) error {
	if installs(c) {
		return r.reportInstalled(ctx, c)
	}
	if e := c.Status.Enrolment; r.Endpoints != nil && c.Spec.Agent.Rejoin != "" && (e == nil || e.Rejoin != c.Spec.Agent.Rejoin || e.PublicKey == "") {
		if err := r.ensureNamespace(ctx, c, true); err != nil {
			return err
		}
		if changed, err := r.ensureToken(ctx, c, true); err != nil || changed {
			return cmp.Or(err, errChanged)
		}
	}
	child, connected := r.observeChild(c)
	set(c, v1alpha1.PivotedCondition, true, "Pivoted", "")
	seen := observation{Nodes: v1alpha1.NodeCounts{Wanted: child.Nodes, Ready: child.NodesReady}}
	if connected {
		c.Status.Nodes = &seen.Nodes
	}
	phase, message := phaseOf(seen, connected)
	r.setSettled(c, phase, message+": change it there")
	return nil
}
