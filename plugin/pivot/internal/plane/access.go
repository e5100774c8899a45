// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Right is a verb on a kind; Namespace is "" for all namespaces.
type Right struct {
	Verb, Group, Resource, Namespace string
}

// String returns the right as text, such as "delete machines.cluster.x-k8s.io in namespace apps".
func (r Right) String() string {
	out := r.Verb + " " + r.Resource
	if r.Group != "" {
		out += "." + r.Group
	}
	if r.Namespace == "" {
		return out + " in all namespaces"
	}
	return out + " in namespace " + r.Namespace
}

// Missing returns the rights that the user of the kubeconfig does not have, sorted.
func (p *Plane) Missing(ctx context.Context, rights []Right) ([]Right, error) {
	var mu sync.Mutex
	var missing []Right
	reviews := Kind{Group: "authorization.k8s.io", Kind: "SelfSubjectAccessReview", Resource: "selfsubjectaccessreviews", Version: "v1"}
	err := p.Each(ctx, len(rights), func(ctx context.Context, i int) error {
		r := rights[i]
		review := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": reviews.APIVersion(), "kind": reviews.Kind,
			"spec": map[string]any{"resourceAttributes": map[string]any{
				"verb": r.Verb, "group": r.Group, "resource": r.Resource, "namespace": r.Namespace,
			}},
		}}
		answer, err := p.Create(ctx, reviews, review, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("%s plane: reviewing the right to %s: %w", p.Name(), r, err)
		}
		if allowed, _, _ := unstructured.NestedBool(answer.Object, "status", "allowed"); !allowed {
			mu.Lock()
			defer mu.Unlock()
			missing = append(missing, r)
		}
		return nil
	})
	slices.SortFunc(missing, func(a, b Right) int {
		return cmp.Or(
			cmp.Compare(a.Group, b.Group),
			cmp.Compare(a.Resource, b.Resource),
			cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Verb, b.Verb),
		)
	})
	return missing, err
}

// User returns the name of the user of the kubeconfig, for an audit.
func (p *Plane) User(ctx context.Context) (string, error) {
	k := Kind{Group: "authentication.k8s.io", Kind: "SelfSubjectReview", Resource: "selfsubjectreviews", Version: "v1"}
	review := &unstructured.Unstructured{Object: map[string]any{"apiVersion": k.APIVersion(), "kind": k.Kind}}
	answer, err := p.Create(ctx, k, review, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	name, _, _ := unstructured.NestedString(answer.Object, "status", "userInfo", "username")
	return name, nil
}
