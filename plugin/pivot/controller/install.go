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

// installer gives a child that is installed what an agent would give it.
type installer struct {
	client client.Client
	// namespace is that of the controller, here and on the child.
	namespace string
	// open is Reconciler.dial.
	open func(*rest.Config) (*target, error)
}

// target returns the API server of the child, by the kubeconfig of Cluster API; nil if there is
// none yet.
func (i installer) target(ctx context.Context, c *v1alpha1.PivotCluster) (*target, error) {
	data, err := i.ensureKubeconfig(ctx, c)
	if err != nil || data == nil {
		return nil, err
	}
	given, err := clientcmd.RESTConfigFromKubeConfig(data)
	if err != nil {
		// The text of the error may quote a value.
		return nil, fmt.Errorf("the kubeconfig in Secret %s/%s-kubeconfig cannot be read", c.ClusterNamespace(), c.Name)
	}
	config := onlyData(given)
	if i.open != nil {
		return i.open(config)
	}
	return dial(config, i.client.Scheme())
}

// onlyData returns a configuration with no more than what is data: a Secret must not name files or
// programs of this controller.
func onlyData(given *rest.Config) *rest.Config {
	return &rest.Config{Host: given.Host, BearerToken: given.BearerToken, Timeout: 10 * time.Second, TLSClientConfig: rest.TLSClientConfig{
		ServerName: given.ServerName, CAData: given.CAData, CertData: given.CertData, KeyData: given.KeyData,
	}}
}

// ensureKubeconfig returns the kubeconfig of the child, and keeps a copy of it here. The Secret of
// Cluster API moves with the cluster, so without the copy a user could not reach the new cluster.
func (i installer) ensureKubeconfig(ctx context.Context, c *v1alpha1.PivotCluster) ([]byte, error) {
	// Read the copy, and the Secret of Cluster API.
	var made, kept corev1.Secret
	in := c.ClusterNamespace()
	err := i.client.Get(ctx, types.NamespacedName{Namespace: in, Name: install.AdminSecret}, &kept)
	there := err == nil
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	switch err := i.client.Get(ctx, types.NamespacedName{Namespace: in, Name: c.Name + "-kubeconfig"}, &made); {
	case apierrors.IsNotFound(err):
		return kept.Data[install.AdminKey], nil
	case err != nil:
		return nil, err
	}
	data := made.Data["value"]
	if len(data) == 0 || bytes.Equal(kept.Data[install.AdminKey], data) {
		return data, nil
	}

	// The copy follows the Secret.
	kept.ObjectMeta = metav1.ObjectMeta{Namespace: in, Name: install.AdminSecret, ResourceVersion: kept.ResourceVersion, Labels: map[string]string{ClusterLabel: c.Name}}
	kept.Data = map[string][]byte{install.AdminKey: data}
	if there {
		return data, i.client.Update(ctx, &kept, owner)
	}
	return data, i.client.Create(ctx, &kept, owner)
}

// look reads what an agent would report. It returns why the child is waited for; "" if the child
// answers and has what the ClusterResourceSet brought. It returns nil for the PivotCluster of the
// child if there is none yet.
func (i installer) look(ctx context.Context, c *v1alpha1.PivotCluster) (own *v1alpha1.PivotCluster, why string, err error) {
	at, err := i.target(ctx, c)
	switch {
	case err != nil:
		return nil, "", err
	case at == nil:
		why = "there is no kubeconfig of the cluster yet"
	default:
		why, err = i.retireResourceSet(ctx, c)
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
func (i installer) retireResourceSet(ctx context.Context, c *v1alpha1.PivotCluster) (why string, err error) {
	// Without the kind nothing is brought.
	mapping, err := i.client.RESTMapper().RESTMapping(schema.GroupKind{Group: install.AddonsGroup, Kind: "ClusterResourceSet"})
	if apimeta.IsNoMatchError(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}

	// It stays until it has applied the manifest.
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(mapping.GroupVersionKind)
	err = i.client.Get(ctx, client.ObjectKey{Namespace: c.ClusterNamespace(), Name: install.Name}, o)
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
	return "the ClusterResourceSet is being deleted", client.IgnoreNotFound(i.client.Delete(ctx, o))
}

// detail returns the message of the deprecated v1beta1 condition, which names what is wrong. The
// condition of v1beta2 does not.
func detail(o *unstructured.Unstructured) string {
	before, _, _ := unstructured.NestedMap(o.Object, "status", "deprecated", "v1beta1")
	_, message := conditionOf(&unstructured.Unstructured{Object: map[string]any{"status": before}}, "ResourcesApplied")
	return message
}

// give writes what the child needs before the pivot, and returns what is still missing.
func (i installer) give(ctx context.Context, c *v1alpha1.PivotCluster, b *bootstrap.Bootstrap) (done bool, message string, err error) {
	// A child that was given its cluster is not written to any more.
	at, err := i.target(ctx, c)
	if err != nil || at == nil {
		return false, "", cmp.Or(err, errors.New("the kubeconfig of the cluster is gone"))
	}
	own, why := at.own(ctx, c)
	receipt, err := state.Read(ctx, at.plane, keyOf(c))
	if err != nil || why != "" {
		return false, why, err
	}
	if own != nil && bootstrap.HandedOver(own, receipt) {
		return true, "", nil
	}

	// Apply what it needs, and wait until its GitOps and its own controller are at work.
	a := &bootstrap.Applier{Client: at.client, Namespace: i.namespace}
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
