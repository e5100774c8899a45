// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
)

// EnrolSecret returns the name of the Secret by which the machines of a cluster enrol.
func EnrolSecret(cluster string) string { return cluster + "-enrol" }

// Keys of that Secret, which are files on a machine.
const (
	tokenKey       = "token"
	endpointKey    = "endpoint"
	authoritiesKey = "ca.crt"
)

// place returns where the children of this cluster reach it, or why they cannot.
func (r *Reconciler) place(ctx context.Context, c *v1alpha1.PivotCluster) (*place, error) {
	if r.Endpoints == nil {
		return nil, reject("this controller serves no children")
	}
	own, err := r.children.store.own(ctx)
	if err != nil {
		return nil, err
	}
	if ref := c.Spec.CellRef; ref != nil && own == nil {
		return nil, reject("spec.cellRef: this cluster has no PivotCluster of its own, as %q would be: remove cellRef, or create this PivotCluster on the cluster %q", ref.Name, ref.Name)
	} else if ref != nil && ref.Name != own.Name {
		return nil, reject("spec.cellRef: expected %q, the PivotCluster of this cluster: correct it, or create this PivotCluster on the cluster %q", own.Name, ref.Name)
	}
	at := r.Endpoints.current.Load()
	switch {
	case at != nil:
		return at, nil
	case r.Endpoints.Given == nil && own == nil:
		return nil, reject("this cluster cannot have children: it has no PivotCluster of its own, which may have spec.cell; start the controller with --cell-host")
	case r.Endpoints.Given == nil && own.Spec.Cell == nil:
		return nil, reject("this cluster cannot have children: add spec.cell to its own PivotCluster, %q", own.Name)
	}
	if why := r.Endpoints.problem.Load(); why != nil && *why != nil {
		return nil, fmt.Errorf("children are not served: %w", *why)
	}
	return nil, errors.New("the endpoints for children are not served yet")
}

// ensureToken makes the Secret by which the machines of a cluster enrol, and a new token if there
// is none that can be used. It reports whether it has changed the status, which it writes in that
// case.
func (r *Reconciler) ensureToken(ctx context.Context, c *v1alpha1.PivotCluster, provisioned bool) (changed bool, err error) {
	live := &corev1.Secret{}
	err = r.client.Get(ctx, types.NamespacedName{Namespace: c.ClusterNamespace(), Name: EnrolSecret(c.Name)}, live)
	if client.IgnoreNotFound(err) != nil {
		return false, err
	}
	if installs(c) {
		// There is no parent to call, and the files of the machines are the same.
		return false, r.writeSecret(ctx, c, live, map[string][]byte{tokenKey: {}, endpointKey: {}, authoritiesKey: {}})
	}

	// Make a token, or extend one that was not used yet.
	at, err := r.place(ctx, c)
	if err != nil {
		return false, err
	}
	token := string(live.Data[tokenKey])
	if r.needsToken(c, token) {
		token, c.Status.Enrolment = enrol.Mint(c.Spec.Agent.Rejoin, r.Now())
		changed = true
	} else if r.extends(c.Status.Enrolment, provisioned) {
		c.Status.Enrolment.Expires = &metav1.Time{Time: r.Now().Add(enrol.TokenLifetime)}
		changed = true
	}
	if changed {
		// First its sum: a token that is not known to the parent is made again.
		if err := r.client.Status().Update(ctx, c, owner); err != nil {
			return false, err
		}
	}
	return changed, r.writeSecret(ctx, c, live, map[string][]byte{
		tokenKey: []byte(token), endpointKey: []byte(registration(at.cell)), authoritiesKey: at.endpoint.Authority().Trust().PEM(),
	})
}

// extends reports whether the lifetime of a token begins again now: the machine that has it is
// still being made, or the token was made while the clock was ahead.
func (r *Reconciler) extends(e *v1alpha1.EnrolmentStatus, provisioned bool) bool {
	if e.PublicKey != "" {
		return false
	}
	if e.Expires == nil {
		return !provisioned
	}
	left := e.Expires.Sub(r.Now())
	return left > enrol.TokenLifetime || !provisioned && left < enrol.TokenLifetime/2
}

// needsToken reports whether a token has to be made: there is none, it was lost between two
// writes, or the user wants another. A token that has expired unused is not replaced by itself:
// the machines have it, and the status shows it.
func (r *Reconciler) needsToken(c *v1alpha1.PivotCluster, token string) bool {
	e := c.Status.Enrolment
	switch {
	case e == nil || e.TokenHash == "" || e.Rejoin != c.Spec.Agent.Rejoin:
		return true
	case e.PublicKey != "":
		return false
	}
	return enrol.TokenHash(token) != e.TokenHash
}

func (r *Reconciler) writeSecret(ctx context.Context, c *v1alpha1.PivotCluster, live *corev1.Secret, data map[string][]byte) error {
	if equality.Semantic.DeepEqual(live.Data, data) {
		return nil
	}
	want := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.ClusterNamespace(), Name: EnrolSecret(c.Name), ResourceVersion: live.ResourceVersion,
			// It moves with the cluster: the bootstrap data of each new machine are made of it.
			Labels: map[string]string{ClusterLabel: c.Name, "cluster.x-k8s.io/cluster-name": c.Name, "clusterctl.cluster.x-k8s.io/move": ""},
		},
		Data: data,
	}
	if live.ResourceVersion == "" {
		return r.client.Create(ctx, want, owner)
	}
	return r.client.Update(ctx, want, owner)
}

func registration(cell *v1alpha1.Cell) string {
	return "https://" + net.JoinHostPort(cell.Host, strconv.Itoa(int(cell.Port)))
}

func linkAddress(cell *v1alpha1.Cell) string {
	return net.JoinHostPort(cell.Host, strconv.Itoa(int(cell.LinkPort)))
}

// expired returns what to do about a token that has ended unused; "" if it has not.
func expired(e *v1alpha1.EnrolmentStatus, now time.Time) string {
	if e == nil || e.Expires == nil || e.PublicKey != "" || !enrol.Expired(e, now) {
		return ""
	}
	return fmt.Sprintf("the token of the agent has expired at %s, unused: see whether the machines reach the parent, then change spec.agent.rejoin, and run the script on a machine of the control plane again",
		e.Expires.UTC().Format(time.RFC3339))
}
