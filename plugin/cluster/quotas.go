// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ropewalk/ropewalk/plugin/cluster/quota"
)

// maxBounds is how many ResourceQuotas, and how many LimitRanges, of a namespace are read.
const maxBounds = 500

// Quotas reads the ResourceQuotas and LimitRanges of a namespace. What the user of the kubeconfig
// may not list is left out, and the result says so.
func (c *Cluster) Quotas(ctx context.Context, namespace string) (quota.Bounds, error) {
	quotas, hidden, err := listBounds[corev1.ResourceQuota](ctx, c, "resourcequotas", namespace)
	if err != nil {
		return quota.Bounds{}, err
	}
	ranges, alsoHidden, err := listBounds[corev1.LimitRange](ctx, c, "limitranges", namespace)
	return quota.Bounds{Quotas: quotas, Ranges: ranges, Hidden: hidden || alsoHidden}, err
}

// listBounds lists a resource of the core group in a namespace, and returns whether that is not
// allowed.
func listBounds[T any](ctx context.Context, c *Cluster, resource, namespace string) (out []T, hidden bool, err error) {
	found, err := c.client.Resource(corev1.SchemeGroupVersion.WithResource(resource)).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: maxBounds})
	switch {
	case apierrors.IsForbidden(err):
		return nil, true, nil
	case err != nil:
		return nil, false, fmt.Errorf("%s of namespace %s: %w", resource, namespace, err)
	}
	out = make([]T, len(found.Items))
	for i, item := range found.Items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &out[i]); err != nil {
			return nil, false, fmt.Errorf("%s of namespace %s: %w", resource, namespace, err)
		}
	}
	return out, false, nil
}
