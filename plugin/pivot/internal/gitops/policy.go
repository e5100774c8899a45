// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ropewalk/ropewalk/artifact/manifest"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/inventory"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/mover"
	"github.com/ropewalk/ropewalk/plugin/pivot/internal/plane"
)

// Annotation of the policy holds the tombstone, as JSON.
const Annotation = "pivot.ropewalk.dev/tombstone"

// probe is the name of the ConfigMap that the policy denies too: a dry run that creates it
// shows that the policy is in force.
const probe = "ropewalk-pivot-probe"

// Policy returns the name of the ValidatingAdmissionPolicy of a PivotCluster, and of its binding.
func Policy(cluster string) string { return "ropewalk-pivot-" + cluster }

// policies returns the kinds of a policy and of its binding.
func policies() (policy, binding plane.Kind) {
	policy = plane.Kind{
		Group:    "admissionregistration.k8s.io",
		Kind:     "ValidatingAdmissionPolicy",
		Resource: "validatingadmissionpolicies",
		Version:  "v1",
	}
	binding = policy
	binding.Kind = policy.Kind + "Binding"
	binding.Resource = "validatingadmissionpolicybindings"
	return policy, binding
}

// Forbid denies that the cluster is created again on this parent, and returns once that is in force.
// Tombstone calls it, and so does a parent that was rebuilt and has found t.
//
// In the namespace of the cluster, which has no other objects, the policy denies new objects of
// Cluster API, and denies to unpause the objects that are still to be deleted. If there are several
// API servers, only one has been tried; the others read policies by a watch as well, and follow at
// once.
func (g *GitOps) Forbid(ctx context.Context, t Tombstone) error {
	// The tombstone of another pivot is not replaced.
	existing, found, err := g.readGuard(ctx)
	if err != nil {
		return err
	}
	if found && !existing.same(t) {
		const format = "%s plane: ValidatingAdmissionPolicy %q: %w: it is that of %s, and not of %s: " +
			"if that cluster is gone, delete it by hand, see the guide"
		return fmt.Errorf(format, g.Plane.Name(), Policy(t.Cluster), ErrAnother, existing, t)
	}

	// Write the policy and its binding, with the tombstone in both.
	data, err := manifest.Encode(t)
	if err != nil {
		return err
	}
	policy, binding := policies()
	for _, want := range []struct {
		plane.Kind
		spec map[string]any
	}{
		{policy, g.rules(t)},
		{binding, map[string]any{"policyName": Policy(t.Cluster), "validationActions": []any{"Deny"}}},
	} {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": want.spec}}
		o.SetAPIVersion(want.APIVersion())
		o.SetKind(want.Kind.Kind)
		o.SetName(Policy(t.Cluster))
		o.SetLabels(map[string]string{"app.kubernetes.io/part-of": "ropewalk"})
		o.SetAnnotations(map[string]string{Annotation: string(data)})
		if err := g.write(ctx, want.Kind, o); err != nil {
			return fmt.Errorf("%s plane: %s: %w", g.Plane.Name(), plane.RefOf(o), err)
		}
	}
	return g.repeat(ctx, "forbidding that the cluster is made again", g.checkInForce)
}

// write creates an object, or replaces the spec of an existing object.
func (g *GitOps) write(ctx context.Context, k plane.Kind, o *unstructured.Unstructured) error {
	_, err := g.Plane.Create(ctx, k, o, metav1.CreateOptions{FieldManager: mover.Manager})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	options := metav1.UpdateOptions{FieldManager: mover.Manager}
	_, err = g.Plane.Update(ctx, k, plane.RefOf(o), options, func(live *unstructured.Unstructured) error {
		live.Object["spec"] = o.Object["spec"]
		return nil
	})
	return err
}

