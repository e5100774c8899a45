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

// Types of events, as the recorder of Flux knows them. An event of type Trace goes to the cluster
// only, and to no Alert.
const (
	typeNormal  = corev1.EventTypeNormal
	typeWarning = corev1.EventTypeWarning
	typeTrace   = eventv1.EventTypeTrace
)

// firstLayer is the name of the first layer where no layer was delivered yet.
const firstLayer = "layer-00"

// notice is the content of an event on a Transform.
type notice struct {
	kind, reason, text string
	// refused says that the event is about a revision that was found and not published. Other
	// events are about the published artifact.
	refused  bool
	revision string
	// only is for commit statuses alone.
	only bool
}

// sharedEvent returns the event that objects are delivered by other Transforms too.
func sharedEvent(progress delivery.Progress) notice {
	return notice{kind: typeWarning, reason: v1alpha1.SharedObjectsReason, text: progress.Shared}
}

// events raises events on Transforms.
type events struct {
	recorder kuberecorder.EventRecorder
	cache    client.Reader
}

// raise raises an event on a Transform. Alerts of Flux cannot name a Transform, so that it
// raises the event on the object of Flux too that stands for it.
func (e events) raise(ctx context.Context, t *v1alpha1.Transform, n notice) {
	e.record(t, v1alpha1.Group, t, n)
	if n.kind == typeTrace {
		return
	}
	if stand := e.standIn(ctx, t); stand != nil {
		e.record(stand, stand.GetObjectKind().GroupVersionKind().Group, t, n)
	}
}

// record records an event on one object.
func (e events) record(target client.Object, group string, t *v1alpha1.Transform, n notice) {
	notes := map[string]string{}
	note := func(key, value string) {
		if value != "" {
			notes[group+"/"+key] = value
		}
	}
	if a := t.Status.Artifact; n.refused {
		// The published artifact is of an earlier commit, with which nothing is wrong.
		note(eventv1.MetaRevisionKey, n.revision)
	} else if a != nil {
		note(eventv1.MetaRevisionKey, a.Digest)
		note(eventv1.MetaOriginRevisionKey, a.Revision)
	}
	if n.only {
		note(eventv1.MetaCommitStatusKey, eventv1.MetaCommitStatusUpdateValue)
	}
	if request, ok := meta.ReconcileAnnotationValue(t.GetAnnotations()); ok {
		note(eventv1.MetaTokenKey, fmt.Sprintf("%s/%s/%s", t.UID, request, n.reason))
	}
	e.recorder.AnnotatedEventf(target, notes, n.kind, n.reason, "%s", printable.Text((*object.Secrets)(nil).Hide(n.text)))
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
