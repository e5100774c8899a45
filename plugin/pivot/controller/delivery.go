// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"github.com/ropewalk/ropewalk/artifact"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/gitops"
)

// Delivery is what the controller of Transforms knows of registries and engines.
type Delivery struct {
	// Open is the repository of the output of a Transform, which need not exist.
	Open func(ctx context.Context, t *v1alpha1.Transform) (artifact.Store, error)
	// Applications are the namespaces in which Applications of Argo CD may be.
	Applications []string
}

// gitOps returns the engine of a cluster on this plane.
func (r *Reconciler) gitOps(c *v1alpha1.PivotCluster) *gitops.GitOps {
	return &gitops.GitOps{
		Plane: r.plane, Cluster: c, Open: r.Delivery.Open, ServiceAccount: deliveryAccount, Applications: r.Delivery.Applications,
	}
}
