// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/enrol"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/state"
)

// Keys of the Secret of an agent, beside those of its credentials.
const (
	// TokenKey is gone once the agent is enrolled.
	TokenKey = "token"
	// EndpointKey is the registration endpoint, https://HOST:PORT.
	EndpointKey = "endpoint"
	// LinkKey is the address of the link, HOST:PORT.
	LinkKey = "link"
)

// AgentData is the Secret that an agent begins with. Trust is as in enrol.Credentials, which
// the agent adds a key to.
func AgentData(token, endpoint, link string, trust enrol.Trust) map[string][]byte {
	data := trust.Encode()
	data[TokenKey], data[EndpointKey], data[LinkKey] = []byte(token), []byte(endpoint), []byte(link)
	return data
}

// MoverRole is the ClusterRole that both ends of a pivot need in the namespace of the cluster.
const MoverRole = "ropewalk-pivot-mover"

// MoverBinding binds the account of an end to it.
func MoverBinding(namespace string, account types.NamespacedName) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: MoverRole},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: MoverRole},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: account.Namespace, Name: account.Name}},
	}
}

// InCharge reports whether the cluster of a PivotCluster with the SelfAnnotation is in charge of
// itself. Its receipt says so, nil where there is none: where a user has deleted that, the
// condition says what it was. A cluster that was to move away, and did not, has not lost it.
func InCharge(c *v1alpha1.PivotCluster, r *state.Receipt) bool {
	switch {
	case r == nil:
		return apimeta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.PivotedCondition)
	case r.Role == state.RoleSource:
		return r.Step == state.Aborted
	}
	return r.InCharge()
}

// HandedOver reports whether the parent has given the cluster to itself, or has begun to: from
// then on it has no say in it.
func HandedOver(c *v1alpha1.PivotCluster, r *state.Receipt) bool {
	return InCharge(c, r) || r != nil && (r.Role == state.RoleSource || r.Step.Forward())
}
