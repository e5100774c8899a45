// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package application

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/apply"
)

// cascade is the finalizer by which Argo CD deletes the objects that it applied, before the
// Application goes. Longer finalizers that begin with it choose the way.
const cascade = "resources-finalizer.argocd.argoproj.io"

// Withdraw deletes the Application of a Transform in any namespace. Its objects are deleted with it,
// or stay, as t declares. It is done when there is no Application any more.
func (e *Engine) Withdraw(ctx context.Context, t *v1alpha1.Transform) (done bool, waiting string, err error) {
	live, err := e.Owned(ctx, e.Client, t)
	if err != nil || len(live) == 0 {
		return err == nil, "", err
	}
	orphan := t.Spec.Delivery != nil && t.Spec.Delivery.DeletionPolicy == "Orphan"
	for i := range live {
		if err := e.remove(ctx, &live[i], orphan); client.IgnoreNotFound(err) != nil {
			return false, "", err
		}
	}

	// Argo CD deletes the objects before its finalizer goes.
	live, err = e.Owned(ctx, e.Client, t)
	if err != nil || len(live) == 0 {
		return err == nil, "", err
	}
	waiting = "Argo CD deletes what Application " + live[0].GetNamespace() + "/" + live[0].GetName() + " applied" + problem(&live[0])
	return false, waiting, nil
}

// remove deletes an Application. Its finalizer decides whether its objects go too, and is set at the
// same version that is deleted.
func (e *Engine) remove(ctx context.Context, live *unstructured.Unstructured, orphan bool) error {
	finalizers := slices.DeleteFunc(slices.Clone(live.GetFinalizers()), func(f string) bool {
		return orphan && (f == cascade || strings.HasPrefix(f, cascade+"/"))
	})
	has := slices.ContainsFunc(finalizers, func(f string) bool { return strings.HasPrefix(f, cascade) })
	if !orphan && !has && live.GetDeletionTimestamp() == nil {
		finalizers = append(finalizers, cascade)
	}
	if !slices.Equal(finalizers, live.GetFinalizers()) {
		changed := live.DeepCopy()
		changed.SetFinalizers(finalizers)
		if err := e.Client.Patch(ctx, changed, client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{}), apply.FieldOwner); err != nil {
			return err
		}
		live = changed
	}
	if live.GetDeletionTimestamp() != nil {
		return nil
	}
	uid := live.GetUID()
	version := live.GetResourceVersion()
	return e.Client.Delete(ctx, live, client.Preconditions{UID: &uid, ResourceVersion: &version})
}

// leave deletes Applications of a Transform in namespaces that it does not name any more. Their
// objects stay, and the new Application takes them over. The message is "" if there was no such
// Application.
func (e *Engine) leave(ctx context.Context, t *v1alpha1.Transform, app *unstructured.Unstructured) (string, error) {
	if namespaces := e.Allow.namespaces(); len(namespaces) == 1 && namespaces[0] != "" {
		return "", nil // There is nowhere else.
	}
	live, err := e.Owned(ctx, e.Client, t)
	if err != nil {
		return "", err
	}
	message := ""
	for i := range live {
		if live[i].GetNamespace() == app.GetNamespace() && live[i].GetName() == app.GetName() {
			continue
		}
		message = fmt.Sprintf("it moves here from namespace %q", live[i].GetNamespace())
		if err := e.remove(ctx, &live[i], true); client.IgnoreNotFound(err) != nil {
			return "", err
		}
	}
	return message, nil
}

// Owned returns the Applications of a Transform in all namespaces that are allowed.
func (e *Engine) Owned(ctx context.Context, reader client.Reader, t *v1alpha1.Transform) ([]unstructured.Unstructured, error) {
	var out []unstructured.Unstructured
	for _, namespace := range e.Allow.namespaces() {
		var list unstructured.UnstructuredList
		gvk := GroupVersionKind()
		gvk.Kind += "List"
		list.SetGroupVersionKind(gvk)
		err := reader.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{
			v1alpha1.LabelTransform: t.Name, v1alpha1.LabelNamespace: t.Namespace,
		})
		if apimeta.IsNoMatchError(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, list.Items...)
	}
	return out, nil
}

// problem returns the error that Argo CD reports for a deletion, for the end of a message, or "".
func problem(live *unstructured.Unstructured) string {
	seen, err := observe(live)
	if err != nil {
		return ""
	}
	for _, c := range seen.Conditions {
		if c.Type == "DeletionError" {
			return ": " + c.Message
		}
	}
	return ""
}
