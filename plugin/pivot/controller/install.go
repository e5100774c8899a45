// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/bootstrap"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/install"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// installs reports whether a PivotCluster is the first management cluster, made by a bootstrap
// cluster. The new cluster cannot call a bootstrap cluster, so it is reached by the kubeconfig
// that Cluster API makes.
func installs(c *v1alpha1.PivotCluster) bool {
	_, ok := c.Annotations[install.Annotation]
	return ok
}

// target is the API server of a child that is installed.
type target struct {
	client client.Client
	plane  *plane.Plane
}

// dial returns a client and a plane for the API server of a kubeconfig. No request is made.
func dial(config *rest.Config, scheme *runtime.Scheme) (*target, error) {
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	p, err := plane.Connect(config, plane.Options{Name: "child"})
	return &target{c, p}, err
}

// target returns the API server of the child, by the kubeconfig of Cluster API; nil if there is
// none yet.
func (r *Reconciler) target(ctx context.Context, c *v1alpha1.PivotCluster) (*target, error) {
	data, err := r.ensureKubeconfig(ctx, c)
	if err != nil || data == nil {
		return nil, err
	}
	given, err := clientcmd.RESTConfigFromKubeConfig(data)
	if err != nil {
		// The text of the error may quote a value.
		return nil, fmt.Errorf("the kubeconfig in Secret %s/%s-kubeconfig cannot be read", c.ClusterNamespace(), c.Name)
	}
	// No more than what is data: a Secret must not name files or programs of this controller.
	config := &rest.Config{Host: given.Host, BearerToken: given.BearerToken, Timeout: 10 * time.Second, TLSClientConfig: rest.TLSClientConfig{
		ServerName: given.ServerName, CAData: given.CAData, CertData: given.CertData, KeyData: given.KeyData,
	}}
	if r.dial != nil {
		return r.dial(config)
	}
	return dial(config, r.client.Scheme())
}

// ensureKubeconfig returns the kubeconfig of the child, and keeps a copy of it here. The Secret of
// Cluster API moves with the cluster, so without the copy a user could not reach the new cluster.
func (r *Reconciler) ensureKubeconfig(ctx context.Context, c *v1alpha1.PivotCluster) ([]byte, error) {
	var made, kept corev1.Secret
	in := c.ClusterNamespace()
	err := r.client.Get(ctx, types.NamespacedName{Namespace: in, Name: install.AdminSecret}, &kept)
	there := err == nil
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	switch err := r.client.Get(ctx, types.NamespacedName{Namespace: in, Name: c.Name + "-kubeconfig"}, &made); {
	case apierrors.IsNotFound(err):
		return kept.Data[install.AdminKey], nil
	case err != nil:
		return nil, err
	}
	data := made.Data["value"]
	if len(data) == 0 || bytes.Equal(kept.Data[install.AdminKey], data) {
		return data, nil
	}
	kept.ObjectMeta = metav1.ObjectMeta{Namespace: in, Name: install.AdminSecret, ResourceVersion: kept.ResourceVersion, Labels: map[string]string{ClusterLabel: c.Name}}
	kept.Data = map[string][]byte{install.AdminKey: data}
	if there {
		return data, r.client.Update(ctx, &kept, owner)
	}
	return data, r.client.Create(ctx, &kept, owner)
}

// look reads what an agent would report. It returns why the child is waited for; "" if the child
// answers and has what the ClusterResourceSet brought. It returns nil for the PivotCluster of the
// child if there is none yet.
func (r *Reconciler) look(ctx context.Context, c *v1alpha1.PivotCluster) (own *v1alpha1.PivotCluster, why string, err error) {
	at, err := r.target(ctx, c)
	switch {
	case err != nil:
		return nil, "", err
	case at == nil:
		why = "there is no kubeconfig of the cluster yet"
	default:
		why, err = r.retireResourceSet(ctx, c)
	}
	if err == nil && why == "" {
		own, why = at.own(ctx, c)
	}
	set(c, v1alpha1.ConnectedCondition, why == "" && err == nil, "Connected", why)
	return own, why, err
}

// own returns the PivotCluster that the child has of itself, or why it cannot be read.
func (at *target) own(ctx context.Context, c *v1alpha1.PivotCluster) (own *v1alpha1.PivotCluster, why string) {
	own = &v1alpha1.PivotCluster{}
	switch err := at.client.Get(ctx, client.ObjectKeyFromObject(c), own); {
	case apimeta.IsNoMatchError(err):
		return nil, "the cluster has no kind PivotCluster: the manifest of the installation must bring its definition"
	case apierrors.IsNotFound(err):
		return nil, ""
	case err != nil:
		return nil, "its API server does not answer: " + err.Error()
	}
	return own, ""
}

