// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ropewalk/ropewalk/artifact"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/apply"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/publish"
)

// Event returns the ExternalArtifact of the complete artifact, as events need it: Alerts of Flux
// cannot name a Transform. Annotations of the Transform in the group of events, such as
// event.toolkit.fluxcd.io/change_request, are copied, and so are part of each event.
func Event(t *v1alpha1.Transform) *sourcev1.ExternalArtifact {
	out := &sourcev1.ExternalArtifact{
		TypeMeta: metav1.TypeMeta{APIVersion: sourcev1.GroupVersion.String(), Kind: sourcev1.ExternalArtifactKind},
		ObjectMeta: metav1.ObjectMeta{
			Name: t.Name, Namespace: t.Namespace,
			Labels: map[string]string{v1alpha1.LabelTransform: t.Name, v1alpha1.LabelNamespace: t.Namespace},
		},
		Spec: sourcev1.ExternalArtifactSpec{SourceRef: &meta.NamespacedObjectKindReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.TransformKind, Name: t.Name, Namespace: t.Namespace,
		}},
	}
	publish.AnnotateEvents(out, t)
	return out
}

// external returns the ExternalArtifact of a layer, or of the complete artifact if layer is "",
// with its status.
func (s *Storage) external(t *v1alpha1.Transform, layer string, stored Stored, origin Origin) (*sourcev1.ExternalArtifact, error) {
	// The name, the URL and the revision follow from the digest.
	owner := types.NamespacedName{Namespace: t.Namespace, Name: t.Name}
	name, err := file(owner, stored.Digest, archiveSuffix)
	if err != nil {
		return nil, err
	}
	out := Event(t)
	unit := t.Name
	if layer != "" {
		out.Name = t.Name + "-" + layer
		unit = layer
	}
	written := metav1.NewTime(stored.Time.UTC().Truncate(time.Second)) // as it comes back from the API server
	out.Status.Artifact = &meta.Artifact{
		Digest:         stored.Digest,
		Path:           name,
		URL:            s.url + "/" + name,
		Revision:       unit + "@" + stored.Digest,
		LastUpdateTime: written,
		Size:           &stored.Size,
	}

	// The origin of the render is shown only if it is known.
	metadata := map[string]string{}
	for key, value := range map[string]string{artifact.AnnotationSource: origin.Source, artifact.AnnotationRevision: origin.Revision} {
		if value != "" {
			metadata[key] = value
		}
	}
	if len(metadata) > 0 {
		out.Status.Artifact.Metadata = metadata
	}
	out.Status.Conditions = []metav1.Condition{{
		Type:               meta.ReadyCondition,
		Status:             metav1.ConditionTrue,
		Reason:             meta.SucceededReason,
		LastTransitionTime: written,
		Message:            fmt.Sprintf("stored artifact %s", stored.Digest),
	}}
	return out, nil
}

// Announce makes an ExternalArtifact in the cluster lead to its artifact. The error is ErrForeign
// if an object of that name is not of its Transform.
func Announce(ctx context.Context, c client.Client, want *sourcev1.ExternalArtifact) error {
	live, err := readOwn(ctx, c, want)
	if err != nil || live != nil && apply.Same(want, live) {
		return err
	}
	return apply.Write(ctx, c, want)
}

// readOwn returns the live object, or nil if it does not exist. The error is ErrForeign if it is not
// of its Transform.
func readOwn(ctx context.Context, c client.Client, want *sourcev1.ExternalArtifact) (*sourcev1.ExternalArtifact, error) {
	live := &sourcev1.ExternalArtifact{}
	err := c.Get(ctx, client.ObjectKeyFromObject(want), live)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, label := range []string{v1alpha1.LabelTransform, v1alpha1.LabelNamespace} {
		if live.Labels[label] != want.Labels[label] {
			return nil, fmt.Errorf("%w: ExternalArtifact %s/%s: delete it, or rename the Transform", ErrForeign, live.Namespace, live.Name)
		}
	}
	if live.Labels[v1alpha1.LabelLayer] != want.Labels[v1alpha1.LabelLayer] {
		return nil, fmt.Errorf("%w: ExternalArtifact %s/%s is that of a layer: rename the Transform", ErrForeign, live.Namespace, live.Name)
	}
	return live, nil
}
