// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"fmt"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	kuberecorder "k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ropewalk/ropewalk/internal/printable"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/delivery"
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

// notice is what an event on a Transform says.
type notice struct {
	kind, reason, text string
	// refused says that the event is about what was found and not published, which has the
	// revision. Other events are about what is published.
	refused  bool
	revision string
	// only is for commit statuses alone.
	only bool
}

// sharedEvent returns the event that objects are delivered by other Transforms too.
func sharedEvent(of delivery.Progress) notice {
	return notice{kind: typeWarning, reason: v1alpha1.SharedObjectsReason, text: of.Shared}
}

// events raises events on Transforms.
type events struct {
	recorder kuberecorder.EventRecorder
	cache    client.Reader
}

// raise raises an event on a Transform. Alerts of Flux cannot name a Transform, so that it
// raises the event on the object of Flux too that stands for it.
func (e events) raise(ctx context.Context, t *v1alpha1.Transform, what notice) {
	e.record(t, v1alpha1.Group, t, what)
	if what.kind == typeTrace {
		return
	}
	if stand := e.standIn(ctx, t); stand != nil {
		e.record(stand, stand.GetObjectKind().GroupVersionKind().Group, t, what)
	}
}

// record records an event on one object.
func (e events) record(on client.Object, group string, t *v1alpha1.Transform, what notice) {
	notes := map[string]string{}
	note := func(key, value string) {
		if value != "" {
			notes[group+"/"+key] = value
		}
	}
	if a := t.Status.Artifact; what.refused {
		// What is published is that of an earlier commit, with which nothing is wrong.
		note(eventv1.MetaRevisionKey, what.revision)
	} else if a != nil {
		note(eventv1.MetaRevisionKey, a.Digest)
		note(eventv1.MetaOriginRevisionKey, a.Revision)
	}
	if what.only {
		note(eventv1.MetaCommitStatusKey, eventv1.MetaCommitStatusUpdateValue)
	}
	if at, ok := meta.ReconcileAnnotationValue(t.GetAnnotations()); ok {
		note(eventv1.MetaTokenKey, fmt.Sprintf("%s/%s/%s", t.UID, at, what.reason))
	}
	e.recorder.AnnotatedEventf(on, notes, what.kind, what.reason, "%s", printable.Text((*object.Secrets)(nil).Hide(what.text)))
}

// standIn returns the object of Flux that Alerts may name: the ExternalArtifact of the complete
// artifact, or the OCIRepository of the first layer. Before it exists, the object that will be
// made is returned, so that an Alert learns why it is missing. It returns nil if there is no such
// object.
func (e events) standIn(ctx context.Context, t *v1alpha1.Transform) client.Object {
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
	if e.cache.Get(ctx, client.ObjectKeyFromObject(out), live) == nil {
		out.SetUID(live.GetUID())
		out.SetResourceVersion(live.GetResourceVersion())
	}
	return out
}
