// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kinds reads the CustomResourceDefinitions that are served.
func (p *Plane) Kinds(ctx context.Context) (Kinds, error) {
	out := Kinds{}
	for _, k := range []Kind{NamespaceKind, SecretKind, ConfigMapKind} {
		out[k.GroupKind()] = k
	}

	// A definition can have a megabyte of schemas, which are not kept.
	const page = 10
	err := p.List(ctx, crdKind, "", page, func(crd *unstructured.Unstructured) error {
		k, ok, err := kindOf(crd)
		if err != nil {
			return fmt.Errorf("%s plane: %s: %w", p.Name(), RefOf(crd), err)
		}
		if ok {
			out[k.GroupKind()] = k
		}
		return nil
	})
	return out, err
}

// Definitions returns the CustomResourceDefinitions that the server has, by name. The value is true
// for a definition that is being deleted, with all of its objects.
func (p *Plane) Definitions(ctx context.Context) (map[string]bool, error) {
	out := map[string]bool{}
	err := p.Metadata(ctx, crdKind, "", func(o *metav1.PartialObjectMetadata) { out[o.Name] = o.DeletionTimestamp != nil })
	if err != nil {
		return nil, fmt.Errorf("%s plane: listing %s: %w", p.Name(), crdKind.GroupKind(), err)
	}
	return out, nil
}

// Served returns all kinds whose objects are in namespaces and can be listed, built in or not,
// except Events. Each has the version that the server prefers. The error names the versions whose
// kinds are not known; the kinds of all other versions are returned.
//
// It does not use the discovery client of client-go, which links all types of the API.
func (p *Plane) Served(ctx context.Context) ([]Kind, error) {
	if p.options.Discover == nil {
		return nil, nil
	}

	// Preferred versions come first, so that they are kept.
	var groups metav1.APIGroupList
	if err := p.discover(ctx, "/apis", &groups); err != nil {
		return nil, err
	}
	paths := []string{"/api/v1"}
	for _, g := range groups.Groups {
		paths = append(paths, "/apis/"+g.PreferredVersion.GroupVersion)
		for _, v := range g.Versions {
			if v != g.PreferredVersion {
				paths = append(paths, "/apis/"+v.GroupVersion)
			}
		}
	}

	// Read all versions at once.
	lists := make([]metav1.APIResourceList, len(paths))
	err := p.Each(ctx, len(paths), func(ctx context.Context, i int) error {
		return IgnoreNotFound(p.discover(ctx, paths[i], &lists[i])) // It may be gone by now.
	})

	// Keep the first version of each kind.
	seen := map[schema.GroupKind]bool{}
	var out []Kind
	for _, list := range lists {
		gv, _ := schema.ParseGroupVersion(list.GroupVersion) // The server has one of that name.
		for _, r := range list.APIResources {
			k := Kind{Group: gv.Group, Kind: r.Kind, Resource: r.Name, Version: gv.Version, Namespaced: true}
			listed := r.Namespaced && r.Kind != EventKind.Kind && slices.Contains(r.Verbs, "list")
			if listed && !seen[k.GroupKind()] {
				seen[k.GroupKind()] = true
				out = append(out, k)
			}
		}
	}
	slices.SortFunc(out, Kind.Compare)
	return out, err
}

// discover reads a discovery document of the server.
func (p *Plane) discover(ctx context.Context, path string, document any) error {
	err := p.repeat(ctx, func(ctx context.Context) error {
		data, err := p.options.Discover(ctx, path)
		if err != nil {
			return err
		}
		return json.Unmarshal(data, document)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Metadata calls f with the metadata of each object of a kind in a namespace.
func (p *Plane) Metadata(ctx context.Context, k Kind, namespace string, f func(*metav1.PartialObjectMetadata)) error {
	const page = 500
	options := metav1.ListOptions{Limit: page}
	resources := p.options.Metadata.Resource(schema.GroupVersionResource{Group: k.Group, Version: k.Version, Resource: k.Resource})
	for {
		var list *metav1.PartialObjectMetadataList
		if err := p.repeat(ctx, func(ctx context.Context) (err error) {
			list, err = resources.Namespace(namespace).List(ctx, options)
			return err
		}); err != nil {
			return err
		}
		for i := range list.Items {
			f(&list.Items[i])
		}
		options.Continue = list.Continue
		if options.Continue == "" {
			return nil
		}
	}
}
