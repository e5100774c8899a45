// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
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

// tokens makes the Secrets by which machines enrol.
type tokens struct {
	client    client.Client
	endpoints *Endpoints
	now       func() time.Time
}

// ensure makes the Secret by which the machines of a cluster enrol, and a new token if there
// is none that can be used. It reports whether it has changed the status, which it writes in that
// case.
func (t tokens) ensure(ctx context.Context, c *v1alpha1.PivotCluster, provisioned bool) (changed bool, err error) {
	// Without a parent there is nothing to call, and the files of the machines are the same.
	live := &corev1.Secret{}
	err = t.client.Get(ctx, types.NamespacedName{Namespace: c.ClusterNamespace(), Name: EnrolSecret(c.Name)}, live)
	if client.IgnoreNotFound(err) != nil {
		return false, err
	}
	if installs(c) {
		return false, t.writeSecret(ctx, c, live, map[string][]byte{tokenKey: {}, endpointKey: {}, authoritiesKey: {}})
	}

	// Make a token, or extend one that was not used yet.
	at, err := t.endpoints.placeOf(ctx, c)
	if err != nil {
		return false, err
	}
	token := string(live.Data[tokenKey])
	if needsToken(c.Status.Enrolment, c.Spec.Agent.Rejoin, token) {
		token, c.Status.Enrolment = enrol.Mint(c.Spec.Agent.Rejoin, t.now())
		changed = true
	} else if extendsToken(c.Status.Enrolment, provisioned, t.now()) {
		c.Status.Enrolment.Expires = &metav1.Time{Time: t.now().Add(enrol.TokenLifetime)}
		changed = true
	}

	// First its sum: a token that is not known to the parent is made again.
	if changed {
		if err := t.client.Status().Update(ctx, c, owner); err != nil {
			return false, err
		}
	}
	return changed, t.writeSecret(ctx, c, live, map[string][]byte{
		tokenKey: []byte(token), endpointKey: []byte(at.registration()), authoritiesKey: at.endpoint.Authority().Trust().PEM(),
	})
}

// extendsToken reports whether the lifetime of a token begins again now: the machine that has it is
// still being made, or the token was made while the clock was ahead.
func extendsToken(e *v1alpha1.EnrolmentStatus, provisioned bool, now time.Time) bool {
	if e.PublicKey != "" {
		return false
	}
	if e.Expires == nil {
		return !provisioned
	}
	left := e.Expires.Sub(now)
	return left > enrol.TokenLifetime || !provisioned && left < enrol.TokenLifetime/2
}

// needsToken reports whether a token has to be made: there is none, it was lost between two
// writes, or the user wants another. A token that has expired unused is not replaced by itself:
// the machines have it, and the status shows it.
func needsToken(e *v1alpha1.EnrolmentStatus, rejoin, token string) bool {
	switch {
	case e == nil || e.TokenHash == "" || e.Rejoin != rejoin:
		return true
	case e.PublicKey != "":
		return false
	}
	return enrol.TokenHash(token) != e.TokenHash
}

func (t tokens) writeSecret(ctx context.Context, c *v1alpha1.PivotCluster, live *corev1.Secret, data map[string][]byte) error {
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
		return t.client.Create(ctx, want, owner)
	}
	return t.client.Update(ctx, want, owner)
}
