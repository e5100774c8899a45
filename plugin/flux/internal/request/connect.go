// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/ropewalk/ropewalk/plugin/api/v1alpha1"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/fetch"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/plugin/host/remote"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/configmap"
	"github.com/ropewalk/ropewalk/source/lock"
	"github.com/ropewalk/ropewalk/source/pullpolicy"
)

// options are what the host is to load, without files and arguments.
func options(id Identity, t *v1alpha1.Transform, limits evaluate.Limits) host.Options {
	c := v1alpha1.Context{}
	if t.Spec.Context != nil {
		c = *t.Spec.Context
	}
	out := host.Options{
		Dir: ".", Root: ".", Name: label(t.Name), Limits: limits, AllowEmpty: t.Spec.AllowEmpty,
		Context: spec.Context{Namespace: c.Namespace, ClusterDomain: c.ClusterDomain, KubeVersion: c.KubeVersion, Engine: string(id.Dialect)},
		Emit:    emit.Options{Dialect: id.Dialect, Name: label(t.Name), FluxNamespace: t.Namespace},
	}
	if id.Dialect == dialect.Flux {
		// The delivery refuses what it is not told to have decrypted.
		out.Emit.Repository, out.Emit.DecryptionConfigured = repository, true
	}
	if !t.Spec.One() {
		for _, name := range object.SortedKeys(t.Spec.Tags) {
			out.Runtime = append(out.Runtime, name+"="+t.Spec.Tags[name])
		}
	}
	if t.Spec.SourceRef != nil {
		out.Environment = t.Spec.SourceRef.Environment
	}
	return out
}

// surround fills what the Transform does not say of its surroundings. The namespace is
// that of the Transform, where the project that it renders says none either. The version
// of Kubernetes is that of the cluster, whatever the project says, as under Argo CD: a
// project says what to render for where no cluster is known.
func (l *Loader) surround(ctx context.Context, c *spec.Context, project spec.Context, t *v1alpha1.Transform) (err error) {
	if c.Namespace == "" && project.Namespace == "" {
		c.Namespace = t.Namespace
	}
	if c.KubeVersion == "" && l.KubeVersion != nil {
		c.KubeVersion, err = l.KubeVersion(ctx)
	}
	return err
}

// contextOf is what the project of a source says of its surroundings, in its
// environment.
func contextOf(files fs.FS, t *v1alpha1.Transform, environment string) spec.Context {
	name := folderOf(t)
	if info, err := fs.Stat(files, name); err == nil && info.IsDir() {
		name = path.Join(name, spec.ProjectFile)
	}
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return spec.Context{}
	}
	// Its mistakes are told when it is loaded.
	docs, _ := spec.Parse([]spec.File{{Name: name, Data: data, Found: true}})
	out := spec.Context{}
	for _, p := range docs.Projects {
		over, _, _ := p.Overlay(environment, nil)
		out = out.Merge(over)
	}
	return out
}

// connect gives the host what fetches modules for a Transform.
func (l *Loader) connect(id Identity, t *v1alpha1.Transform, opts host.Options) (host.Host, error) {
	h := host.Host{Embedded: l.Embedded, EmbeddedNames: l.EmbeddedNames}
	var locked lock.File
	if !t.Spec.One() {
		var err error
		if locked, _, err = project.Lock(opts.Project()); err != nil {
			return h, err
		}
	}
	o := fetch.Options{
		Registries: l.registries(), Secrets: secrets(id.Client, t.Namespace), Git: l.Git,
		Artifacts: l.artifacts(id.Client, t), Modules: l.Dependencies, Store: l.Store, TTL: id.TTL, Scope: id.Scope,
		Lock: locked, Mode: lock.Prefer, Signed: l.Signed, Limits: l.Limits, Report: l.Report,
	}
	if l.Policy != nil {
		o.Guard = pullpolicy.Guard{Policy: l.Policy(), Project: t.Namespace}
	}
	h = o.Connect(h)
	h.Fetchers[source.TypeFlux] = l.newest(h.Fetchers[source.TypeFlux], id.Client, t)
	if t.Spec.One() {
		h = l.inCluster(h, id.Client, t)
	}
	return h, nil
}

// registries are those of Modules, by https; nil is the default of fetch.
func (l *Loader) registries() func() (*remote.Registries, error) {
	if l.Registries == nil {
		return nil
	}
	return func() (*remote.Registries, error) { return l.Registries(false) }
}

// newest fetches the artifact that a source has now, whatever a cache remembers: the
// event of a new one is why it is asked for.
func (l *Loader) newest(next source.Fetcher, from client.Reader, t *v1alpha1.Transform) source.Fetcher {
	return source.FetcherFunc(func(ctx context.Context, ref source.Ref) (source.Tree, error) {
		if r, ok := parseReference(ref.Ref, t.Namespace); ok && !strings.Contains(ref.Ref, "@") {
			s, err := l.source(ctx, from, t, r.kind, r.namespace, r.name)
			if err != nil {
				return source.Tree{}, err
			}
			ref.Ref = s.String() + "@" + s.Digest
		}
		return next.Fetch(ctx, ref)
	})
}

// inCluster has modules of the type configmap come from the namespace of the
// Transform: for documents that stand in a Transform. Those of a project have the
// ConfigMaps of the project.
func (l *Loader) inCluster(h host.Host, from client.Client, t *v1alpha1.Transform) host.Host {
	h.Fetchers = maps.Clone(h.Fetchers)
	get := func(ctx context.Context, name string) (configmap.ConfigMap, error) {
		m := &corev1.ConfigMap{}
		err := from.Get(ctx, client.ObjectKey{Namespace: t.Namespace, Name: name}, m)
		if apierrors.IsNotFound(err) {
			return configmap.ConfigMap{}, source.Refuse(source.ErrNotFound, fmt.Sprintf("ConfigMap %q does not exist in namespace %q", name, t.Namespace))
		}
		return configmap.ConfigMap{Name: name, Data: m.Data, BinaryData: m.BinaryData, UID: string(m.UID), ResourceVersion: m.ResourceVersion}, err
	}
	h.Fetchers[source.TypeConfigMap] = configmap.Fetcher{Limits: l.Limits, Getter: configmap.GetterFunc(get)}
	return h
}
