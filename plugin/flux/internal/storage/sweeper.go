// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

const (
	// sweepEvery is the interval at which files that are not needed are looked for, and
	// verifyEvery the interval at which all files are read.
	sweepEvery  = 5 * time.Minute
	verifyEvery = time.Hour
)

// Sweeper removes files that no reconciliation removes: files of Transforms that are gone, of
// namespaces that are gone, and files whose TTL ends when nothing else happens. It starts by reading
// all files. It is a Runnable of a manager, and runs where the server runs.
type Sweeper struct {
	Storage *Storage
	// Reader finds Transforms and ExternalArtifacts.
	Reader client.Reader
	// Lost, where set, is called for Transforms that deliver an artifact which is missing or
	// damaged: another render makes it again.
	Lost func(*v1alpha1.Transform)
}

// NeedLeaderElection reports that only the leader has files.
func (*Sweeper) NeedLeaderElection() bool { return true }

// Start sweeps until ctx ends. Errors are logged, and the next sweep tries again.
func (w *Sweeper) Start(ctx context.Context) error {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	var verified time.Time
	for {
		// All files are read once in a while, which takes long.
		now := time.Now()
		whole := now.Sub(verified) >= verifyEvery
		if whole {
			verified = now
		}
		swept, err := w.Sweep(ctx, now, whole)
		if len(swept.Removed)+len(swept.Damaged) > 0 {
			log.FromContext(ctx).Info("swept the storage", "removed", len(swept.Removed), "damaged", swept.Damaged)
		}
		if err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "sweeping the storage")
		}

		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Swept is the result of a sweep.
type Swept struct {
	// Removed are files that were not needed.
	Removed []string
	// Damaged are archives that did not have their digests, as NAMESPACE/NAME DIGEST; they are
	// removed.
	Damaged []string
	// Lost are the Transforms for which Lost was called.
	Lost []types.NamespacedName
}

// Sweep removes files that are not needed from all folders, and also reads the archives if verify is
// true. It sends two requests for each namespace that has files.
func (w *Sweeper) Sweep(ctx context.Context, now time.Time, verify bool) (Swept, error) {
	var out Swept
	owners, err := w.Storage.Owners()
	if err != nil {
		return out, err
	}
	errs := []error{w.Storage.Clear(now)}
	for len(owners) > 0 {
		namespace := owners[0].Namespace
		n := slices.IndexFunc(owners, func(o types.NamespacedName) bool { return o.Namespace != namespace })
		if n < 0 {
			n = len(owners)
		}
		errs = append(errs, w.sweep(ctx, namespace, owners[:n], now, verify, &out))
		owners = owners[n:]
		if err := ctx.Err(); err != nil {
			return out, err
		}
	}
	return out, errors.Join(errs...)
}

// sweep removes files that are not needed from the folders of one namespace. Nothing is removed if
// the cluster does not answer.
func (w *Sweeper) sweep(ctx context.Context, namespace string, owners []types.NamespacedName, now time.Time, verify bool, out *Swept) error {
	// Files that the cluster refers to are needed.
	var (
		externals  sourcev1.ExternalArtifactList
		transforms v1alpha1.TransformList
	)
	if err := w.Reader.List(ctx, &externals, client.InNamespace(namespace), client.HasLabels{v1alpha1.LabelTransform}); err != nil {
		return fmt.Errorf("the ExternalArtifacts of namespace %q: %w", namespace, err)
	}
	if err := w.Reader.List(ctx, &transforms, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("the Transforms of namespace %q: %w", namespace, err)
	}

	// The digests are gathered by the name of the Transform.
	live := map[string][]string{}
	complete := map[string][]string{}
	for i := range externals.Items {
		if a := externals.Items[i].Status.Artifact; a != nil {
			name := externals.Items[i].Labels[v1alpha1.LabelTransform]
			live[name] = append(live[name], a.Digest)
		}
	}
	for i := range transforms.Items {
		complete[transforms.Items[i].Name] = needed(&transforms.Items[i])
	}

	// A damaged file is removed before the rest is marked.
	var errs []error
	for _, owner := range owners {
		if verify {
			bad, err := w.Storage.Verify(ctx, owner)
			errs = append(errs, err)
			for _, digest := range bad {
				out.Damaged = append(out.Damaged, owner.String()+" "+digest)
			}
		}
		removed, err := w.Storage.Retain(owner, complete[owner.Name], live[owner.Name], now)
		out.Removed = append(out.Removed, removed...)
		errs = append(errs, err)
	}

	// A Transform whose artifact is not stored is reconciled.
	for i := range transforms.Items {
		w.reportLost(ctx, &transforms.Items[i], out)
	}
	return errors.Join(errs...)
}

// reportLost reports a Transform whose artifact is not stored.
func (w *Sweeper) reportLost(ctx context.Context, t *v1alpha1.Transform, out *Swept) {
	isElsewhere := t.Spec.Output != nil && t.Spec.Output.ExternalArtifact == nil
	if isElsewhere || t.Status.Artifact == nil {
		return
	}
	if _, err := w.Storage.For(nil, t).Desired(ctx, t.Status.Artifact.Digest); err == nil {
		return
	}
	out.Lost = append(out.Lost, client.ObjectKeyFromObject(t))
	if w.Lost != nil {
		w.Lost(t)
	}
}
