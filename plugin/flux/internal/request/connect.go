// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/fetch"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/configmap"
	"github.com/ropewalk/ropewalk/source/lock"
	"github.com/ropewalk/ropewalk/source/pullpolicy"
)

// connect returns the host with the fetchers of modules for a Transform.
func (l *Loader) connect(id Identity, t *v1alpha1.Transform, opts host.Options) (host.Host, error) {
	h := host.Host{Embedded: l.Embedded, EmbeddedNames: l.EmbeddedNames}
	var locked lock.File
	if !t.Spec.One() {
		var err error
		locked, _, err = project.Lock(opts.Project())
		if err != nil {
			return h, err
		}
	}
	o := fetch.Options{
		Registries: l.registries(),
		Secrets:    secrets(id.Client, t.Namespace),
		Git:        l.Git,
		Artifacts:  l.artifacts(id.Client, t),
		Modules:    l.Dependencies,
		Store:      l.Store,
		TTL:        id.TTL,
		Scope:      id.Scope,
		Lock:       locked,
		Mode:       lock.Prefer,
		Signed:     l.Signed,
		Limits:     l.Limits,
		Report:     l.Report,
	}
	if l.Policy != nil {
		o.Guard = pullpolicy.Guard{Policy: l.Policy(), Project: t.Namespace}
	}
	h = o.Connect(h)
	h.Fetchers[source.TypeFlux] = l.newest(h.Fetchers[source.TypeFlux], id.Client, t)
	return h, nil
}

// registries returns a function that connects to the registries of Modules, by https; nil is the
// default of fetch.
func (l *Loader) registries() func() (*remote.Registries, error) {
	if l.Registries == nil {
		return nil
	}
	return func() (*remote.Registries, error) { return l.Registries(false) }
}

// newest returns a fetcher that fetches the artifact that a source has now, whatever a cache
// remembers: the event of a new artifact has caused the request.
func (l *Loader) newest(next source.Fetcher, reader client.Reader, t *v1alpha1.Transform) source.Fetcher {
	return source.FetcherFunc(func(ctx context.Context, ref source.Ref) (source.Tree, error) {
		if r, ok := parseReference(ref.Ref, t.Namespace); ok && !strings.Contains(ref.Ref, "@") {
			s, err := l.source(ctx, reader, t, r.kind, r.namespace, r.name)
			if err != nil {
				return source.Tree{}, err
			}
			ref.Ref = s.String() + "@" + s.Digest
		}
		return next.Fetch(ctx, ref)
	})
}

// configMaps returns a reader of the ConfigMaps of a namespace.
func configMaps(reader client.Reader, namespace string) configmap.Getter {
	return configmap.GetterFunc(func(ctx context.Context, name string) (configmap.ConfigMap, error) {
		m := &corev1.ConfigMap{}
		err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, m)
		out := configmap.ConfigMap{
			Name:            name,
			Data:            m.Data,
			BinaryData:      m.BinaryData,
			UID:             string(m.UID),
			ResourceVersion: m.ResourceVersion,
		}
		return out, absent(err, "ConfigMap", namespace, name)
	})
}

// secrets returns a reader of the Secrets of a namespace, for the fetchers.
func secrets(reader client.Reader, namespace string) source.Secrets {
	return source.SecretsFunc(func(ctx context.Context, name string) (map[string][]byte, error) {
		s := &corev1.Secret{}
		err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, s)
		return s.Data, absent(err, "Secret", namespace, name)
	})
}

// hasSecret returns a function that asks for the metadata of a Secret of a namespace and for
// nothing else.
func hasSecret(reader client.Reader, namespace string) func(ctx context.Context, name string) error {
	return func(ctx context.Context, name string) error {
		m := &metav1.PartialObjectMetadata{}
		m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		return absent(reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, m), "Secret", namespace, name)
	}
}

// absent returns the error of the API server, as sources have it if there is no such object.
func absent(err error, kind, namespace, name string) error {
	if apierrors.IsNotFound(err) {
		return source.Refuse(source.ErrNotFound, fmt.Sprintf("%s %q does not exist in namespace %q", kind, name, namespace))
	}
	return err
}
