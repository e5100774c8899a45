// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import "github.com/ropewalk/ropewalk/render/object"

// accessRules holds the rules of RBAC. The source is k8s.io/kubernetes,
// pkg/apis/rbac/validation.
func accessRules(component string) func(*at) {
	switch component {
	case "rbac.v1.PolicyRule":
		return policyRule
	case "rbac.v1.RoleBinding", "rbac.v1.ClusterRoleBinding":
		return binding
	case "rbac.v1.Subject":
		return subject
	case "rbac.v1.AggregationRule":
		return func(a *at) {
			if a.field("clusterRoleSelectors").size() == 0 {
				a.field("clusterRoleSelectors").fail(RuleRequired, "needs at least one selector")
			}
		}
	}
	return nil
}

func policyRule(a *at) {
	if a.field("verbs").has() && a.field("verbs").size() == 0 {
		a.field("verbs").fail(RuleRequired, "needs at least one verb")
	}
	urls := a.field("nonResourceURLs")
	if urls.size() > 0 {
		if a.w.root.Kind() == "Role" {
			urls.fail(RuleExclusive, "must not be set in a Role").Hint = "only a ClusterRole grants URLs"
		}
		if a.field("apiGroups").size()+a.field("resources").size()+a.field("resourceNames").size() > 0 {
			urls.fail(RuleExclusive, "must not be set beside apiGroups, resources or resourceNames").Hint = "make it a rule of its own"
		}
		return
	}
	if a.field("apiGroups").size() == 0 {
		a.missing("apiGroups").Hint = "the core group is \"\""
	}
	if a.field("resources").size() == 0 {
		a.missing("resources")
	}
}

func binding(a *at) {
	ref := a.field("roleRef")
	if !ref.has() {
		return
	}
	if g := ref.field("apiGroup"); g.text() != "rbac.authorization.k8s.io" && g.text() != "" {
		g.fail(RuleEnum, "expected \"rbac.authorization.k8s.io\", found %s", g.show())
	}
	kind := ref.field("kind")
	cluster := a.w.root.Kind() == "ClusterRoleBinding"
	switch t := kind.text(); {
	case t == "":
	case cluster && t != "ClusterRole":
		kind.fail(RuleEnum, "expected \"ClusterRole\", found %s", kind.show()).Hint = "a Role is bound by a RoleBinding"
	case t != "ClusterRole" && t != "Role":
		kind.fail(RuleEnum, "expected \"Role\" or \"ClusterRole\", found %s", kind.show())
	}
	pathSegment(ref.field("name"))
}

func subject(a *at) {
	group, kind := a.field("apiGroup"), a.field("kind")
	switch kind.text() {
	case "ServiceAccount":
		if !group.empty() {
			group.fail(RuleEnum, "expected \"\" for a ServiceAccount, found %s", group.show())
		}
		if a.field("namespace").text() == "" {
			if f := a.missing("namespace"); a.w.root.Kind() == "RoleBinding" {
				// The server takes it and binds nobody.
				f.Severity = object.SeverityWarning
			}
		}
		subdomain(a.field("name"))
	case "User", "Group":
		if group.text() != "" && group.text() != "rbac.authorization.k8s.io" {
			group.fail(RuleEnum, "expected \"rbac.authorization.k8s.io\", found %s", group.show())
		}
	case "":
	default:
		kind.fail(RuleEnum, "expected \"ServiceAccount\", \"User\" or \"Group\", found %s", kind.show())
	}
}
