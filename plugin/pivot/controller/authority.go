// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
)

const (
	// AuthoritySecret is the Secret of the authority of a parent, in the namespace of the
	// controller.
	AuthoritySecret = "ropewalk-pivot-authority" //nolint:gosec // the name of a Secret
	// CellsAnnotation of the Secret of the authority are the cells that children were given, in
	// JSON, the newest first: an agent goes on calling the one that it was given.
	CellsAnnotation = "pivot.ropewalk.dev/cells"
)

// authoritySecret reads and writes the authority of a parent, and the cells that children were
// given.
type authoritySecret struct {
	client    client.Client
	namespace string
	now       func() time.Time
}

// read returns the Secret of the authority, and the authority in it.
func (s authoritySecret) read(ctx context.Context) (*corev1.Secret, *enrol.Authority, error) {
	live := &corev1.Secret{}
	if err := s.client.Get(ctx, types.NamespacedName{Namespace: s.namespace, Name: AuthoritySecret}, live); err != nil {
		return nil, nil, err
	}
	a, err := enrol.DecodeAuthority(live.Data)
	return live, a, err
}

// ensure returns the authority of the Secret. It makes one if there is no Secret, or if
// the Secret is empty.
func (s authoritySecret) ensure(ctx context.Context) (*enrol.Authority, error) {
	live, a, err := s.read(ctx)
	gone := apierrors.IsNotFound(err)
	if !gone && (live == nil || len(live.Data) > 0) {
		return a, err
	}

	// A new authority must not strand agents of the lost one.
	if gone {
		if err := s.checkStranded(ctx); err != nil {
			return nil, err
		}
	}

	// Make an authority, and write it before it is used.
	made, err := enrol.NewAuthority(s.now())
	if err != nil {
		return nil, err
	}
	data, err := made.Encode()
	if err != nil {
		return nil, err
	}
	if !gone {
		live.Data = data
		return made, s.client.Update(ctx, live, owner)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: AuthoritySecret}, Data: data}
	if err := s.client.Create(ctx, secret, owner); apierrors.IsAlreadyExists(err) {
		_, a, err = s.read(ctx) // Another controller was first.
		return a, err
	} else if err != nil {
		return nil, err
	}
	return made, nil
}

// checkStranded returns an error if agents have certificates of an authority that was lost: they
// would accept no other one.
func (s authoritySecret) checkStranded(ctx context.Context) error {
	var list v1alpha1.PivotClusterList
	if err := s.client.List(ctx, &list); err != nil {
		return err
	}
	n := 0
	for _, c := range list.Items {
		if c.Status.Enrolment != nil && c.Status.Enrolment.PublicKey != "" {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("the Secret %s/%s is gone, and the agents of %d PivotClusters take no other authority than that: restore it from a backup; or create it without data, change spec.agent.rejoin of all of them, and give each agent its new token",
		s.namespace, AuthoritySecret, n)
}

// remember adds a cell to those that children were given, and returns all of them, the newest
// first.
func (s authoritySecret) remember(ctx context.Context, cell v1alpha1.Cell) ([]v1alpha1.Cell, error) {
	var secret corev1.Secret
	if err := s.client.Get(ctx, types.NamespacedName{Namespace: s.namespace, Name: AuthoritySecret}, &secret); err != nil {
		return nil, err
	}
	var before []v1alpha1.Cell
	if text := secret.Annotations[CellsAnnotation]; text != "" {
		if err := json.Unmarshal([]byte(text), &before); err != nil {
			return nil, fmt.Errorf("secret %s/%s: annotation %s: expected cells in JSON: %w", s.namespace, AuthoritySecret, CellsAnnotation, err)
		}
	}
	if len(before) > 0 && before[0] == cell {
		return before, nil
	}
	cells := addCell(before, cell)
	text, err := json.Marshal(cells)
	if err != nil {
		return nil, err
	}
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, CellsAnnotation, string(text))
	return cells, s.client.Update(ctx, &secret, owner)
}

// addCell returns cells with one more, the newest first. It replaces one at the same address: the
// type of the Service may change.
func addCell(cells []v1alpha1.Cell, cell v1alpha1.Cell) []v1alpha1.Cell {
	same := func(c v1alpha1.Cell) bool { c.ServiceType = cell.ServiceType; return c == cell }
	return append([]v1alpha1.Cell{cell}, slices.DeleteFunc(cells, same)...)
}