// retireResourceSet returns what is still to happen before the manifest is on the child and the
// ClusterResourceSet is gone; "" if nothing is. It deletes the ClusterResourceSet once it has
// brought the manifest: it has no more to do then, and must not move with the cluster.
func (r *Reconciler) retireResourceSet(ctx context.Context, c *v1alpha1.PivotCluster) (why string, err error) {
	mapping, err := r.client.RESTMapper().RESTMapping(schema.GroupKind{Group: install.AddonsGroup, Kind: "ClusterResourceSet"})
	if apimeta.IsNoMatchError(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(mapping.GroupVersionKind)
	err = r.client.Get(ctx, client.ObjectKey{Namespace: c.ClusterNamespace(), Name: install.Name}, o)
	switch {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", err
	case o.GetDeletionTimestamp() != nil:
		return "the ClusterResourceSet is being deleted", nil
	}
	if status, message := conditionOf(o, "ResourcesApplied"); status != "True" {
		return "the ClusterResourceSet has not applied the manifest yet: " + cmp.Or(detail(o), message, "its controller has not looked at it"), nil
	}
	return "the ClusterResourceSet is being deleted", client.IgnoreNotFound(r.client.Delete(ctx, o))
}

// detail returns the message of the deprecated v1beta1 condition, which names what is wrong. The
// condition of v1beta2 does not.
func detail(o *unstructured.Unstructured) string {
	before, _, _ := unstructured.NestedMap(o.Object, "status", "deprecated", "v1beta1")
	_, message := conditionOf(&unstructured.Unstructured{Object: map[string]any{"status": before}}, "ResourcesApplied")
	return message
}

// give writes what the child needs before the pivot, and returns what is still missing.
func (r *Reconciler) give(ctx context.Context, c *v1alpha1.PivotCluster, b *bootstrap.Bootstrap) (done bool, message string, err error) {
	at, err := r.target(ctx, c)
	if err != nil || at == nil {
		return false, "", cmp.Or(err, errors.New("the kubeconfig of the cluster is gone"))
	}
	own, why := at.own(ctx, c)
	receipt, err := state.Read(ctx, at.plane, r.cluster(c))
	if err != nil || why != "" {
		return false, why, err
	}
	if own != nil && bootstrap.HandedOver(own, receipt) {
		return true, "", nil
	}
	a := &bootstrap.Applier{Client: at.client, Namespace: r.Account.Namespace}
	if refused := a.Apply(ctx, b); refused != nil {
		return false, refused.Error(), nil //nolint:nilerr // the child says why
	}
	done, message, err = a.State(ctx, b)
	if err != nil || !done {
		return false, cmp.Or(message, "the child is being given its GitOps"), err
	}
	if own == nil || own.Status.Phase == "" {
		why = "its own controller has not looked at its PivotCluster yet: it runs there with --parts=transforms,pivot"
	}
	return why == "", why, nil
}

// link returns what carries the requests of a pivot: the link of the agent, or the API server of a
// child that is installed.
func (r *Reconciler) link(ctx context.Context, c *v1alpha1.PivotCluster) (state.Link, error) {
	if !installs(c) {
		return r.children.link(c.UID), nil
	}
	at, err := r.target(ctx, c)
	if err == nil && at == nil {
		err = errors.New("the kubeconfig of the cluster is gone")
	}
	if err != nil {
		return nil, err
	}
	return &state.Target{Plane: at.plane, Now: r.Now}, nil
}

// reportInstalled sets the status of an installed cluster that is in charge of itself. It is Ready
// once it reports so itself: from then on this plane may be deleted.
func (r *Reconciler) reportInstalled(ctx context.Context, c *v1alpha1.PivotCluster) error {
	set(c, v1alpha1.PivotedCondition, true, "Pivoted", "")

	// Without a kubeconfig the cluster was not made from this plane.
	if data, err := r.ensureKubeconfig(ctx, c); err != nil || data == nil {
		return cmp.Or(err, reject("the cluster is in charge of itself since pivot %s, and was not made from here: nothing is provisioned", c.Status.Pivot.ID))
	}

	// Find what keeps it from being Ready.
	own, why, err := r.look(ctx, c)
	if err != nil {
		return err
	}
	switch {
	case why != "":
	case own == nil:
		why = "its PivotCluster is gone"
	case own.Status.Phase != v1alpha1.PhaseReady:
		ready := apimeta.FindStatusCondition(own.Status.Conditions, meta.ReadyCondition)
		why = "it says of itself: " + cmp.Or(string(own.Status.Phase), "nothing")
		if ready != nil {
			why += ": " + ready.Message
		}
	}

	// A cluster that was Ready before is Degraded now, any other is still on its way.
	if own != nil {
		c.Status.Nodes = own.Status.Nodes
	}
	switch {
	case why == "":
		r.setSettled(c, v1alpha1.PhaseReady, "in charge of itself, and the bootstrap cluster is not needed any more: change it there")
	case c.Status.Phase == v1alpha1.PhaseReady || c.Status.Phase == v1alpha1.PhaseDegraded:
		r.setSettled(c, v1alpha1.PhaseDegraded, "in charge of itself; "+why)
	default:
		r.setProgress(c, v1alpha1.PhasePivoting, "in charge of itself; "+why)
	}
	return nil
}
