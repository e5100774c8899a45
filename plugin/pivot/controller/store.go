// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/bootstrap"
)

// Indexes of the cache.
const (
	byUID   = ".metadata.uid"
	byToken = ".status.enrolment.tokenHash" //nolint:gosec // the name of a field
	bySelf  = ".metadata.annotations.self"
)

// indexes returns the indexes that the cache needs.
func indexes() map[string]client.IndexerFunc {
	return map[string]client.IndexerFunc{
		byUID: func(o client.Object) []string { return []string{string(o.GetUID())} },
		byToken: func(o client.Object) []string {
			if c, ok := o.(*v1alpha1.PivotCluster); ok && c.Status.Enrolment != nil {
				return []string{c.Status.Enrolment.TokenHash}
			}
			return nil
		},
		bySelf: func(o client.Object) []string {
			return []string{strconv.FormatBool(o.GetAnnotations()[bootstrap.SelfAnnotation] != "")}
		},
	}
}

// store finds and changes PivotClusters for agents. They are found by the cache, as all agents
// come back at once after a restart, and what is changed is read from the API server.
type store struct {
	cache  client.Reader
	direct client.Client
}

// cached returns the PivotCluster of a UID as the cache has it; nil if there is none.
func (s *store) cached(ctx context.Context, uid types.UID) (*v1alpha1.PivotCluster, error) {
	return s.find(ctx, byUID, string(uid))
}

// own returns the PivotCluster of the cluster itself; nil if there is none.
func (s *store) own(ctx context.Context) (*v1alpha1.PivotCluster, error) {
	return s.find(ctx, bySelf, "true")
}

func (s *store) find(ctx context.Context, index, value string) (*v1alpha1.PivotCluster, error) {
	var list v1alpha1.PivotClusterList
	if err := s.cache.List(ctx, &list, client.MatchingFields{index: value}); err != nil || len(list.Items) == 0 {
		return nil, err
	}
	return &list.Items[0], nil
}

// ByToken implements enrol.Store.
func (s *store) ByToken(ctx context.Context, hash string) (*v1alpha1.PivotCluster, error) {
	return s.fresh(ctx, byToken, hash)
}

// ByUID implements enrol.Store.
func (s *store) ByUID(ctx context.Context, uid types.UID) (*v1alpha1.PivotCluster, error) {
	return s.fresh(ctx, byUID, string(uid))
}

// fresh finds a PivotCluster in the cache, and returns it as the API server has it; nil if there
// is none.
func (s *store) fresh(ctx context.Context, index, value string) (*v1alpha1.PivotCluster, error) {
	c, err := s.find(ctx, index, value)
	if err != nil || c == nil {
		return nil, err
	}
	live := &v1alpha1.PivotCluster{}
	if err := s.direct.Get(ctx, client.ObjectKeyFromObject(c), live); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return live, nil
}

// Update implements enrol.Store.
func (s *store) Update(ctx context.Context, c *v1alpha1.PivotCluster) error {
	return s.direct.Status().Update(ctx, c, owner)
}

// change changes the status of a PivotCluster, and tries again if another client changed it
// meanwhile.
func (s *store) change(ctx context.Context, uid types.UID, change func(*v1alpha1.PivotCluster)) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		c, err := s.ByUID(ctx, uid)
		if err != nil {
			return err
		}
		if c == nil {
			return fmt.Errorf("there is no PivotCluster with UID %q", uid)
		}
		change(c)
		return s.Update(ctx, c)
	})
}
