// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"fmt"
	"time"

	"github.com/fluxcd/pkg/auth/gcp"
	corev1 "k8s.io/api/core/v1"
)

const (
	// federation is the annotation that names the workload identity provider which
	// knows a cluster that is not one of GKE.
	federation = "gcp.auth.fluxcd.io/workload-identity-provider"
	// metadataPatience bounds the time of the metadata server of GKE. It is on the node, and
	// answers in milliseconds.
	metadataPatience = 5 * time.Second
)

// google is the library's provider for Google, with bounds for the question where it runs: the
// library asks it behind one lock for the process, which waits without end. Outside of GKE each
// account without the annotation would hold up all others for up to fifteen seconds.
type google struct {
	gcp.Provider
	// slot has room for one request.
	slot chan struct{}
}

// GetAudiences implements auth.Provider.
func (g google) GetAudiences(ctx context.Context, account corev1.ServiceAccount) ([]string, error) {
	if account.Annotations[federation] != "" {
		return g.Provider.GetAudiences(ctx, account)
	}
	askCtx, cancel := context.WithTimeout(ctx, metadataPatience)
	defer cancel()
	audiences, err := g.clusterAudiences(askCtx, account)
	if err != nil {
		const format = "it has no annotation %s, and no metadata server of GKE says which cluster this is: %w"
		return nil, fmt.Errorf(format, federation, unwrapped(err))
	}
	return audiences, nil
}

// clusterAudiences asks the library for the audiences, one request after the other.
func (g google) clusterAudiences(ctx context.Context, account corev1.ServiceAccount) ([]string, error) {
	select {
	case g.slot <- struct{}{}:
		defer func() { <-g.slot }()
		return g.Provider.GetAudiences(ctx, account)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
