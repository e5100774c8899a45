// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ropewalk/ropewalk/artifact"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// DefaultWithin bounds the wait for engines to become idle.
const DefaultWithin = 10 * time.Minute

// interval is the time between two looks at an engine.
const interval = 500 * time.Millisecond

// GitOps stops, restores and ends the delivery of a PivotCluster on its parent.
type GitOps struct {
	// Plane is the parent.
	Plane *plane.Plane
	// Cluster is the PivotCluster that is delivered.
	Cluster *v1alpha1.PivotCluster
	// Open returns the repository for the output of a Transform, with the login for its pushes. The
	// Transform need not exist.
	Open func(ctx context.Context, t *v1alpha1.Transform) (artifact.Store, error)
	// ServiceAccount of the Transform; it may be "".
	ServiceAccount string
	// Applications are the namespaces in which Applications of Argo CD may be, as in the flag
	// --argocd-namespaces: "*" stands for all namespaces.
	Applications []string
	// Within bounds the wait for engines to become idle; DefaultWithin if zero.
	Within time.Duration
}

// readReceipt returns the receipt of the pivot. It returns ErrFenced if another process has taken
// the pivot to a step at which the caller has nothing to do.
func (g *GitOps) readReceipt(ctx context.Context, cluster plane.Ref, allowed func(state.Step) bool) (*state.Receipt, error) {
	name := types.NamespacedName{Namespace: g.Cluster.ClusterNamespace(), Name: g.Cluster.Name}
	if cluster.Namespace != name.Namespace || cluster.Name != name.Name {
		return nil, fmt.Errorf("%s is not that of PivotCluster %q: expected %s", cluster, g.Cluster.Name, name)
	}

	// The receipt decides who drives the pivot.
	r, err := state.Read(ctx, g.Plane, name)
	switch {
	case err != nil:
		return nil, err
	case r == nil:
		return nil, fmt.Errorf("%s plane: %s has no receipt of a pivot: %w", g.Plane.Name(), cluster, state.ErrFenced)
	case r.Role != state.RoleSource || !allowed(r.Step):
		const format = "%s plane: pivot %q of %s is at step %s of its %s: %w"
		return nil, fmt.Errorf(format, g.Plane.Name(), r.ID, cluster, r.Step, r.Role, state.ErrFenced)
	}
	return r, nil
}

// repeat calls pass until it waits for nothing. A time-out is not an error of the context, so that
// a pivot that is not committed is undone.
func (g *GitOps) repeat(ctx context.Context, doing string, pass func(context.Context) (waiting string, err error)) error {
	within := cmp.Or(g.Within, DefaultWithin)
	for began := time.Now(); ; {
		waiting, err := pass(ctx)
		if err != nil || waiting == "" {
			return err
		}
		if time.Since(began) > within {
			return fmt.Errorf("%s plane: %s: not done after %s: %s", g.Plane.Name(), doing, within, waiting)
		}
		if err := g.Plane.Sleep(ctx, interval); err != nil {
			return err
		}
	}
}
