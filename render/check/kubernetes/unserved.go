// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/check/finding"
	"github.com/ropewalk/ropewalk/render/check/schemas"
	"github.com/ropewalk/ropewalk/render/object"
)

// successor returns where a kind went whose group changed, or "" if it is still there.
func successor(group, kind string) string {
	if group == "extensions" {
		switch kind {
		case "Ingress", "NetworkPolicy":
			return "networking.k8s.io/v1"
		case "Deployment", "DaemonSet", "ReplicaSet":
			return "apps/v1"
		}
	}
	return ""
}

// removed returns the reason, in one clause, why a kind is not served any more, or "" if it was
// never known. The source is the deprecated API migration guide of Kubernetes.
func removed(group, kind string) string {
	switch group + "/" + kind {
	case "policy/PodSecurityPolicy", "extensions/PodSecurityPolicy":
		return "was removed in Kubernetes 1.25: use Pod Security Admission, by labels of the Namespace"
	case "settings.k8s.io/PodPreset":
		return "was removed in Kubernetes 1.20"
	case "auditregistration.k8s.io/AuditSink":
		return "was removed in Kubernetes 1.19"
	}
	return ""
}

// Unserved judges an object of a group of Kubernetes whose apiVersion and kind
// no server knows. It reports whether the group is one of Kubernetes.
func Unserved(a *finding.Value) bool {
	apiVersion, kind := a.Root().APIVersion(), a.Root().Kind()
	group := a.Root().Group()

	// Collect where the kind is served, and what the group serves.
	var kinds, inGroup, elsewhere, versions []string
	builtIn := group == "extensions"
	for v, k := range eachBuiltIn {
		kinds = append(kinds, k)
		g, _, ok := strings.Cut(v, "/")
		if !ok {
			g = ""
		}
		if g == group {
			builtIn = true
			if k == kind {
				versions = append(versions, v)
			}
			inGroup = append(inGroup, k)
		}
		if k == kind {
			elsewhere = append(elsewhere, v)
		}
	}

	// The most specific of the reasons that hold is reported.
	version := a.Field("apiVersion")
	switch to := successor(group, kind); {
	case to != "":
		version.Fail(finding.RuleAPIVersion, "%s %s is no longer served", apiVersion, kind).Hint = "use " + to
	case removed(group, kind) != "":
		version.Fail(finding.RuleAPIVersion, "%s %s %s", apiVersion, kind, removed(group, kind))
	case len(versions) > 0:
		version.Fail(finding.RuleAPIVersion, "%s %s is not served", apiVersion, kind).Hint = "use " + newest(versions)
	case strings.Count(apiVersion, "/") > 1:
		version.Fail(finding.RuleAPIVersion, "%s is not an API version: expected GROUP/VERSION, or v1", finding.Quote(apiVersion))
	case !builtIn && (len(elsewhere) == 0 || isCustomGroup(group)):
		return false
	case group == "" && kind == "List":
		a.Field("kind").Fail(finding.RuleKind, "a List is not an object of its own").Hint = "write each item as a separate object"
	case len(elsewhere) > 0 && (builtIn || !isCustomGroup(group)):
		version.Fail(finding.RuleAPIVersion, "%s has no kind %s", finding.Quote(apiVersion), kind).Hint = "use " + newest(elsewhere)
	case builtIn:
		a.Field("kind").Fail(finding.RuleKind, "%s has no kind %s", finding.Quote(apiVersion), finding.Quote(kind)).Hint =
			cmp.Or(object.DidYouMean(kind, inGroup), object.DidYouMean(kind, kinds))
	default:
		return false
	}
	return true
}

// isCustomGroup reports whether a group may be one of custom resources: those have a dot,
// and no upper-case letters.
func isCustomGroup(group string) bool {
	return strings.Contains(group, ".") && group == strings.ToLower(group)
}

// Near returns the newest version of a built-in group that serves kind and whose name is close to
// group. It returns "" if there is no such group.
func Near(group, kind string) string {
	const slips = 3
	var near []string
	for v, k := range eachBuiltIn {
		if g, _, ok := strings.Cut(v, "/"); ok && k == kind && object.Distance(group, g) <= slips {
			near = append(near, v)
		}
	}
	if len(near) == 0 {
		return ""
	}
	return newest(near)
}

// newest returns the last of versions that is stable, or the first version if none of them is.
func newest(versions []string) string {
	for _, v := range slices.Backward(versions) {
		if !schemas.Preview(v) {
			return v
		}
	}
	return versions[0]
}
