// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package check

import "strings"

// maxAnnotations is how large the annotations of an object may be together,
// in bytes (apimachinery, TotalAnnotationSizeLimitB).
const maxAnnotations = 256 << 10

// rootMeta checks the metadata of an object.
func rootMeta(a *at) {
	kind := a.w.root.Kind()
	meta := a.field("metadata")
	if !meta.has() {
		a.missing("metadata")
		return
	}
	name := meta.field("name")
	if name.text() == "" && (name.v == nil || name.v == "") {
		f := meta.missing("name")
		if meta.field("generateName").has() {
			f.Hint = "generateName gives another object at every apply: set name"
		}
	}
	objectName(name, a.w.root.Group(), kind)
	label(meta.field("namespace"))
	templateMeta(meta)
	for _, f := range meta.field("finalizers").items() {
		optionalKey(f)
	}
	for _, o := range meta.field("ownerReferences").items() {
		for _, n := range [...]string{"apiVersion", "kind", "name", "uid"} {
			if v := o.field(n); v.has() && v.text() == "" {
				v.fail(RuleRequired, "is required")
			}
		}
	}
}

// objectName checks the name of an object as its kind demands.
func objectName(a *at, group, kind string) {
	switch group + "/" + kind {
	case "/Namespace", "/Service", "apps/StatefulSet":
		label(a)
	case "policy/PodDisruptionBudget":
		pathSegment(a)
	case "batch/Job":
		subdomain(a)
		if n := len(a.text()); n > 63 {
			a.fail(RuleSize, "expected at most 63 characters, found %d", n).Hint = "the pods of a Job carry its name as a label"
		}
	case "rbac.authorization.k8s.io/Role", "rbac.authorization.k8s.io/ClusterRole",
		"rbac.authorization.k8s.io/RoleBinding", "rbac.authorization.k8s.io/ClusterRoleBinding":
		pathSegment(a)
	case "batch/CronJob":
		subdomain(a)
		if n := len(a.text()); n > 52 {
			a.fail(RuleSize, "expected at most 52 characters, found %d", n).Hint = "the Jobs of a CronJob add 11 to its name"
		}
	default:
		subdomain(a)
	}
}

// templateMeta checks the labels and annotations of an object or a template.
func templateMeta(meta *at) {
	labels(meta.field("labels"))
	annotations(meta.field("annotations"))
}

func annotations(a *at) {
	size := 0
	for _, name := range a.names() {
		v := a.field(name)
		// The server compares annotation keys without case.
		qualified(v, strings.ToLower(name))
		size += len(name) + len(v.text())
	}
	if size > maxAnnotations {
		a.fail(RuleSize, "hold %d bytes together, at most %d are allowed", size, maxAnnotations)
	}
}

// scope warns where the scope of the kind and the namespace of the object
// do not go together.
func scope(a *at, namespaced bool) {
	if ns := a.in("metadata", "namespace"); !namespaced && ns.text() != "" {
		ns.warn(RuleNamespace, "has no effect: a %s belongs to no namespace", a.w.root.Kind())
	}
}
