// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ropewalk/ropewalk/render/check/finding"
)

// accessRules returns the rule of a component among the rules of RBAC, or nil if it has no rule. The
// source is k8s.io/kubernetes, pkg/apis/rbac/validation.
func accessRules(component string) func(*finding.Value) {
	switch component {
	case "rbac.v1.PolicyRule":
		return checkPolicyRule
	case "rbac.v1.RoleBinding", "rbac.v1.ClusterRoleBinding":
		return checkBinding
	case "rbac.v1.Subject":
		return checkSubject
	}
	return nil
}

func checkPolicyRule(a *finding.Value) {
	urls := a.Field("nonResourceURLs")
	if urls.Size() > 0 {
		if a.Root().Kind() == "Role" {
			urls.Fail(finding.RuleExclusive, "must not be set in a Role").Hint = "only a ClusterRole grants URLs"
		}
		if a.Field("apiGroups").Size()+a.Field("resources").Size()+a.Field("resourceNames").Size() > 0 {
			urls.Fail(finding.RuleExclusive, "must not be set together with apiGroups, resources or resourceNames").Hint = "write a separate rule"
		}
		return
	}
	if a.Field("apiGroups").Size() == 0 {
		a.Missing("apiGroups").Hint = "the core group is \"\""
	}
	if a.Field("resources").Size() == 0 {
		a.Missing("resources")
	}
}

func checkBinding(a *finding.Value) {
	ref := a.Field("roleRef")
	if !ref.Has() {
		return
	}
	kind := ref.Field("kind")
	cluster := a.Root().Kind() == "ClusterRoleBinding"
	switch t := kind.Text(); {
	case t == "":
	case cluster && t != "ClusterRole":
		kind.Fail(finding.RuleEnum, "expected \"ClusterRole\", found %s", kind.Show()).Hint = "a Role is bound by a RoleBinding"
	case t != "ClusterRole" && t != "Role":
		kind.Fail(finding.RuleEnum, "expected \"Role\" or \"ClusterRole\", found %s", kind.Show())
	}
}

func checkSubject(a *finding.Value) {
	group := a.Field("apiGroup")
	switch a.Field("kind").Text() {
	case "ServiceAccount":
		if !group.Empty() {
			group.Fail(finding.RuleEnum, "expected \"\" for a ServiceAccount, found %s", group.Show())
		}
		// A RoleBinding without one means an account of its own namespace.
		if a.Field("namespace").Text() == "" && a.Root().Kind() != "RoleBinding" {
			a.Missing("namespace")
		}
		Subdomain(a.Field("name"))
	case "User", "Group":
		if group.Text() != "" && group.Text() != "rbac.authorization.k8s.io" {
			group.Fail(finding.RuleEnum, "expected \"rbac.authorization.k8s.io\", found %s", group.Show())
		}
	}
}

// admissionRules returns the rule of a component among the rules of webhooks, or nil if it has
// no rule. The source is k8s.io/kubernetes, pkg/apis/admissionregistration/validation.
func admissionRules(component string) func(*finding.Value) {
	switch component {
	case "admissionregistration.v1.ValidatingWebhook", "admissionregistration.v1.MutatingWebhook":
		return checkWebhook
	case "admissionregistration.v1.WebhookClientConfig":
		return func(a *finding.Value) {
			if checkOneOf(a, "address", "url", "service") == "url" && !strings.HasPrefix(a.Field("url").Text(), "https://") {
				a.Field("url").Fail(finding.RuleFormat, "expected a URL that begins with \"https://\", found %s", a.Field("url").Show())
			}
		}
	}
	return nil
}

func checkWebhook(a *finding.Value) {
	name := a.Field("name")
	if t := name.Text(); t != "" && (len(validation.IsDNS1123Subdomain(t)) > 0 || strings.Count(t, ".") < 2) {
		name.Fail(finding.RuleName, "expected a domain name of at least three parts such as \"check.example.com\", found %s", name.Show())
	}
	versions := a.Field("admissionReviewVersions")
	checkUnique(versions.Items(), finding.RuleUnique, "is in the list already, as item %d")
	ok := slices.ContainsFunc(versions.Items(), func(v *finding.Value) bool { return v.Text() == "v1" || v.Text() == "v1beta1" })
	if versions.Size() > 0 && !ok {
		versions.Fail(finding.RuleEnum, "needs \"v1\" or \"v1beta1\"")
	}
}
