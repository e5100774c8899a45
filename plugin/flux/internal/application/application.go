// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package application

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// refusesShared is as near as Argo CD comes to adopting never: a sync fails where
// another Application has an object.
const refusesShared = "FailOnSharedResource=true"

// application returns the Application of a Transform at a digest, or the refusal of the controller.
// It has fields of argoproj.io/v1alpha1, and only fields that Argo CD has had since it reads OCI
// artifacts (3.1), because a server-side apply refuses others.
func (e *Engine) application(t *v1alpha1.Transform, digest string) (*unstructured.Unstructured, *refusal) {
	template := v1alpha1.ArgoCDDelivery{}
	if t.Spec.Delivery != nil && t.Spec.Delivery.ArgoCD != nil {
		template = *t.Spec.Delivery.ArgoCD
	}
	namespace := cmp.Or(template.Namespace, "argocd")
	project := cmp.Or(template.Project, "default")
	name := t.Namespace + "." + t.Name

	// The flags of the controller come first.
	switch {
	case !e.Allow.namespace(namespace):
		const format = "the controller is not allowed to put Applications into namespace %q: its flag --argocd-namespaces names those that it may"
		return nil, refuse(v1alpha1.AccessDeniedReason, format, namespace)
	case !e.Allow.project(t.Namespace, project):
		const format = "the controller is not allowed to use project %q for Transforms of namespace %q: " +
			"its flag --argocd-projects names those that it may"
		return nil, refuse(v1alpha1.AccessDeniedReason, format, project, t.Namespace)
	case t.Spec.Output == nil || t.Spec.Output.OCI == nil:
		return nil, refuse(v1alpha1.InvalidReason, "Argo CD reads from a registry: set spec.output.oci")
	case len(name) > 253:
		return nil, refuse(v1alpha1.InvalidReason, "the name of the Application, %q, is longer than 253 characters: rename the Transform", name)
	}

	app := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"project":     project,
		"source":      map[string]any{"repoURL": t.Spec.Output.OCI.Repository, "path": ".", "targetRevision": digest},
		"destination": destination(t, template),
		"syncPolicy":  syncPolicy(t, template),
	}}}
	app.SetGroupVersionKind(GroupVersionKind())
	app.SetNamespace(namespace)
	app.SetName(name)
	app.SetLabels(map[string]string{v1alpha1.LabelTransform: t.Name, v1alpha1.LabelNamespace: t.Namespace})
	return app, nil
}

// destination returns the cluster and the namespace of the objects. The namespace is for objects
// without a namespace of their own.
func destination(t *v1alpha1.Transform, template v1alpha1.ArgoCDDelivery) map[string]any {
	out := map[string]any{"namespace": target(t)}
	switch {
	case template.Name != "":
		out["name"] = template.Name
	default:
		out["server"] = cmp.Or(template.Server, "https://kubernetes.default.svc")
	}
	return out
}

// target returns the namespace of a render.
func target(t *v1alpha1.Transform) string {
	if t.Spec.Context != nil && t.Spec.Context.Namespace != "" {
		return t.Spec.Context.Namespace
	}
	return t.Namespace
}

// syncPolicy returns when and how Argo CD syncs by itself.
func syncPolicy(t *v1alpha1.Transform, template v1alpha1.ArgoCDDelivery) map[string]any {
	out := map[string]any{"retry": map[string]any{
		"limit":   int64(3),
		"backoff": map[string]any{"duration": "5s", "factor": int64(2), "maxDuration": "1m"},
	}}
	if template.Automated == nil || *template.Automated {
		out["automated"] = map[string]any{"prune": prunes(t), "selfHeal": template.SelfHeal}
	}

	// The namespace of the Transform exists; any other namespace may not.
	var options []any
	isElsewhere := template.Name != "" || template.Server != ""
	if target(t) != t.Namespace || isElsewhere {
		options = append(options, "CreateNamespace=true")
	}

	// The option is always set, because Argo CD merges an operation into the operation before it:
	// where a sync has no options, the options of the last sync hold for all waves but the first.
	if t.Spec.Adopt == "Never" {
		options = append(options, refusesShared)
	} else {
		options = append(options, "FailOnSharedResource=false")
	}
	out["syncOptions"] = options
	return out
}

// prunes reports whether objects that are no longer rendered are deleted.
func prunes(t *v1alpha1.Transform) bool {
	d := t.Spec.Delivery
	return d == nil || d.ArgoCD == nil || d.ArgoCD.Prune == nil || *d.ArgoCD.Prune
}

// owns reports whether an Application was made for a Transform.
func owns(t *v1alpha1.Transform, live *unstructured.Unstructured) bool {
	labels := live.GetLabels()
	return labels[v1alpha1.LabelTransform] == t.Name && labels[v1alpha1.LabelNamespace] == t.Namespace
}

// text returns the text at a path of an object, or "".
func text(o *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, path...)
	return s
}
