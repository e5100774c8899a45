// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package rights finds the rights that a service account lacks to apply a render, before anything of
// the render is published: it asks the API server as that account, by access reviews.
//
// Most rights are known from one request for each namespace, a SelfSubjectRulesReview, and three
// for each kind of the cluster. Other rights are asked for by name, because a role may name objects,
// and an object that exists needs no right to create it. Every account may send such reviews, by the
// role system:basic-user.
//
// Flux reads, creates and patches objects (ssa.ResourceManager). It also deletes objects that are no
// longer rendered: they are not part of a render, and the right to delete them is not looked at.
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
	// concurrent limits the requests that are sent at once.
	concurrent = 8
	// most limits the objects that are asked for by name: a message that names so many rights
	// is long enough.
	most = 256
)

// Lack is a set of verbs on a resource that an account lacks.
type Lack struct {
	// Namespace is "" for resources of the cluster, and Resource is as in deployments.apps.
	Namespace, Resource string
	Verbs               []string
}

// String returns the lack as a message lists it.
func (l Lack) String() string {
	return fmt.Sprintf("%s %s in %s", strings.Join(l.Verbs, ", "), l.Resource, cmp.Or(l.Namespace, "the cluster"))
}

// need is an object, and its resource.
type need struct {
	delivery.ObjectRef
	resource schema.GroupVersionResource
}

// scope is all objects of a resource in a namespace, or in the cluster.
type scope struct {
	namespace string
	resource  schema.GroupVersionResource
}

// scope returns the scope of the object.
func (n need) scope() scope { return scope{n.Namespace, n.resource} }

// Missing returns the rights that the account of a client lacks to apply objects, sorted. Kinds that
// the cluster does not have yet are not looked at. It returns nothing if the account may not even
// ask.
func Missing(ctx context.Context, as client.Client, objects []delivery.ObjectRef) ([]Lack, error) {
	needs, err := resolve(as.RESTMapper(), objects)
	if err != nil {
		return nil, err
	}

	// Most objects are covered by rights on all objects of their kind.
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

// resolve returns objects with their resources. The cluster knows which kinds have a namespace.
func resolve(mapper apimeta.RESTMapper, objects []delivery.ObjectRef) ([]need, error) {
	var out []need
	for _, o := range objects {
		mapping, err := mapper.RESTMapping(schema.GroupKind{Group: o.Group, Kind: o.Kind}, o.Version)
		if apimeta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if mapping.Scope.Name() != apimeta.RESTScopeNameNamespace {
			o.Namespace = ""
		}
		out = append(out, need{o, mapping.Resource})
	}
	return out, nil
}

// review returns the scopes in which the account may apply every object.
func review(ctx context.Context, as client.Client, needs []need) (map[scope]bool, error) {
	// A namespace answers for all of its resources, and the cluster for one at a time.
	scopes := map[string][]scope{}
	for _, n := range needs {
		place := n.Namespace
		if place == "" {
			place = "/" + n.resource.String()
		}
		if !slices.Contains(scopes[place], n.scope()) {
			scopes[place] = append(scopes[place], n.scope())
		}
	}
	var mu sync.Mutex
	covered := map[scope]bool{}
	err := send(ctx, slices.Collect(maps.Values(scopes)), func(ctx context.Context, group []scope) error {
		may, err := reviewOne(ctx, as, group)
		mu.Lock()
		defer mu.Unlock()
		for i, ok := range may {
			covered[group[i]] = ok
		}
		return err
	})
	return covered, err
}

// reviewOne returns for each scope whether the account may apply every object in it. The scopes are
// in one namespace, or there is one scope of the cluster.
func reviewOne(ctx context.Context, as client.Client, scopes []scope) ([]bool, error) {
	if scopes[0].namespace == "" {
		missing, err := ask(ctx, as, need{resource: scopes[0].resource})
		return []bool{len(missing) == 0}, err
	}
	rules := &authorizationv1.SelfSubjectRulesReview{Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: scopes[0].namespace}}
	err := as.Create(ctx, rules)
	out := make([]bool, len(scopes))
	for i, s := range scopes {
		isMissing := func(verb string) bool { return !covers(rules.Status.ResourceRules, s.resource, verb) }
		out[i] = !slices.ContainsFunc(verbs(), isMissing)
	}
	return out, err
}

// verbs returns the verbs that applying an object needs.
func verbs() []string { return []string{"create", "get", "patch"} }

// send calls a function for each item, several at once.
func send[V any](ctx context.Context, items []V, do func(context.Context, V) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrent)
	for _, v := range items {
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
	has := func(list []string, item string) bool {
		return slices.Contains(list, item) || slices.Contains(list, "*")
	}
	return slices.ContainsFunc(rules, func(r authorizationv1.ResourceRule) bool {
		isOfResource := has(r.APIGroups, resource.Group) && has(r.Resources, resource.Resource)
		return isOfResource && len(r.ResourceNames) == 0 && has(r.Verbs, verb)
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
		if ok {
			continue
		}
		isNeedless := verb == "create" && n.Name != "" && exists(ctx, as, n)
		if !isNeedless {
			missing = append(missing, verb)
		}
	}
	return missing, nil
}

// allowed asks whether the account may do something with an object.
func allowed(ctx context.Context, as client.Client, n need, verb string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: n.Namespace,
			Group:     n.resource.Group,
			Version:   n.resource.Version,
			Resource:  n.resource.Resource,
			Name:      n.Name,
			Verb:      verb,
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

// sorted returns the missing rights, by namespace and resource.
func sorted(lacks map[scope]map[string]bool) []Lack {
	var out []Lack
	for s, missing := range lacks {
		out = append(out, Lack{Namespace: s.namespace, Resource: s.resource.GroupResource().String(), Verbs: slices.Sorted(maps.Keys(missing))})
	}
	slices.SortFunc(out, func(a, b Lack) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Resource, b.Resource))
	})
	return out
}
