// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ropewalk/ropewalk/internal/printable"
	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/host/transform"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/flux"
)

// Resolved holds the facts in the cluster that a Transform depends on now.
type Resolved struct {
	// Source is the source that sourceRef names; nil where there is no sourceRef.
	Source *Source
	// Key is the same as long as neither the spec of the Transform nor the objects that it
	// names in the cluster change. Modules in registries and repositories are not in it.
	Key string
}

// Source is the artifact of a source.
type Source struct {
	Kind, Namespace, Name string
	// Origin is the URL that the source is fetched from, for people; it may be "".
	Origin string
	meta.Artifact
}

// String returns the name of the source as references have it.
func (s Source) String() string { return s.Kind + "/" + s.Namespace + "/" + s.Name }

// Resolve finds the sources and ConfigMaps of a Transform, from metadata and status alone, so that a
// cache can answer. Its errors have the types of the errors of Load.
func (l *Loader) Resolve(ctx context.Context, reader client.Reader, t *v1alpha1.Transform) (Resolved, error) {
	// The key changes with everything that a render depends on.
	h := sha256.New()
	note := func(parts ...string) { _, _ = fmt.Fprintf(h, "%q\n", parts) }
	spec, err := json.Marshal(t.Spec)
	if err != nil {
		return Resolved{}, err
	}
	note("ropewalk transform 1", t.Namespace, t.Name, fmt.Sprint(t.Generation), string(spec))
	var out Resolved

	// The source of the specs, and the sources of modules.
	if ref := t.SourceRef(); ref != nil {
		s, err := l.source(ctx, reader, t, ref.Kind, ref.Namespace, ref.Name)
		if err != nil {
			return out, err
		}
		out.Source = &s
		note("source", s.String(), s.Digest, s.Revision)
	}
	for _, ref := range moduleSources(t) {
		s, err := l.source(ctx, reader, t, ref.kind, ref.namespace, ref.name)
		if err != nil {
			return out, err
		}
		note("module", s.String(), s.Digest)
	}

	// ConfigMaps count by their version, because only their metadata is read.
	for _, name := range ConfigMaps(t) {
		m := &metav1.PartialObjectMetadata{}
		m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		err := reader.Get(ctx, client.ObjectKey{Namespace: t.Namespace, Name: name}, m)
		if err != nil && !apierrors.IsNotFound(err) {
			return out, err
		}
		note("configmap", name, string(m.UID), m.ResourceVersion)
	}
	out.Key = "sha256:" + hex.EncodeToString(h.Sum(nil))
	return out, nil
}

// source returns a source with its artifact.
func (l *Loader) source(ctx context.Context, reader client.Reader, t *v1alpha1.Transform, kind, namespace, name string) (Source, error) {
	if namespace == "" {
		namespace = t.Namespace
	}

	// A source of another namespace is refused without a look at it.
	s := Source{Kind: kind, Namespace: namespace, Name: name}
	if namespace != t.Namespace && l.NoCrossNamespaceRefs {
		message := fmt.Sprintf("%s is in another namespace, and the controller runs with --no-cross-namespace-refs: "+
			"use a source in namespace %q", s, t.Namespace)
		return s, &DeniedError{message: message}
	}
	obj, artifact, origin := sourceOf(kind)
	if obj == nil {
		const format = "%q is not a kind of source: expected GitRepository, OCIRepository, Bucket or ExternalArtifact"
		return s, transform.Mistake("spec.sourceRef.kind", "", format, kind)
	}

	// An event follows when a source that is missing is made, or gets its artifact.
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, obj)
	switch {
	case apierrors.IsNotFound(err):
		return s, waiting(v1alpha1.SourceNotFoundReason, "%s %q does not exist in namespace %q: create it, or correct the reference", kind, name, namespace)
	case err != nil:
		return s, err
	}
	current, observed := artifact()
	switch {
	case current == nil || current.URL == "" || current.Digest == "":
		return s, waiting(v1alpha1.SourceNotReadyReason, "%s has no artifact yet: %s", s, cmp.Or(notReady(obj), "see its conditions"))
	case observed != nil && *observed < obj.GetGeneration():
		return s, waiting(v1alpha1.SourceNotReadyReason, "%s has no artifact for its present generation yet%s", s, prefixed(": ", notReady(obj)))
	}
	s.Artifact = *current
	s.Origin = origin()
	return s, nil
}

// notReady returns the message of a source that is not Ready, or "" if it has no message.
func notReady(source client.Object) string {
	if c, ok := source.(conditions.Getter); ok && conditions.IsFalse(c, meta.ReadyCondition) {
		return printable.Cut(conditions.GetMessage(c, meta.ReadyCondition), longestReason, "…")
	}
	return ""
}

// longestReason bounds the part of the message of a source that is repeated, in bytes.
const longestReason = 512