// readGuard returns the tombstone of the policy, and reports whether there is a policy.
func (g *GitOps) readGuard(ctx context.Context) (t Tombstone, found bool, err error) {
	policy, _ := policies()
	name := Policy(g.Cluster.Name)
	o, err := g.Plane.Get(ctx, policy, plane.Ref{Group: policy.Group, Kind: policy.Kind, Name: name})
	if apierrors.IsNotFound(err) {
		return t, false, nil
	}
	if err == nil {
		t, err = g.decode([]byte(o.GetAnnotations()[Annotation]))
	}
	if err != nil {
		return t, false, fmt.Errorf("%s plane: ValidatingAdmissionPolicy %q: %w", g.Plane.Name(), name, err)
	}
	return t, true, nil
}

// checkInForce creates the probe as a dry run. It returns a message until the policy denies that.
func (g *GitOps) checkInForce(ctx context.Context) (waiting string, err error) {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
	o.SetNamespace(g.Cluster.ClusterNamespace())
	o.SetName(probe)
	_, err = g.Plane.Create(ctx, plane.ConfigMapKind, o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err == nil {
		return fmt.Sprintf("the API server does not act by ValidatingAdmissionPolicy %q yet", Policy(g.Cluster.Name)), nil
	}
	isDenied := strings.Contains(err.Error(), fmt.Sprintf("ValidatingAdmissionPolicy '%s'", Policy(g.Cluster.Name)))
	if isDenied || apierrors.IsNotFound(err) { // Without its namespace nothing can be created either.
		return "", nil
	}
	return "", fmt.Errorf("%s plane: trying ValidatingAdmissionPolicy %q: %w", g.Plane.Name(), Policy(g.Cluster.Name), err)
}

// paused returns the CEL expression that is true for a paused Cluster.
func paused(object string) string {
	return fmt.Sprintf("has(%[1]s.spec) && has(%[1]s.spec.paused) && %[1]s.spec.paused", object)
}

// rules returns the spec of the policy.
func (g *GitOps) rules(t Tombstone) map[string]any {
	// The message tells where the cluster is, and how its name becomes free again.
	where := "with UID " + t.Target.UID
	if t.Target.Server != "" {
		where = "at " + t.Target.Server + " " + where
	}
	message := fmt.Sprintf("Cluster %s/%s is in charge of itself since %s (pivot %s, %s): change it there. "+
		"To use the name for a new cluster, remove the tombstone first: "+
		"ValidatingAdmissionPolicy %s with its binding, and the tag %s",
		t.Namespace, t.Cluster, t.At.UTC().Format(time.RFC3339), t.Pivot, where, Policy(t.Cluster), g.artifactName())

	// Deny the creation of all kinds of Cluster API, and of the probe.
	rule := func(operation, resource string, groups ...any) map[string]any {
		return map[string]any{
			"operations":  []any{operation},
			"apiGroups":   groups,
			"apiVersions": []any{"*"},
			"resources":   []any{resource},
			"scope":       "Namespaced",
		}
	}
	core := any(inventory.ClusterGroup)
	tried := rule("CREATE", "configmaps", "")
	tried["resourceNames"] = []any{probe}
	return map[string]any{
		"failurePolicy": "Fail",
		"matchConstraints": map[string]any{
			"matchPolicy":       "Equivalent",
			"namespaceSelector": map[string]any{"matchLabels": map[string]any{corev1.LabelMetadataName: t.Namespace}},
			"objectSelector":    map[string]any{},
			"resourceRules": []any{
				rule("CREATE", "*", core, "controlplane."+inventory.ClusterGroup, "bootstrap."+inventory.ClusterGroup, "infrastructure."+inventory.ClusterGroup),
				rule("UPDATE", "clusters", core), tried,
			},
		},
		"validations": []any{
			map[string]any{"expression": `request.operation != "CREATE"`, "message": message, "reason": "Forbidden"},
			map[string]any{
				"expression": `request.operation != "UPDATE" || !(` + paused("oldObject") + `) || ` + paused("object"),
				"message":    "it stays paused: " + message, "reason": "Forbidden",
			},
		},
	}
}
