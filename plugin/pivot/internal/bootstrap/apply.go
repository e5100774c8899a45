// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// Applier creates the objects of a bootstrap on the child.
type Applier struct {
	// Client reads from the API server itself.
	Client client.Client
	// Namespace of the agent, in which a parent may not write.
	Namespace string
}

// owner is the field manager of the applied objects.
const owner = client.FieldOwner("ropewalk-agent")

// Apply creates missing objects, and updates the objects that the agent has created to the current
// bootstrap. Its error lists all objects that are refused, before anything is written.
func (a *Applier) Apply(ctx context.Context, b *Bootstrap) error {
	if err := b.check(a.Namespace); err != nil {
		return err // There may be no objects of it.
	}
	if err := a.checkForeign(ctx, b); err != nil {
		return err
	}
	for _, s := range b.Secrets {
		if err := a.applySecret(ctx, s); err != nil {
			return err
		}
	}
	if err := a.applyCluster(ctx, b); err != nil {
		return err
	}
	for _, o := range b.objects() {
		if err := a.applyGitOps(ctx, b, o); err != nil {
			return err
		}
	}
	return nil
}

// checkForeign returns errors for objects that the child has already, and not from the parent.
func (a *Applier) checkForeign(ctx context.Context, b *Bootstrap) error {
	// Secrets may be there with the same data.
	var errs []error
	for _, s := range b.Secrets {
		var live corev1.Secret
		if err := a.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Name}, &live); err == nil {
			errs = append(errs, checkOwned(s, &live))
		} else {
			errs = append(errs, named(s, client.IgnoreNotFound(err)))
		}
	}

	// The PivotCluster and the GitOps objects must belong to the parent.
	var live v1alpha1.PivotCluster
	switch err := a.Client.Get(ctx, client.ObjectKey{Name: b.Name}, &live); {
	case client.IgnoreNotFound(err) != nil:
		errs = append(errs, err)
	case err == nil && live.Annotations[SelfAnnotation] != b.Identity:
		errs = append(errs, fmt.Errorf("PivotCluster %q is on the child already, and is another one: delete it", b.Name))
	}
	for _, o := range b.objects() {
		_, err := a.liveGitOps(ctx, b, o)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// checkOwned returns an error for a Secret of the child that the agent may not replace.
func checkOwned(s Secret, live *corev1.Secret) error {
	if live.Labels[ManagedLabel] == "" && !equality.Semantic.DeepEqual(live.Data, s.Data) {
		const format = "%s is on the child already, with other data, and is not of the parent: delete it, or take it away from the PivotCluster"
		return fmt.Errorf(format, s)
	}
	return nil
}

// applySecret creates a Secret, or updates a Secret that the agent has created.
func (a *Applier) applySecret(ctx context.Context, s Secret) error {
	want := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, Labels: s.labels()},
		Type:       s.Type, Data: s.Data,
	}
	err := a.Client.Create(ctx, want.DeepCopy(), owner)
	if apierrors.IsNotFound(err) { // There is no such namespace yet.
		if err := a.ensureNamespace(ctx, s.Namespace); err != nil {
			return err
		}
		err = a.Client.Create(ctx, want.DeepCopy(), owner)
	}
	if !apierrors.IsAlreadyExists(err) {
		return named(s, err)
	}

	// A Secret that is there already may have the same data, or belong to the agent.
	var live corev1.Secret
	if err := a.Client.Get(ctx, client.ObjectKeyFromObject(want), &live); err != nil {
		return named(s, err)
	}
	labelled := live.Labels[ManagedLabel] == "" || labels.SelectorFromSet(want.Labels).Matches(labels.Set(live.Labels))
	if labelled && equality.Semantic.DeepEqual(live.Data, want.Data) {
		return nil
	}
	if err := checkOwned(s, &live); err != nil {
		return err // It was made in the meantime.
	}
	maps.Copy(live.Labels, want.Labels)
	live.Data = want.Data
	return named(s, a.Client.Update(ctx, &live, owner))
}

// named returns err without the text of the request, which may hold values.
func named(s Secret, err error) error {
	if err == nil {
		return nil
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return fmt.Errorf("%s on the child: %s", s, apierrors.ReasonForError(err))
	}
	return fmt.Errorf("%s on the child: %w", s, err)
}

// ensureNamespace creates a namespace unless it is there.
func (a *Applier) ensureNamespace(ctx context.Context, name string) error {
	err := a.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, owner)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// applyCluster creates or updates the PivotCluster, and creates the namespace of its objects.
func (a *Applier) applyCluster(ctx context.Context, b *Bootstrap) error {
	want := b.pivotCluster()
	if err := a.ensureNamespace(ctx, want.ClusterNamespace()); err != nil {
		return err
	}
	var live v1alpha1.PivotCluster
	err := a.Client.Get(ctx, client.ObjectKey{Name: b.Name}, &live)
	if apierrors.IsNotFound(err) {
		return a.Client.Create(ctx, want, owner)
	}
	if err != nil {
		return err
	}

	// Labels of others stay.
	before := live.DeepCopy()
	for key, value := range want.Labels {
		metav1.SetMetaDataLabel(&live.ObjectMeta, key, value)
	}
	live.Spec = want.Spec
	if equality.Semantic.DeepEqual(before, &live) {
		return nil
	}
	return a.Client.Update(ctx, &live, owner)
}

