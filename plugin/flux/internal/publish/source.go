// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"cmp"
	"maps"
	"strings"
	"time"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
)

// defaultInterval is the interval at which Flux looks at a digest. The digest cannot change, but a
// Secret or a certificate can.
const defaultInterval = time.Hour

// Event returns the OCIRepository on which events are raised: its name, and the annotations that
// are to be part of them.
func Event(t *v1alpha1.Transform, name string) *sourcev1.OCIRepository {
	out := &sourcev1.OCIRepository{
		TypeMeta:   metav1.TypeMeta{APIVersion: sourcev1.GroupVersion.String(), Kind: sourcev1.OCIRepositoryKind},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: t.Namespace},
	}
	AnnotateEvents(out, t)
	return out
}

// AnnotateEvents copies the annotations of a Transform that are to be part of events, such
// as event.toolkit.fluxcd.io/change_request.
func AnnotateEvents(object client.Object, t *v1alpha1.Transform) {
	annotations := maps.Clone(t.Annotations)
	maps.DeleteFunc(annotations, func(key, _ string) bool { return !strings.HasPrefix(key, eventv1.Group+"/") })
	object.SetAnnotations(annotations)
}

// Source returns the OCIRepository of a layer. A source that is pinned by its digest has that
// digest as its revision.
func (r *repository) Source(t *v1alpha1.Transform, layer, digest string) (client.Object, string, error) {
	out := &sourcev1.OCIRepository{
		TypeMeta:   metav1.TypeMeta{APIVersion: sourcev1.GroupVersion.String(), Kind: sourcev1.OCIRepositoryKind},
		ObjectMeta: metav1.ObjectMeta{Name: t.Name + "-" + layer, Namespace: t.Namespace},
		Spec: sourcev1.OCIRepositorySpec{
			URL: r.out.Repository, Reference: &sourcev1.OCIRepositoryRef{Digest: digest},
			Provider: cmp.Or(r.out.Provider, sourcev1.GenericOCIProvider), Insecure: r.out.Insecure,
			SecretRef: r.out.PullSecretRef.Flux(), CertSecretRef: r.out.CertSecretRef.Flux(),
			Interval: metav1.Duration{Duration: defaultInterval},
		},
	}
	if d := t.Spec.Delivery; d != nil && d.Flux != nil && d.Flux.Interval.Duration > 0 {
		out.Spec.Interval = d.Flux.Interval
	}
	hasIdentity := r.oci.Identity != nil && r.oci.Identity.accounts
	if hasIdentity && cloud(r.out) && r.out.PullSecretRef == nil {
		// The same identity pulls. Flux must have the same feature gate on.
		out.Spec.ServiceAccountName = r.account()
	}
	if r.verified {
		out.Spec.Verify = &sourcev1.OCIRepositoryVerification{
			Provider: "cosign", SecretRef: r.out.SigningKeyRef.Flux(),
		}
	}
	return out, strings.TrimSpace(digest), nil
}
