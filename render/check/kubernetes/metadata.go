// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"strings"

	"github.com/ropewalk/ropewalk/render/check/finding"
)

// maxAnnotations limits the size of all annotations of an object together,
// in bytes (apimachinery, TotalAnnotationSizeLimitB).
const maxAnnotations = 256 << 10

// Metadata checks the metadata of an object.
func Metadata(a *finding.Value) {
	kind := a.Root().Kind()
	meta := a.Field("metadata")
	if !meta.Has() {
		a.Missing("metadata")
		return
	}
	name := meta.Field("name")
	if name.Text() == "" && (name.Raw == nil || name.Raw == "") {
		f := meta.Missing("name")
		if meta.Field("generateName").Has() {
			f.Hint = "generateName gives another object at every apply: set name"
		}
	}
	checkObjectName(name, a.Root().Group(), kind)
	checkLabel(meta.Field("namespace"))
	checkTemplateMeta(meta)
	for _, f := range meta.Field("finalizers").Items() {
		checkOptionalKey(f)
	}
	for _, o := range meta.Field("ownerReferences").Items() {
		for _, n := range [...]string{"apiVersion", "kind", "name", "uid"} {
			if v := o.Field(n); v.Has() && v.Text() == "" {
				v.Fail(finding.RuleRequired, "is required")
			}
		}
	}
}

// checkObjectName checks the name of an object as its kind demands.
func checkObjectName(a *finding.Value, group, kind string) {
	switch group + "/" + kind {
	case "/Namespace", "/Service", "apps/StatefulSet":
		checkLabel(a)
	case "policy/PodDisruptionBudget":
		checkPathSegment(a)
	case "batch/Job":
		Subdomain(a)
		if n := len(a.Text()); n > 63 {
			a.Fail(finding.RuleSize, "expected at most 63 characters, found %d", n).Hint = "the pods of a Job carry its name as a label"
		}
	case "rbac.authorization.k8s.io/Role", "rbac.authorization.k8s.io/ClusterRole",
		"rbac.authorization.k8s.io/RoleBinding", "rbac.authorization.k8s.io/ClusterRoleBinding":
		checkPathSegment(a)
	case "batch/CronJob":
		Subdomain(a)
		if n := len(a.Text()); n > 52 {
			a.Fail(finding.RuleSize, "expected at most 52 characters, found %d", n).Hint = "the Jobs of a CronJob add 11 to its name"
		}
	default:
		Subdomain(a)
	}
}

// checkTemplateMeta checks the labels and annotations of an object or a template.
func checkTemplateMeta(meta *finding.Value) {
	checkLabels(meta.Field("labels"))
	checkAnnotations(meta.Field("annotations"))
}

func checkAnnotations(a *finding.Value) {
	size := 0
	for _, name := range a.Names() {
		v := a.Field(name)
		// The server compares annotation keys without case.
		checkQualifiedName(v, strings.ToLower(name))
		size += len(name) + len(v.Text())
	}
	if size > maxAnnotations {
		a.Fail(finding.RuleSize, "hold %d bytes in total, at most %d are allowed", size, maxAnnotations)
	}
}

// Scope warns where the scope of the kind and the namespace of the object
// do not go together.
func Scope(a *finding.Value, namespaced bool) {
	if ns := a.In("metadata", "namespace"); !namespaced && ns.Text() != "" {
		ns.Warn(finding.RuleNamespace, "has no effect: %s is a cluster-scoped kind", a.Root().Kind())
	}
}
