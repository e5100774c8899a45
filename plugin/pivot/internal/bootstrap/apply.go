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

// Applier makes what a bootstrap says, on the child.
type Applier struct {
	// Client reads from the API server itself.
	Client client.Client
	// Namespace of the agent, in which a parent may not write.
	Namespace string
}

// owner is the field manager of what is applied.
const owner = client.FieldOwner("ropewalk-agent")

// Apply makes what is missing, and brings what the agent made to what the parent wants now. The
// error has all that is refused, before anything is written.
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

// checkForeign returns an error for everything that is on the child already, and is not of the
// parent.
func (a *Applier) checkForeign(ctx context.Context, b *Bootstrap) error {
	var wrong []error
	for _, s := range b.Secrets {
		var live corev1.Secret
		if err := a.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Name}, &live); err == nil {
			wrong = append(wrong, checkOwned(s, &live))
		} else {
			wrong = append(wrong, named(s, client.IgnoreNotFound(err)))
		}
	}
	var live v1alpha1.PivotCluster
	switch err := a.Client.Get(ctx, client.ObjectKey{Name: b.Name}, &live); {
	case client.IgnoreNotFound(err) != nil:
		wrong = append(wrong, err)
	case err == nil && live.Annotations[SelfAnnotation] != b.Identity:
		wrong = append(wrong, fmt.Errorf("PivotCluster %q is on the child already, and is another one: delete it", b.Name))
	}
	for _, o := range b.objects() {
		_, err := a.liveGitOps(ctx, b, o)
		wrong = append(wrong, err)
	}
	return errors.Join(wrong...)
}

// checkOwned returns an error for a Secret of the child that the agent may not replace.
func checkOwned(s Secret, live *corev1.Secret) error {
	if live.Labels[ManagedLabel] == "" && !equality.Semantic.DeepEqual(live.Data, s.Data) {
		return fmt.Errorf("%s is on the child already, with other data, and is not of the parent: delete it, or take it away from the PivotCluster", s)
	}
	return nil
}

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

func (a *Applier) ensureNamespace(ctx context.Context, name string) error {
	err := a.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, owner)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// applyCluster makes the PivotCluster, and the namespace that its objects move to.
func (a *Applier) applyCluster(ctx context.Context, b *Bootstrap) error {
	want := b.pivotCluster()
	if err := a.ensureNamespace(ctx, want.ClusterNamespace()); err != nil {
		return err
	}
	var live v1alpha1.PivotCluster
	switch err := a.Client.Get(ctx, client.ObjectKey{Name: b.Name}, &live); {
	case apierrors.IsNotFound(err):
		return a.Client.Create(ctx, want, owner)
	case err != nil:
		return err
	}
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

func (a *Applier) applyGitOps(ctx context.Context, b *Bootstrap, o *unstructured.Unstructured) error {
	live, err := a.liveGitOps(ctx, b, o)
	if err != nil || live != nil && holds(live, o) {
		return err
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
		return nil, nil //nolint:nilnil // none is no error
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

// State reports whether the GitOps of the child has applied what it begins with. If it has not,
// the message is that of the engine.
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
	phase := text("status", "operationState", "phase")
	ended := phase == "" || phase == "Succeeded" || text("status", "operationState", "operation", "sync", "revision") != digest
	compared := text("status", "sync", "revision") == digest && text("status", "sync", "comparedTo", "source", "path") == text("spec", "source", "path")
	message := fmt.Sprintf("sync %s, health %s: %s", cmp.Or(sync, "Unknown"), cmp.Or(health, "Unknown"), text("status", "operationState", "message"))
	// What keeps Argo CD from reading the artifact is in a condition.
	conditions, _, _ := unstructured.NestedSlice(app.Object, "status", "conditions")
	for _, c := range conditions {
		if c, _ := c.(map[string]any); c["message"] != nil {
			message += fmt.Sprintf("; %v", c["message"])
		}
	}
	return sync == "Synced" && health == "Healthy" && compared && ended, message
}
