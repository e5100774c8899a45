// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package rights finds what a service account lacks to apply a render, before anything of it is
// published: it asks the API server as that account, by access reviews.
//
// Most rights are known from one request for each namespace, a SelfSubjectRulesReview, and three
// for each kind of the cluster. What these do not show is asked for by name, because a role may
// name objects: what is in the cluster needs no right to create it. Every account may send such reviews, by the role
// system:basic-user.
//
// Flux reads, creates and patches what it applies (ssa.ResourceManager). It deletes what is no
// longer rendered, which is no part of a render and is not looked at.
package rights

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
)

const (
	// concurrent is how many requests are sent at once.
	concurrent = 8
	// most is how many objects are asked for by name. A render of which more are not known to
	// be allowed has enough to show.
	most = 256
)

// Lack is what an account may not do with a resource.
type Lack struct {
	// Namespace is "" for resources of the cluster, and Resource is as in deployments.apps.
	Namespace, Resource string
	Verbs               []string
}

// String returns the lack as a message lists it.
func (l Lack) String() string {
	return fmt.Sprintf("%s %s in %s", strings.Join(l.Verbs, ", "), l.Resource, cmp.Or(l.Namespace, "the cluster"))
}

// need is an object, and the resource that it is.
type need struct {
	delivery.ObjectRef
	resource schema.GroupVersionResource
}

// scope is all objects of a resource in a namespace, or in the cluster.
type scope struct {
	namespace string
	resource  schema.GroupVersionResource
}

// scope returns the objects that the object is one of.
func (n need) scope() scope { return scope{n.Namespace, n.resource} }

// Missing returns what the account of a client lacks to apply objects, sorted. Kinds that the
// cluster does not have yet are not looked at. It returns nothing if the account may not even ask.
func Missing(ctx context.Context, as client.Client, objects []delivery.ObjectRef) ([]Lack, error) {
	needs, err := resolve(as.RESTMapper(), objects)
	if err != nil {
		return nil, err
	}

	// Most objects are covered by what the account may do with all of their kind.
	covered, err := review(ctx, as, needs)
	if err != nil {
		return nil, unlessForbidden(err)
	}
	needs = slices.DeleteFunc(needs, func(n need) bool { return covered[n.scope()] })

	// The others are asked for one by one.
	var mu sync.Mutex
	lacks := map[scope]map[string]bool{}
	err = send(ctx, needs[:min(len(needs), most)], func(ctx context.Context, n need) error {
		missing, err := ask(ctx, as, n)
		mu.Lock()
		defer mu.Unlock()
		for _, verb := range missing {
			if lacks[n.scope()] == nil {
				lacks[n.scope()] = map[string]bool{}
			}
			lacks[n.scope()][verb] = true
		}
		return err
	})
	return sorted(lacks), unlessForbidden(err)
}

// resolve returns objects with their resources. The scope of a kind is that of the cluster.
func resolve(mapper apimeta.RESTMapper, objects []delivery.ObjectRef) ([]need, error) {
	var out []need
	for _, o := range objects {
		at, err := mapper.RESTMapping(schema.GroupKind{Group: o.Group, Kind: o.Kind}, o.Version)
		if apimeta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if at.Scope.Name() != apimeta.RESTScopeNameNamespace {
			o.Namespace = ""
		}
		out = append(out, need{o, at.Resource})
	}
	return out, nil
}

// review returns of which scopes the account may apply every object.
func review(ctx context.Context, as client.Client, needs []need) (map[scope]bool, error) {
	// A namespace answers for all of its resources, and the cluster for one at a time.
	scopes := map[string][]scope{}
	for _, n := range needs {
		at := n.Namespace
		if at == "" {
			at = "/" + n.resource.String()
		}
		if !slices.Contains(scopes[at], n.scope()) {
			scopes[at] = append(scopes[at], n.scope())
		}
	}
	var mu sync.Mutex
	covered := map[scope]bool{}
	err := send(ctx, slices.Collect(maps.Values(scopes)), func(ctx context.Context, of []scope) error {
		may, err := reviewOne(ctx, as, of)
		mu.Lock()
		defer mu.Unlock()
		for i, ok := range may {
			covered[of[i]] = ok
		}
		return err
	})
	return covered, err
}

// reviewOne returns whether the account may apply every object of each of these scopes, which are
// of one namespace, or else one resource of the cluster.
func reviewOne(ctx context.Context, as client.Client, of []scope) ([]bool, error) {
	if of[0].namespace == "" {
		missing, err := ask(ctx, as, need{resource: of[0].resource})
		return []bool{len(missing) == 0}, err
	}
	rules := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: of[0].namespace}}
	err := as.Create(ctx, rules)
	out := make([]bool, len(of))
	for i, at := range of {
		out[i] = !slices.ContainsFunc(verbs(), func(verb string) bool { return !covers(rules.Status.ResourceRules, at.resource, verb) })
	}
	return out, err
}

// verbs returns what applying an object needs.
func verbs() []string { return []string{"create", "get", "patch"} }

// send calls a function for each of these, several at once.
func send[V any](ctx context.Context, all []V, do func(context.Context, V) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrent)
	for _, v := range all {
		group.Go(func() error { return do(ctx, v) })
	}
	return group.Wait()
}

// unlessForbidden returns an error, unless it is that the account may not ask.
func unlessForbidden(err error) error {
	if apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

// covers reports whether rules allow a verb on all objects of a resource.
func covers(rules []authorizationv1.ResourceRule, resource schema.GroupVersionResource, verb string) bool {
	has := func(all []string, one string) bool { return slices.Contains(all, one) || slices.Contains(all, "*") }
	return slices.ContainsFunc(rules, func(r authorizationv1.ResourceRule) bool {
		return len(r.ResourceNames) == 0 && has(r.Verbs, verb) && has(r.APIGroups, resource.Group) && has(r.Resources, resource.Resource)
	})
}

// ask returns the verbs that the account lacks for an object.
func ask(ctx context.Context, as client.Client, n need) ([]string, error) {
	var missing []string
	for _, verb := range verbs() {
		ok, err := allowed(ctx, as, n, verb)
		if err != nil {
			return nil, err
		}
		if !ok && (verb != "create" || n.Name == "" || !exists(ctx, as, n)) {
			missing = append(missing, verb)
		}
	}
	return missing, nil
}

// allowed asks whether the account may do something with an object.
func allowed(ctx context.Context, as client.Client, n need, verb string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: n.Namespace, Group: n.resource.Group, Version: n.resource.Version, Resource: n.resource.Resource, Name: n.Name, Verb: verb,
		},
	}}
	err := as.Create(ctx, review)
	return review.Status.Allowed, err
}

// exists reports whether the account sees an object.
func exists(ctx context.Context, as client.Client, n need) bool {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: n.Group, Version: n.Version, Kind: n.Kind})
	return as.Get(ctx, client.ObjectKey{Namespace: n.Namespace, Name: n.Name}, o) == nil
}

// sorted returns what is missing, by namespace and resource.
func sorted(lacks map[scope]map[string]bool) []Lack {
	var out []Lack
	for at, missing := range lacks {
		out = append(out, Lack{Namespace: at.namespace, Resource: at.resource.GroupResource().String(), Verbs: slices.Sorted(maps.Keys(missing))})
	}
	slices.SortFunc(out, func(a, b Lack) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Resource, b.Resource))
	})
	return out
}
