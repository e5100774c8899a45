// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"fmt"
	"maps"
	"strings"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/publish"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/storage"
)

// Types of events, as the recorder of Flux knows them. What is Trace goes to the
// cluster only, and to no Alert.
const (
	typeNormal  = corev1.EventTypeNormal
	typeWarning = corev1.EventTypeWarning
	typeTrace   = eventv1.EventTypeTrace
)

// tell raises events for what changed.
func (w *work) tell(p *problem) {
	t := w.transform
	switch {
	case w.changed:
		w.event(typeNormal, v1alpha1.PublishedReason, "published "+shown(t.Status.Artifact))
	case w.revised:
		// Nothing is pushed, and who waits for this commit still learns that it is done.
		w.event(typeNormal, v1alpha1.PublishedReason, "nothing changed with "+shown(t.Status.Artifact))
	}
	if w.progress != nil && len(w.progress.Changed) > 0 {
		w.event(typeTrace, "Released", "released "+strings.Join(w.progress.Changed, ", "))
	}
	now, was := conditions.Get(t, meta.ReadyCondition), w.was
	same := now != nil && was != nil && was.Status == now.Status && was.Reason == now.Reason
	if now == nil || same && (was.Message == now.Message || now.Status == metav1.ConditionUnknown) {
		return // Every step of a layer is in the condition; as events nobody could find the others.
	}
	switch {
	case now.Status == metav1.ConditionTrue:
		w.event(typeNormal, now.Reason, now.Message)
	case now.Status == metav1.ConditionUnknown, p != nil && p.reason == v1alpha1.DependencyNotReadyReason:
		w.event(typeTrace, now.Reason, now.Message)
	default:
		w.event(typeWarning, now.Reason, now.Message)
	}
}

// event raises an event on the Transform and, because Alerts of Flux cannot name one,
// on the object of Flux that stands for it.
func (w *work) event(kind, reason, text string) {
	w.raise(w.transform, v1alpha1.Group, kind, reason, text)
	if kind == typeTrace {
		return
	}
	if stand := w.standIn(); stand != nil {
		w.raise(stand, stand.GetObjectKind().GroupVersionKind().Group, kind, reason, text)
	}
}

func (w *work) raise(about client.Object, group, kind, reason, text string) {
	notes := map[string]string{}
	if a := w.transform.Status.Artifact; a != nil {
		notes[group+"/"+eventv1.MetaRevisionKey] = a.Digest
		if a.Revision != "" {
			notes[group+"/"+eventv1.MetaOriginRevisionKey] = a.Revision
		}
	}
	if at, ok := meta.ReconcileAnnotationValue(w.transform.GetAnnotations()); ok {
		notes[group+"/"+eventv1.MetaTokenKey] = fmt.Sprintf("%s/%s/%s", w.transform.UID, at, reason)
	}
	w.opts.Events.AnnotatedEventf(about, notes, kind, reason, "%s", text)
}

// standIn is the object of Flux that Alerts may name: the ExternalArtifact of the
// whole, or the OCIRepository of the first unit. Nil is none.
func (w *work) standIn() client.Object {
	t := w.transform
	if w.store == nil {
		return nil
	}
	if _, ok := w.store.(publish.Events); ok {
		return storage.Event(t)
	}
	if len(t.Status.Layers) == 0 || engineOf(t) != v1alpha1.EngineFlux {
		return nil
	}
	unit := strings.TrimPrefix(t.Status.Layers[0].Name, t.Name+"-")
	obj, _, err := w.store.Source(t, unit, t.Status.Layers[0].Digest)
	if err != nil {
		return nil
	}
	notes := map[string]string{}
	for key, value := range t.Annotations {
		if strings.HasPrefix(key, eventv1.Group+"/") {
			notes[key] = value
		}
	}
	maps.Copy(notes, obj.GetAnnotations())
	obj.SetAnnotations(notes)
	return obj
}
