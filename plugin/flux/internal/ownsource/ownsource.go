// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package ownsource makes the GitRepository that a Transform declares in spec.source. It has the
// name of the Transform, and an owner reference by which the cluster deletes it with the Transform.
//
// An object of that name which was not made for the Transform is never written.
package ownsource

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/apply"
)

// defaultInterval is the interval at which Flux looks for commits where the Transform has no
// interval.
const defaultInterval = 10 * time.Minute

// ForeignError is a GitRepository of the name of a Transform that was not made for it.
type ForeignError struct{ Name string }

// Error names the object and the fix.
func (e *ForeignError) Error() string {
	return fmt.Sprintf("spec.source: GitRepository %q exists already, and was not made for this Transform: name it in spec.sourceRef, or delete it", e.Name)
}

// Ensure writes the GitRepository of a Transform as the spec has it, and deletes the GitRepository
// of an earlier spec. The cache decides whether there is something to do; the client of the account
// writes.
func Ensure(ctx context.Context, cache client.Reader, as client.Client, t *v1alpha1.Transform) error {
	// Nothing is requested where the cache has what is wanted.
	isWanted := t.Spec.Source != nil
	live, err := find(ctx, cache, t)
	if !isWanted && apimeta.IsNoMatchError(err) {
		return nil // The cluster has no such kind.
	}
	if err != nil {
		return err
	}
	hasOwn := live != nil && isOwn(live, t)
	if hasOwn == isWanted && (!isWanted || apply.Same(want(t), live)) {
		return nil
	}

	// The object in the cluster decides, because the cache may be late.
	live, err = find(ctx, as, t)
	if err != nil {
		return err
	}
	hasOwn = live != nil && isOwn(live, t)
	switch {
	case isWanted && live != nil && !hasOwn:
		return &ForeignError{t.Name}
	case isWanted:
		return apply.Write(ctx, as, want(t))
	case hasOwn:
		return client.IgnoreNotFound(as.Delete(ctx, live, client.Preconditions{UID: &live.UID}))
	}
	return nil
}

// find returns the GitRepository with the name of the Transform, or nil if it does not exist.
func find(ctx context.Context, reader client.Reader, t *v1alpha1.Transform) (*sourcev1.GitRepository, error) {
	out := &sourcev1.GitRepository{}
	err := reader.Get(ctx, client.ObjectKeyFromObject(t), out)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // it does not exist
	}
	return out, err
}

// isOwn reports whether an object was made for the Transform.
func isOwn(o *sourcev1.GitRepository, t *v1alpha1.Transform) bool {
	owner := metav1.GetControllerOf(o)
	return owner != nil && owner.UID == t.UID
}

// want returns the GitRepository as the spec wants it.
func want(t *v1alpha1.Transform) *sourcev1.GitRepository {
	git, controls := t.Spec.Source.Git, true
	out := &sourcev1.GitRepository{
		TypeMeta: metav1.TypeMeta{APIVersion: sourcev1.GroupVersion.String(), Kind: sourcev1.GitRepositoryKind},
		ObjectMeta: metav1.ObjectMeta{
			Name: t.Name, Namespace: t.Namespace,
			Labels: map[string]string{v1alpha1.LabelTransform: t.Name, v1alpha1.LabelNamespace: t.Namespace},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.TransformKind, Name: t.Name, UID: t.UID, Controller: &controls,
			}},
		},
		Spec: sourcev1.GitRepositorySpec{URL: git.URL, Interval: metav1.Duration{Duration: cmp.Or(git.Interval.Duration, defaultInterval)}},
	}
	if git.SecretRef != nil {
		out.Spec.SecretRef = &meta.LocalObjectReference{Name: git.SecretRef.Name}
	}
	if r := git.Reference; r != nil {
		out.Spec.Reference = &sourcev1.GitRepositoryRef{Branch: r.Branch, Tag: r.Tag, SemVer: r.SemVer, Name: r.Name, Commit: r.Commit}
	}
	return out
}
