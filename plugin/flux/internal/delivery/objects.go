// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"cmp"
	"context"
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/flux/internal/apply"
)

const (
	// annotationSuspended is on Kustomizations that we suspended, for a moment.
	annotationSuspended = "ropewalk.dev/suspended"
	// labelShard tells the replicas of Flux's controllers apart.
	labelShard = "sharding.fluxcd.io/key"

	waitForTermination = kustomizev1.DeletionPolicyWaitForTermination
	orphan             = kustomizev1.DeletionPolicyOrphan

	// maxName limits the name of a Kustomization, in bytes: the name is the value of a label of
	// all that the Kustomization applies.
	maxName = 63
)

// reference leads from a Kustomization to its source.
type reference = kustomizev1.CrossNamespaceSourceReference

// refer returns the reference to a source.
func refer(source client.Object) reference {
	return reference{Kind: kindOf(source), Name: source.GetName()}
}

// objectName returns the name of the objects of Flux of a layer.
func objectName(t *v1alpha1.Transform, layer string) string { return t.Name + "-" + layer }

// template returns the part of the Transform that its Flux objects are made from.
func (d *delivery) template() v1alpha1.FluxDelivery {
	if d.t.Spec.Delivery == nil || d.t.Spec.Delivery.Flux == nil {
		return v1alpha1.FluxDelivery{}
	}
	return *d.t.Spec.Delivery.Flux
}

// labels returns the labels of the objects of Flux of a layer.
func (d *delivery) labels(layer string) map[string]string {
	labels := map[string]string{
		v1alpha1.LabelTransform: d.t.Name, v1alpha1.LabelNamespace: d.t.Namespace, v1alpha1.LabelLayer: layer,
	}
	if shard := d.template().Shard; shard != "" {
		labels[labelShard] = shard
	}
	return labels
}

// kustomization returns the Kustomization of a layer as it should be.
func (d *delivery) kustomization(layer, checks string, source reference, suspend bool) *kustomizev1.Kustomization {
	f := d.template()
	k := &kustomizev1.Kustomization{
		TypeMeta:   metav1.TypeMeta{APIVersion: kustomizev1.GroupVersion.String(), Kind: kustomizev1.KustomizationKind},
		ObjectMeta: metav1.ObjectMeta{Name: objectName(d.t, layer), Namespace: d.t.Namespace, Labels: d.labels(layer)},
		Spec: kustomizev1.KustomizationSpec{
			Interval: duration(f.Interval, time.Hour), RetryInterval: new(duration(f.RetryInterval, time.Minute)),
			Timeout: new(duration(f.Timeout, 5*time.Minute)), KubeConfig: f.KubeConfig,
			Path: "./", Prune: true, DeletionPolicy: d.policy, Force: f.Force, Suspend: suspend,
			ServiceAccountName: cmp.Or(d.t.Spec.ServiceAccountName, d.DefaultServiceAccount),
			SourceRef:          source,
		},
	}

	// Decryption, the timeout and the health checks are those of the Transform and the layer.
	if f.Decryption != nil {
		k.Spec.Decryption = &kustomizev1.Decryption{
			Provider:           f.Decryption.Provider,
			SecretRef:          f.Decryption.SecretRef.Flux(),
			ServiceAccountName: f.Decryption.ServiceAccountName,
		}
	}
	u := d.layers[layer]
	if u != nil {
		k.Spec.Timeout.Duration = u.timeout(k.Spec.Timeout.Duration)
	}
	if u != nil && checks == health(u.HealthChecks, u.HealthCheckExprs) {
		k.Spec.HealthChecks, k.Spec.HealthCheckExprs = u.HealthChecks, u.HealthCheckExprs
	} else if live := d.live.kustomizations[layer]; live != nil {
		k.Spec.HealthChecks, k.Spec.HealthCheckExprs = live.Spec.HealthChecks, live.Spec.HealthCheckExprs
	}

	// Flux answers the request even while it is suspended, after the reconciliation under way.
	if suspend {
		k.Annotations = map[string]string{annotationSuspended: "handover"}
		k.Annotations[meta.ReconcileRequestAnnotation] = "ropewalk-" + apply.Sum(k.Spec)[:16]
	}
	return k
}

// duration returns d, or the value that the API server would have filled in.
func duration(d metav1.Duration, fallback time.Duration) metav1.Duration {
	return metav1.Duration{Duration: cmp.Or(d.Duration, fallback)}
}

// write applies the Kustomization of a layer.
func (d *delivery) write(ctx context.Context, g goal, source reference, suspend bool) error {
	d.touched[g.layer] = true
	return apply.Write(ctx, d.Client, d.kustomization(g.layer, g.health, source, suspend))
}

// current reports whether the Kustomization of a layer is as it should be, with the health checks
// that are given, and not suspended by this controller.
func (d *delivery) current(layer, checks string, source reference) bool {
	live := d.live.kustomizations[layer]
	return live != nil && apply.Same(d.kustomization(layer, checks, source, false), live)
}

// source returns the source of a layer as it should be when it leads to a digest.
func (d *delivery) source(g goal, digest string) (client.Object, error) {
	published, _, err := d.Artifacts.Source(d.t, g.layer, digest)
	if err != nil {
		return nil, err
	}
	labels := d.labels(g.layer)
	for key, value := range published.GetLabels() {
		labels[key] = cmp.Or(labels[key], value)
	}
	published.SetLabels(labels)
	if stains := d.stain(g); stains != "" {
		notes := map[string]string{}
		for key, value := range published.GetAnnotations() {
			notes[key] = value
		}
		notes[annotationHandOver] = stains
		published.SetAnnotations(notes)
	}
	return published, nil
}

// stain returns the annotation of a source: the objects that its artifact has marked, and, until
// the artifact is applied, the objects that only the artifact before had marked.
func (d *delivery) stain(g goal) string {
	s := d.states[g.layer]
	old := s.stains(g.content)
	if g.keep && s.applied {
		clear(old)
	} else if g.keep {
		old = s.stained
	}

	// An object may have 256 KiB of annotations, and an entry has 11 characters.
	const most = 5000
	var out []string
	for _, k := range sortedKeys(g.content) {
		if g.content[k].mark == marked || old[k] {
			out = append(out, stain(k))
		}
	}
	if len(out) > most {
		return everything
	}
	return strings.Join(out, ",")
}

// same reports whether the live source is as it should be.
func (c *cluster) same(want client.Object) bool {
	live, ok := c.sources[sourceKey{kindOf(want), want.GetName()}]
	return ok && apply.Same(want, live)
}

// applySource applies a source. The artifact of an ExternalArtifact is in its status.
func (d *delivery) applySource(ctx context.Context, layer string, want client.Object) error {
	d.touched[layer] = true
	return apply.Write(ctx, d.Client, want)
}

// kindOf returns the kind of a source. Objects that were read do not have it written on them.
func kindOf(o client.Object) string {
	switch o.(type) {
	case *sourcev1.OCIRepository:
		return sourcev1.OCIRepositoryKind
	case *sourcev1.ExternalArtifact:
		return sourcev1.ExternalArtifactKind
	}
	return o.GetObjectKind().GroupVersionKind().Kind
}

// digestOf returns the digest that a source leads to.
func digestOf(o client.Object) string {
	switch s := o.(type) {
	case *sourcev1.OCIRepository:
		if s.Spec.Reference != nil {
			return s.Spec.Reference.Digest
		}
	case *sourcev1.ExternalArtifact:
		if a := s.GetArtifact(); a != nil {
			return a.Digest
		}
	}
	return ""
}
