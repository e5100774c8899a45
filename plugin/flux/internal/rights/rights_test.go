// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
)

// authorizer answers reviews by rules, of which each is for one namespace or for the cluster.
type authorizer struct {
	rules map[string][]authorizationv1.ResourceRule
	err   error

	mu   sync.Mutex
	sent []string
}

// client returns a client that sends its reviews to the authorizer.
func (a *authorizer) client(objects ...client.Object) client.Client {
	mapper := apimeta.NewDefaultRESTMapper(nil)
	core := corev1.SchemeGroupVersion
	mapper.Add(core.WithKind("ConfigMap"), apimeta.RESTScopeNamespace)
	mapper.Add(core.WithKind("Service"), apimeta.RESTScopeNamespace)
	mapper.Add(core.WithKind("Namespace"), apimeta.RESTScopeRoot)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), apimeta.RESTScopeNamespace)
	return fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithRESTMapper(mapper).WithObjects(objects...).
		WithInterceptorFuncs(interceptor.Funcs{Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			return a.review(o)
		}}).Build()
}

// review answers one review.
func (a *authorizer) review(o client.Object) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch r := o.(type) {
	case *authorizationv1.SelfSubjectRulesReview:
		a.sent = append(a.sent, "rules of "+r.Spec.Namespace)
		r.Status.ResourceRules = a.rules[r.Spec.Namespace]
	case *authorizationv1.SelfSubjectAccessReview:
		at := r.Spec.ResourceAttributes
		a.sent = append(a.sent, fmt.Sprintf("%s %s %s/%s", at.Verb, at.Resource, at.Namespace, at.Name))
		for _, rule := range a.rules[at.Namespace] {
			named := len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, at.Name) && at.Verb != "create"
			rule.ResourceNames = nil
			r.Status.Allowed = r.Status.Allowed ||
				named && covers([]authorizationv1.ResourceRule{rule}, schema.GroupVersionResource{Group: at.Group, Resource: at.Resource}, at.Verb)
		}
	}
	return a.err
}

// rule returns a rule for resources of a group, or for those of these names alone.
func rule(group, resource string, verbs []string, names ...string) authorizationv1.ResourceRule {
	return authorizationv1.ResourceRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs, ResourceNames: names}
}

func object(group, kind, namespace, name string) delivery.ObjectRef {
	return delivery.ObjectRef{Group: group, Version: "v1", Kind: kind, Namespace: namespace, Name: name}
}

func TestARenderThatIsAllowedTakesFewRequests(t *testing.T) {
	a := &authorizer{rules: map[string][]authorizationv1.ResourceRule{
		"shop": {rule("*", "*", []string{"*"})},
		"":     {rule("", "namespaces", verbs())},
		"more": {rule("", "configmaps", []string{"get", "create", "patch", "delete"})},
	}}
	var objects []delivery.ObjectRef
	for i := range 100 {
		name := fmt.Sprint(i)
		objects = append(objects, object("apps", "Deployment", "shop", name), object("", "Service", "shop", name), object("", "Namespace", "", name))
	}
	objects = append(objects, object("", "ConfigMap", "more", "a"), object("example.com", "Unknown", "other", "a"))
	lacks, err := Missing(t.Context(), a.client(), objects)
	require.NoError(t, err)
	require.Empty(t, lacks)
	require.ElementsMatch(t, []string{
		"rules of shop", "rules of more", "create namespaces /", "get namespaces /", "patch namespaces /",
	}, a.sent)
}

func TestAllThatIsMissingIsListed(t *testing.T) {
	a := &authorizer{rules: map[string][]authorizationv1.ResourceRule{
		"shop": {rule("apps", "deployments", []string{"get", "patch"}), rule("", "configmaps", verbs(), "mine")},
		"":     {rule("", "namespaces", []string{"get", "patch"}, "shop")},
	}}
	there := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	lacks, err := Missing(t.Context(), a.client(there), []delivery.ObjectRef{
		// A role that names an object is enough for it, if it exists.
		object("", "Namespace", "", "shop"), object("", "Namespace", "ignored", "new"),
		object("", "ConfigMap", "shop", "mine"), object("", "ConfigMap", "shop", "other"),
		object("apps", "Deployment", "shop", "web"), object("", "Service", "other", "web"),
	})
	require.NoError(t, err)
	var lines []string
	for _, l := range lacks {
		lines = append(lines, l.String())
	}
	require.Equal(t, []string{
		"create, get, patch namespaces in the cluster", "create, get, patch services in other",
		"create, get, patch configmaps in shop", "create deployments.apps in shop",
	}, lines)
}

func TestTheNumberOfReviewsIsBounded(t *testing.T) {
	a := &authorizer{}
	var objects []delivery.ObjectRef
	for i := range 10 * most {
		objects = append(objects, object("", "ConfigMap", "shop", fmt.Sprint(i)))
	}
	lacks, err := Missing(t.Context(), a.client(), objects)
	require.NoError(t, err)
	require.Len(t, lacks, 1)
	require.Len(t, a.sent, 1+3*most)
}

func TestAnAccountThatMayNotAskIsNotRefused(t *testing.T) {
	a := &authorizer{err: apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("x"))}
	for _, o := range []delivery.ObjectRef{object("", "ConfigMap", "shop", "a"), object("", "Namespace", "", "a")} {
		lacks, err := Missing(t.Context(), a.client(), []delivery.ObjectRef{o})
		require.NoError(t, err)
		require.Empty(t, lacks)
	}
	a.err = errors.New("away")
	_, err := Missing(t.Context(), a.client(), []delivery.ObjectRef{object("", "ConfigMap", "shop", "a")})
	require.ErrorIs(t, err, a.err)
}