// applyGitOps applies a GitOps object, unless the child has all its fields already.
func (a *Applier) applyGitOps(ctx context.Context, b *Bootstrap, o *unstructured.Unstructured) error {
	live, err := a.liveGitOps(ctx, b, o)
	if err != nil {
		return err
	}
	if live != nil && holds(live, o) {
		return nil
	}
	if live == nil {
		if err := a.ensureNamespace(ctx, o.GetNamespace()); err != nil {
			return err
		}
	}
	return a.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), owner, client.ForceOwnership)
}

// liveGitOps returns the object of the child; nil if there is none.
func (a *Applier) liveGitOps(ctx context.Context, b *Bootstrap, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(o.GroupVersionKind())
	switch err := a.Client.Get(ctx, client.ObjectKeyFromObject(o), live); {
	case apimeta.IsNoMatchError(err):
		return nil, fmt.Errorf("%s is not installed on the child: the manifest of agents must have it: %w", b.Spec.GitOps.Engine, err)
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // no object is no error
	case err != nil:
		return nil, err
	case live.GetLabels()[ManagedLabel] == "":
		return nil, fmt.Errorf("%s %s/%s is on the child already, and is not of the parent: delete it", o.GetKind(), o.GetNamespace(), o.GetName())
	}
	return live, nil
}

// holds reports whether live has all fields of the spec of o.
func holds(live, o *unstructured.Unstructured) bool {
	return contains(live.Object["spec"], o.Object["spec"])
}

// contains reports whether live has all fields of want, with the same values.
func contains(live, want any) bool {
	w, ok := want.(map[string]any)
	if !ok {
		return equality.Semantic.DeepEqual(live, want)
	}
	l, _ := live.(map[string]any)
	for key := range maps.Keys(w) {
		if !contains(l[key], w[key]) {
			return false
		}
	}
	return true
}

// State reports whether the GitOps of the child has applied its first objects. If it has not, the
// message comes from the engine.
func (a *Applier) State(ctx context.Context, b *Bootstrap) (begun bool, message string, err error) {
	objects := b.objects()
	last := objects[len(objects)-1]
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(last.GroupVersionKind())
	switch err := a.Client.Get(ctx, client.ObjectKeyFromObject(last), live); {
	case apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err):
		return false, fmt.Sprintf("%s %s/%s is not there yet", last.GetKind(), last.GetNamespace(), last.GetName()), nil
	case err != nil:
		return false, "", err
	}
	if b.Spec.GitOps.Engine == v1alpha1.EngineArgoCD {
		begun, message = synced(live, b.Spec.GitOps.Artifact.Digest)
	} else {
		begun, message = applied(live, b.Spec.GitOps.Artifact)
	}
	return begun, message, nil
}

// applied reports whether a Kustomization is Ready at its generation and at the digest. It returns
// the message of Flux too.
func applied(k *unstructured.Unstructured, artifact *v1alpha1.GitOpsArtifact) (bool, string) {
	generation, _, _ := unstructured.NestedInt64(k.Object, "status", "observedGeneration")
	revision, _, _ := unstructured.NestedString(k.Object, "status", "lastAppliedRevision")
	conditions, _, _ := unstructured.NestedSlice(k.Object, "status", "conditions")
	status := ""
	message := "Flux has not looked at it yet"
	for _, c := range conditions {
		c, _ := c.(map[string]any)
		if c["type"] == "Ready" {
			status, _ = c["status"].(string)
			message, _ = c["message"].(string)
		}
	}
	current := generation == k.GetGeneration() && (artifact == nil || strings.HasSuffix(revision, artifact.Digest))
	return status == "True" && current, message
}

// synced reports whether an Application is Synced and Healthy at the digest, and no operation
// there is under way or has failed. It returns the messages of Argo CD too.
func synced(app *unstructured.Unstructured, digest string) (bool, string) {
	text := func(path ...string) string {
		s, _, _ := unstructured.NestedString(app.Object, path...)
		return s
	}
	sync, health := text("status", "sync", "status"), text("status", "health", "status")

	// The last operation must have ended, if it was at the digest, and so must the comparison.
	phase := text("status", "operationState", "phase")
	succeeded := phase == "" || phase == "Succeeded"
	ended := succeeded || text("status", "operationState", "operation", "sync", "revision") != digest
	samePath := text("status", "sync", "comparedTo", "source", "path") == text("spec", "source", "path")
	compared := samePath && text("status", "sync", "revision") == digest
	message := fmt.Sprintf("sync %s, health %s: %s",
		cmp.Or(sync, "Unknown"), cmp.Or(health, "Unknown"), text("status", "operationState", "message"))

	// A condition explains why Argo CD cannot read the artifact.
	conditions, _, _ := unstructured.NestedSlice(app.Object, "status", "conditions")
	for _, c := range conditions {
		if c, _ := c.(map[string]any); c["message"] != nil {
			message += fmt.Sprintf("; %v", c["message"])
		}
	}
	return sync == "Synced" && health == "Healthy" && compared && ended, message
}
