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

// Keys of the Secret of an agent, beside the keys of its credentials.
const (
	// TokenKey is gone once the agent is enrolled.
	TokenKey = "token"
	// EndpointKey is the registration endpoint, https://HOST:PORT.
	EndpointKey = "endpoint"
	// LinkKey is the address of the link, HOST:PORT.
	LinkKey = "link"
)

// AgentData returns the first data of an agent's Secret. The agent adds its key.
func AgentData(token, endpoint, link string, trust enrol.Trust) map[string][]byte {
	data := trust.Encode()
	data[TokenKey] = []byte(token)
	data[EndpointKey] = []byte(endpoint)
	data[LinkKey] = []byte(link)
	return data
}

// MoverRole is the ClusterRole that both ends of a pivot need in the namespace of the cluster.
const MoverRole = "ropewalk-pivot-mover"

// MoverBinding returns the binding of the account of an end to MoverRole.
func MoverBinding(namespace string, account types.NamespacedName) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: MoverRole},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: MoverRole},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: account.Namespace, Name: account.Name}},
	}
}

// InCharge reports whether the cluster of a PivotCluster with the SelfAnnotation is in charge of
// itself. Its receipt decides. If r is nil, because a user has deleted the receipt, the condition
// Pivoted decides. After an aborted pivot to another cluster it is still in charge.
func InCharge(c *v1alpha1.PivotCluster, r *state.Receipt) bool {
	switch {
	case r == nil:
		return apimeta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.PivotedCondition)
	case r.Role == state.RoleSource:
		return r.Step == state.Aborted
	}
	return r.InCharge()
}

// HandedOver reports whether the parent has given the cluster to itself, or has begun to. From
// then on the parent cannot change it.
func HandedOver(c *v1alpha1.PivotCluster, r *state.Receipt) bool {
	if r == nil {
		return InCharge(c, r)
	}
	return InCharge(c, r) || r.Role == state.RoleSource || r.Step.Forward()
}
