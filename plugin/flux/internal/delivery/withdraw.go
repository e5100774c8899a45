// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"cmp"
	"context"
	"fmt"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/apply"
)

// Withdraw implements [Engine]. Objects that a hand-over has marked are restored first, so that Flux
// deletes them too.
func (f *Flux) Withdraw(ctx context.Context, t *v1alpha1.Transform) (done bool, waiting string, err error) {
	// A namespace that is deleted takes all of it along.
	gone, err := f.namespaceGone(ctx, t.Namespace)
	if err != nil || gone {
		return gone, "", err
	}

	// The state is read as for a delivery without layers.
	d := f.begin(t)
	orphans := t.Spec.Delivery != nil && t.Spec.Delivery.DeletionPolicy == orphan
	if orphans {
		d.policy = orphan
	}
	if err := d.read(ctx); err != nil {
		return false, "", err
	}
	d.rivals.ends = true
	d.look(Desired{})

	// The sources go last.
	if len(d.live.kustomizations) == 0 {
		d.Claims.recordUses(t, nil)
		left, err := d.tidy(ctx)
		return err == nil && left == 0, "its sources are being deleted", err
	}

	// Objects that stay are left by all layers at once.
	if orphans {
		for _, name := range ordered(d.live.kustomizations) {
			if err := d.orphan(ctx, d.live.kustomizations[name]); err != nil {
				return false, "", err
			}
		}
		return false, "its Kustomizations let go of their objects", nil
	}

	// Objects that go are deleted layer by layer, the last first.
	if err := d.load(ctx, nil); err != nil {
		return false, "", err
	}
	d.Claims.recordUses(t, uses(nil, d.states))
	for _, g := range plan(nil, d.states, d.rivals) {
		if err := d.bring(ctx, g); err != nil {
			return false, "", fmt.Errorf("layer %q: %w", g.layer, err)
		}
		if !d.states[g.layer].deleting && g.keep {
			waiting = cmp.Or(g.others, waiting)
			continue
		}
		waiting = withdrawing(d.live.kustomizations[g.layer], d.states[g.layer])
		break
	}
	return false, waiting, nil
}

// withdrawing returns a message about a Kustomization that is being deleted. Flux writes nothing
// into its status when it cannot delete the objects: only its log has the reason.
func withdrawing(k *kustomizev1.Kustomization, s *state) string {
	switch {
	case s.suspended == theirs:
		return fmt.Sprintf("Kustomization %q is suspended and would leave its objects behind: resume it", k.Name)
	case k.Spec.KubeConfig != nil:
		return fmt.Sprintf("Kustomization %q is being deleted, with its objects in the cluster of spec.delivery.flux.kubeConfig: "+
			"if that cluster is gone, set deletionPolicy: Orphan", k.Name)
	}
	return fmt.Sprintf("Kustomization %q is being deleted", k.Name)
}

// orphan deletes a Kustomization so that its objects stay.
func (d *delivery) orphan(ctx context.Context, k *kustomizev1.Kustomization) error {
	if k.Spec.DeletionPolicy != orphan {
		patch := client.MergeFrom(k.DeepCopy())
		k.Spec.DeletionPolicy = orphan
		if err := client.IgnoreNotFound(d.Client.Patch(ctx, k, patch, apply.FieldOwner)); err != nil {
			return err
		}
	}
	if !k.DeletionTimestamp.IsZero() {
		return nil
	}
	return client.IgnoreNotFound(d.Client.Delete(ctx, k, client.Preconditions{UID: &k.UID}))
}

// namespaceGone reports whether a namespace is being deleted: everything in it is deleted with it.
func (f *Flux) namespaceGone(ctx context.Context, name string) (bool, error) {
	var ns corev1.Namespace
	err := f.Client.Get(ctx, client.ObjectKey{Name: name}, &ns)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case apierrors.IsForbidden(err):
		return false, nil // Without the right to read them, wait for the Kustomizations.
	case err != nil:
		return false, err
	}
	return !ns.DeletionTimestamp.IsZero(), nil
}

// tidy deletes sources that no Kustomization refers to. It returns their number.
func (d *delivery) tidy(ctx context.Context) (remaining int, err error) {
	used := map[sourceKey]bool{}
	for _, k := range d.live.kustomizations {
		used[sourceKey{k.Spec.SourceRef.Kind, k.Spec.SourceRef.Name}] = true
	}
	for k, s := range d.live.sources {
		layer := s.GetLabels()[v1alpha1.LabelLayer]
		if used[k] || d.touched[layer] || d.live.kustomizations[layer] == nil && d.layers[layer] != nil {
			continue
		}
		remaining++
		if !s.GetDeletionTimestamp().IsZero() {
			continue
		}
		if err := client.IgnoreNotFound(d.Client.Delete(ctx, s)); err != nil {
			return remaining, err
		}
	}
	return remaining, nil
}