// prefixed returns text behind a prefix, or "" if it is empty.
func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// sourceOf returns an empty source of a kind. It also returns functions that read its artifact, with
// the generation of the artifact, and the URL that the source is fetched from.
func sourceOf(kind string) (obj client.Object, artifact func() (*meta.Artifact, *int64), origin func() string) {
	switch kind {
	case sourcev1.GitRepositoryKind:
		o := &sourcev1.GitRepository{}
		return o, func() (*meta.Artifact, *int64) { return o.Status.Artifact, &o.Status.ObservedGeneration }, func() string { return o.Spec.URL }
	case sourcev1.OCIRepositoryKind:
		o := &sourcev1.OCIRepository{}
		return o, func() (*meta.Artifact, *int64) { return o.Status.Artifact, &o.Status.ObservedGeneration }, func() string { return o.Spec.URL }
	case sourcev1.BucketKind:
		o := &sourcev1.Bucket{}
		return o, func() (*meta.Artifact, *int64) { return o.Status.Artifact, &o.Status.ObservedGeneration }, func() string { return o.Spec.Endpoint }
	case sourcev1.ExternalArtifactKind:
		o := &sourcev1.ExternalArtifact{}
		return o, func() (*meta.Artifact, *int64) { return o.Status.Artifact, nil }, func() string { return "" }
	}
	return nil, nil, nil
}

// NewSource returns an empty source of a kind, or nil if the kind is not a kind of source.
func NewSource(kind string) client.Object {
	obj, _, _ := sourceOf(kind)
	return obj
}

// SourceKinds returns the kinds of sources.
func SourceKinds() []string {
	return []string{sourcev1.GitRepositoryKind, sourcev1.OCIRepositoryKind, sourcev1.BucketKind, sourcev1.ExternalArtifactKind}
}

// reference names a source.
type reference struct{ kind, namespace, name string }

// parseReference reads Kind/name and Kind/namespace/name.
func parseReference(text, namespace string) (reference, bool) {
	switch parts := strings.Split(text, "/"); len(parts) {
	case 2:
		return reference{parts[0], namespace, parts[1]}, slices.Contains(SourceKinds(), parts[0])
	case 3:
		return reference{parts[0], parts[1], parts[2]}, slices.Contains(SourceKinds(), parts[0])
	}
	return reference{}, false
}

// moduleSources returns the sources that modules of a Transform come from. A fetcher refuses a text
// that is not a reference, at its position.
func moduleSources(t *v1alpha1.Transform) []reference {
	var out []reference
	add := func(ref v1alpha1.CueReference) {
		if ref.Type != source.TypeFlux {
			return
		}
		if r, ok := parseReference(ref.Ref, t.Namespace); ok && !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	for _, named := range t.Spec.References() {
		add(*named.Ref)
	}
	for _, p := range t.Spec.Policies {
		add(p.CueRef)
	}
	return out
}

// Sources returns the sources that a Transform names, as Kind/namespace/name: the keys of an
// index.
func Sources(t *v1alpha1.Transform) []string {
	var out []string
	if ref := t.SourceRef(); ref != nil {
		s := Source{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
		if s.Namespace == "" {
			s.Namespace = t.Namespace
		}
		out = append(out, s.String())
	}
	for _, r := range moduleSources(t) {
		out = append(out, Source{Kind: r.kind, Namespace: r.namespace, Name: r.name}.String())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ConfigMaps returns the names of the ConfigMaps that a Transform takes inputs and modules from,
// sorted.
func ConfigMaps(t *v1alpha1.Transform) []string {
	var out []string
	for _, in := range t.Spec.InputsFrom {
		if in.Kind == "ConfigMap" {
			out = append(out, in.Name)
		}
	}
	for _, named := range t.Spec.References() {
		if named.Ref.Type == source.TypeConfigMap {
			out = append(out, named.Ref.Ref)
		}
	}
	for _, p := range t.Spec.Policies {
		if p.CueRef.Type == source.TypeConfigMap {
			out = append(out, p.CueRef.Ref)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// artifacts returns a finder of sources for modules of the type source.
func (l *Loader) artifacts(reader client.Reader, t *v1alpha1.Transform) flux.Artifacts {
	return flux.ArtifactsFunc(func(ctx context.Context, kind, namespace, name string) (flux.Artifact, error) {
		s, err := l.source(ctx, reader, t, kind, namespace, name)
		if err != nil {
			return flux.Artifact{}, err
		}
		return l.artifact(s), nil
	})
}

// artifact returns the artifact of a source, at the host that the controller has to ask. An
// artifact that exists counts, also while the source is not Ready.
func (l *Loader) artifact(s Source) flux.Artifact {
	address := s.URL
	if u, err := url.Parse(address); err == nil && l.SourceHost != "" {
		u.Host = l.SourceHost
		address = u.String()
	}
	return flux.Artifact{URL: address, Digest: s.Digest, Revision: s.Revision, Ready: true}
}

// DeniedError says that the flags of the controller forbid something.
type DeniedError struct{ message string }

// Error returns what is forbidden, and by what.
func (e *DeniedError) Error() string { return e.message }

// waiting returns the error for a source that is not there yet.
func waiting(reason string, format string, args ...any) error {
	return &transform.WaitError{Reason: reason, Watched: true, Message: fmt.Sprintf(format, args...)}
}
