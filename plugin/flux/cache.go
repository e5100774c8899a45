// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// Scheme returns a scheme with every kind that the controller works with.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(sourcev1.AddToScheme(s))
	utilruntime.Must(kustomizev1.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	return s
}

// Cache returns the options for the cache of the manager. It keeps only Kustomizations of
// Transforms, and only the fields of objects that the watches compare. The caller adds the
// namespaces, and the label selector for Transforms.
//
// Nothing else may read from that cache but this package.
func Cache() cache.Options {
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&kustomizev1.Kustomization{}: {Label: ours(), Transform: slim},
		},
	}
}

// Uncached returns the kinds that the client of the manager must always ask the API server for:
// client.CacheOptions.DisableFor.
func Uncached() []client.Object {
	return []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}, &corev1.ServiceAccount{}}
}

// ours selects the objects that were made for a Transform.
func ours() labels.Selector {
	exists, err := labels.NewRequirement(v1alpha1.LabelTransform, selection.Exists, nil)
	utilruntime.Must(err)
	return labels.NewSelector().Add(*exists)
}

// slim removes from a Kustomization the fields that are large and do not show a change.
func slim(obj any) (any, error) {
	if k, ok := obj.(*kustomizev1.Kustomization); ok {
		k.ManagedFields = []metav1.ManagedFieldsEntry{}
		k.Status.Inventory = nil
		k.Status.History = nil
		k.Spec.HealthChecks = nil
		k.Spec.HealthCheckExprs = nil
	}
	return obj, nil
}
