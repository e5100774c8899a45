// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"fmt"
	"strings"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ropewalk/ropewalk/internal/printable"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/publish"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/storage"
	"github.com/ropewalk/ropewalk/render/object"
)

// Types of events, as the recorder of Flux knows them. What is Trace goes to the
// cluster only, and to no Alert.
const (
	typeNormal  = corev1.EventTypeNormal
	typeWarning = corev1.EventTypeWarning
	typeTrace   = eventv1.EventTypeTrace
)

// firstLayer is what the first layer will be called, where none was delivered yet.
const firstLayer = "layer-00"

// raiseEvents raises events for what changed.
func (w *work) raiseEvents(ctx context.Context, p *problem) {
	t := w.transform
	switch {
	case w.changed:
		w.raiseEvent(ctx, typeNormal, v1alpha1.PublishedReason, "published "+shown(t.Status.Artifact))
	case w.revised:
		// Nothing is pushed. The commit status is still set; no chat needs to know.
		w.raiseEvent(ctx, typeNormal, v1alpha1.PublishedReason, "no changes with "+shown(t.Status.Artifact), eventv1.MetaCommitStatusKey)
	}
	if w.progress != nil && len(w.progress.Changed) > 0 {
		w.raiseEvent(ctx, typeTrace, "Released", "released "+strings.Join(w.progress.Changed, ", "))
	}
	now, was := conditions.Get(t, meta.ReadyCondition), w.was
	same := now != nil && was != nil && was.Status == now.Status && was.Reason == now.Reason
	switch {
	case now == nil, same && (was.Message == now.Message || now.Status == metav1.ConditionUnknown):
		return // Every step of a layer is in the condition; as events they would hide the others.
	case now.Status == metav1.ConditionUnknown && now.Reason == meta.ProgressingReason:
		return // It is the course of things.
	}
	switch {
	case now.Status == metav1.ConditionTrue:
		w.raiseEvent(ctx, typeNormal, now.Reason, now.Message)
	case now.Status == metav1.ConditionUnknown, p != nil && p.reason == v1alpha1.DependencyNotReadyReason:
		w.raiseEvent(ctx, typeTrace, now.Reason, now.Message)
	default:
		w.raiseEvent(ctx, typeWarning, now.Reason, now.Message)
	}
}

// raiseEvent raises an event on the Transform. Alerts of Flux cannot name a Transform, so that it
// raises the event on the object of Flux too that stands for it. An event with
// [eventv1.MetaCommitStatusKey] is for commit statuses alone.
func (w *work) raiseEvent(ctx context.Context, kind, reason, text string, only ...string) {
	w.raise(w.transform, v1alpha1.Group, kind, reason, text, only)
	if kind == typeTrace {
		return
	}
	if stand := w.standIn(ctx); stand != nil {
		w.raise(stand, stand.GetObjectKind().GroupVersionKind().Group, kind, reason, text, only)
	}
}

// raise raises an event about one object.
func (w *work) raise(about client.Object, group, kind, reason, text string, only []string) {
	notes := map[string]string{}
	note := func(key, value string) {
		if value != "" {
			notes[group+"/"+key] = value
		}
	}
	if a := w.transform.Status.Artifact; w.refused {
		// What is published is that of an earlier commit, with which nothing is wrong.
		note(eventv1.MetaRevisionKey, w.revision)
	} else if a != nil {
		note(eventv1.MetaRevisionKey, a.Digest)
		note(eventv1.MetaOriginRevisionKey, a.Revision)
	}
	for _, key := range only {
		note(key, eventv1.MetaCommitStatusUpdateValue)
	}
	if at, ok := meta.ReconcileAnnotationValue(w.transform.GetAnnotations()); ok {
		note(eventv1.MetaTokenKey, fmt.Sprintf("%s/%s/%s", w.transform.UID, at, reason))
	}
	w.opts.Events.AnnotatedEventf(about, notes, kind, reason, "%s", printable.Text((*object.Secrets)(nil).Hide(text)))
}

// standIn returns the object of Flux that Alerts may name: the ExternalArtifact of the complete
// artifact, or the OCIRepository of the first layer. Before it exists, the object that will be
// made is returned, so that an Alert learns why it is missing. It returns nil if there is no such
// object.
func (w *work) standIn(ctx context.Context) client.Object {
	t := w.transform
	var out client.Object
	switch o := t.Spec.Output; {
	case o == nil || o.OCI == nil:
		out = storage.Event(t)
	case engineOf(t) != v1alpha1.EngineFlux:
		return nil
	default:
		layer := t.Name + "-" + firstLayer
		if len(t.Status.Layers) > 0 {
			layer = t.Status.Layers[0].Name
		}
		out = publish.Event(t, layer)
	}
	live := out.DeepCopyObject().(client.Object) //nolint:forcetypeassert // it is a copy
	if w.cache.Get(ctx, client.ObjectKeyFromObject(out), live) == nil {
		out.SetUID(live.GetUID())
		out.SetResourceVersion(live.GetResourceVersion())
	}
	return out
}
