// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group.
const Group = "ropewalk.dev"

// GroupVersion is the group and the version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: Group, Version: "v1alpha1"} //nolint:gochecknoglobals // the name that generators and clients look for

// AddToScheme adds the kinds of this package to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Transform{}, &TransformList{}, &PivotCluster{}, &PivotClusterList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// Finalizer is what keeps a Transform until what it delivered is deleted or
// orphaned.
const Finalizer = "ropewalk.dev/delivery"

// Labels and annotations of what a Transform owns.
const (
	// LabelTransform and LabelNamespace name the Transform that an object of Flux or
	// Argo CD was made for.
	LabelTransform = "ropewalk.dev/transform"
	LabelNamespace = "ropewalk.dev/transform-namespace"
	// LabelLayer is the name of the barrier layer that it delivers.
	LabelLayer = "ropewalk.dev/layer"
)
