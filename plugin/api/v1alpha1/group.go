// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

// Group is the API group.
const Group = "ropewalk.dev"

// GroupVersion is the group and the version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: Group, Version: "v1alpha1"}

// SchemeBuilder returns what adds the kinds of this package to a scheme.
func SchemeBuilder() *scheme.Builder {
	return (&scheme.Builder{GroupVersion: GroupVersion}).Register(&Transform{}, &TransformList{})
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
