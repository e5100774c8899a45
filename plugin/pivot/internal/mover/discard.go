// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package mover

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/snapshot"
)

// Discard deletes the objects that the pivot imported, before it is committed. It refuses if the
// imported Cluster is not paused, because the target may be in charge then.
func Discard(ctx context.Context, p *plane.Plane, kinds plane.Kinds, outline []snapshot.Entry, id string) error {
	const rounds = 5 // A single round is enough unless another process writes at the same time.
	t := &target{plane: p, kinds: kinds, id: id}

	// The version does not matter, and a kind that is not served has no objects.
	var served []snapshot.Entry
	for _, e := range outline {
		if k, ok := kinds[e.Ref.GroupKind()]; ok {
			e.APIVersion = k.APIVersion()
			served = append(served, e)
		}
	}

	// Delete marked objects until none is left: a request that came late may still import objects.
	positions := index(served)
	for range rounds {
		var marked []snapshot.Entry
		err := survey(ctx, p, kinds, served, func(o *unstructured.Unstructured) error {
			if m, of := markOf(o); m == "" || of != id {
				return nil
			}
			e := entry(o)
			if i, ok := positions[e.Ref]; ok {
				e = served[i]
			}
			marked = append(marked, e)
			if isCluster(e.Ref) && !isPaused(o) {
				return inventory.Findings{{
					Ref:     e.Ref,
					Problem: fmt.Sprintf("is not paused on the %s plane: it may be in charge", p.Name()),
					Advice:  "set its spec.paused to true, if it must not be",
				}}
			}
			return nil
		})
		if err != nil || len(marked) == 0 {
			return err
		}
		if err := t.sweep(ctx, marked); err != nil {
			return err
		}
	}
	const format = "%s plane: objects with the mark of pivot %q are still there after %d attempts to delete them"
	return fmt.Errorf(format, p.Name(), id, rounds)
}
