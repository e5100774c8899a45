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

// maxBounds limits the ResourceQuotas, and the LimitRanges, that are read of a namespace.
const maxBounds = 500

// Quotas reads the ResourceQuotas and LimitRanges of a namespace. If the user of the kubeconfig may
// not list both, Hidden is set.
func (c *Cluster) Quotas(ctx context.Context, namespace string) (quota.Bounds, error) {
	quotas, hidden, err := listBounds[corev1.ResourceQuota](ctx, c, "resourcequotas", namespace)
	if err != nil {
		return quota.Bounds{}, err
	}
	ranges, alsoHidden, err := listBounds[corev1.LimitRange](ctx, c, "limitranges", namespace)
	if err != nil {
		return quota.Bounds{}, err
	}
	return quota.Bounds{Quotas: quotas, Ranges: ranges, Hidden: hidden || alsoHidden}, nil
}

// listBounds lists a resource of the core group in a namespace, and reports whether the user may not
// list it.
func listBounds[T any](ctx context.Context, c *Cluster, resource, namespace string) (out []T, hidden bool, err error) {
	client := c.client.Resource(corev1.SchemeGroupVersion.WithResource(resource)).Namespace(namespace)
	found, err := client.List(ctx, metav1.ListOptions{Limit: maxBounds})
	if apierrors.IsForbidden(err) {
		return nil, true, nil
	}
	if err != nil {
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
