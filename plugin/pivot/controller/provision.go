// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ropewalk/ropewalk/artifact"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/bootstrap"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/gitops"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

const (
	// ClusterLabel names the PivotCluster that an object was made for.
	ClusterLabel = "pivot.ropewalk.dev/cluster"
	// deliveryAccount is by which the Transform of a cluster is read, written and applied, in the
	// namespace of the cluster.
	deliveryAccount = "ropewalk-delivery"
	// DeliveryRole is the ClusterRole that it is bound to there.
	DeliveryRole = "ropewalk-cluster-delivery"
	// PoolsRole is the ClusterRole that it is bound to on a child in all namespaces.
	PoolsRole = "ropewalk-cluster-pools"
	// embeddedModule makes the objects where a PivotCluster names no other module.
	embeddedModule = "cluster"
)

// Delivery is what the controller of Transforms knows of registries and engines.
type Delivery struct {
	// Open is the repository of the output of a Transform, which need not exist.
	Open func(ctx context.Context, t *v1alpha1.Transform) (artifact.Store, error)
	// Applications are the namespaces in which Applications of Argo CD may be.
	Applications []string
}

// engines are those of clusters on this plane.
type engines struct {
	plane    *plane.Plane
	delivery Delivery
}

// of returns the engine of a cluster.
func (e engines) of(c *v1alpha1.PivotCluster) *gitops.GitOps {
	return &gitops.GitOps{
		Plane: e.plane, Cluster: c, Open: e.delivery.Open, ServiceAccount: deliveryAccount, Applications: e.delivery.Applications,
	}
}

// keyOf returns the name of the Cluster of a PivotCluster, and of its Transform.
func keyOf(c *v1alpha1.PivotCluster) types.NamespacedName {
	return types.NamespacedName{Namespace: c.ClusterNamespace(), Name: c.Name}
}

// provisioner makes what a cluster is delivered with on this plane.
type provisioner struct {
	client client.Client
	// account is the ServiceAccount of the controller.
	account types.NamespacedName
}

// ensureNamespace makes the namespace of the cluster, its account and the binding of the account.
// If the cluster moves from here, it makes the binding of the controller too.
func (p provisioner) ensureNamespace(ctx context.Context, c *v1alpha1.PivotCluster, moves bool) error {
	labels := map[string]string{ClusterLabel: c.Name}
	in := metav1.ObjectMeta{Namespace: c.ClusterNamespace(), Name: deliveryAccount, Labels: labels}
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.ClusterNamespace(), Labels: labels}},
		&corev1.ServiceAccount{ObjectMeta: in},
		&rbacv1.RoleBinding{
			ObjectMeta: in,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: DeliveryRole},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: in.Namespace, Name: in.Name}},
		},
	}
	if moves {
		objects = append(objects, bootstrap.MoverBinding(in.Namespace, p.account))
	}
	for _, o := range objects {
		if err := p.client.Create(ctx, o, owner); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("%T %s: %w", o, o.GetName(), err)
		}
	}
	return nil
}

// ensureTransform makes the Transform of the cluster, and brings it to the spec. It does not
// change whether the Transform is suspended, because a pivot freezes it so. It returns why the
// spec is not delivered; "" if it is, or is on its way.
func (p provisioner) ensureTransform(ctx context.Context, c *v1alpha1.PivotCluster, self bool) (why string, err error) {
	// A Transform of another owner is left alone.
	want, err := transformOf(c, self)
	if err != nil {
		return "", err
	}
	live := &v1alpha1.Transform{}
	err = p.client.Get(ctx, client.ObjectKeyFromObject(want), live)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return "", err
	case err == nil && live.Labels[ClusterLabel] != c.Name:
		return "", reject("Transform %s/%s exists and is not of this PivotCluster: delete it", live.Namespace, live.Name)
	}

	// Apply all but the status, which is of the controller of Transforms.
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(want)
	if err != nil {
		return "", err
	}
	delete(object, "status")
	u := &unstructured.Unstructured{Object: object}
	if err := p.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), owner, client.ForceOwnership); err != nil {
		return "", fmt.Errorf("applying Transform %s/%s: %w", want.Namespace, want.Name, err)
	}

	// What is reported of a spec of before says nothing of this one.
	if u.GetGeneration() != live.Generation {
		return "", nil // It was changed just now.
	}
	return undelivered(live), nil
}

// undelivered returns why a Transform does not deliver its spec; "" if it does, or is still at it.
func undelivered(t *v1alpha1.Transform) string {
	ready := apimeta.FindStatusCondition(t.Status.Conditions, meta.ReadyCondition)
	if ready == nil || ready.Status != metav1.ConditionFalse || ready.ObservedGeneration != t.Generation || ready.Reason == meta.ProgressingReason {
		return ""
	}
	return fmt.Sprintf("Transform %s/%s: %s: %s", t.Namespace, t.Name, ready.Reason, ready.Message)
}

// transformOf returns the Transform of a cluster. Its input is the spec of the PivotCluster.
func transformOf(c *v1alpha1.PivotCluster, self bool) (*v1alpha1.Transform, error) {
	// The input is the spec as a document.
	input := map[string]any{}
	data, err := json.Marshal(c.Spec)
	if err == nil {
		err = json.Unmarshal(data, &input)
	}
	if err != nil {
		return nil, err
	}
	// What tells nothing of the machines, and may change while they stay.
	delete(input, "suspend")
	delete(input, "agent")
	input["self"] = self
	data, err = json.Marshal(input)
	if err != nil {
		return nil, err
	}

	// The module of the user replaces the embedded one.
	module := v1alpha1.CueReference{Type: "embedded", Ref: embeddedModule}
	if c.Spec.ClusterModule != nil {
		module = *c.Spec.ClusterModule
	}
	return &v1alpha1.Transform{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.TransformKind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.ClusterNamespace(), Name: c.Name, Labels: map[string]string{ClusterLabel: c.Name},
		},
		Spec: v1alpha1.TransformSpec{
			RenderSpec:         v1alpha1.RenderSpec{CueRef: &module, Input: &apiextensionsv1.JSON{Raw: data}},
			Context:            &v1alpha1.Context{Namespace: c.ClusterNamespace()},
			Interval:           metav1.Duration{Duration: 10 * time.Minute},
			Output:             c.Spec.Output.DeepCopy(),
			Delivery:           delivery(c, self),
			ServiceAccountName: deliveryAccount,
		},
	}, nil
}

// delivery returns how the Transform is delivered: by the engine of the parent, as the spec says,
// or by that of the cluster itself.
func delivery(c *v1alpha1.PivotCluster, self bool) *v1alpha1.Delivery {
	out := c.Spec.Delivery.DeepCopy()
	if out == nil {
		out = &v1alpha1.Delivery{Type: v1alpha1.EngineFlux}
	}
	if !self || out.Type == c.Spec.GitOps.Engine {
		return out
	}
	if c.Spec.GitOps.Engine == v1alpha1.EngineArgoCD {
		return &v1alpha1.Delivery{Type: v1alpha1.EngineArgoCD, ArgoCD: &v1alpha1.ArgoCDDelivery{}}
	}
	return &v1alpha1.Delivery{Type: v1alpha1.EngineFlux}
}
