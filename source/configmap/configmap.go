// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package configmap

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/ropewalk/ropewalk/source"
)

// ConfigMap holds the parts of a ConfigMap that a module needs.
type ConfigMap struct {
	Name       string
	Data       map[string]string
	BinaryData map[string][]byte
	// UID and ResourceVersion are the revision of an object of an API server,
	// "" for a manifest.
	UID, ResourceVersion string
}

// Getter gets a ConfigMap by name; the error is source.ErrNotFound if there is none.
type Getter interface {
	Get(ctx context.Context, name string) (ConfigMap, error)
}

// GetterFunc is a function that is a Getter.
type GetterFunc func(ctx context.Context, name string) (ConfigMap, error)

// Get calls f.
func (f GetterFunc) Get(ctx context.Context, name string) (ConfigMap, error) { return f(ctx, name) }

// Fetcher gets modules out of ConfigMaps.
type Fetcher struct {
	Getter Getter
	Limits source.Limits
}

var _ source.Fetcher = Fetcher{}

// Fetch gets the ConfigMap that ref.Ref names. A ConfigMap has no folders, so
// ref.Path must be empty.
func (f Fetcher) Fetch(ctx context.Context, ref source.Ref) (source.Tree, error) {
	if ref.Path != "" {
		return source.Tree{}, source.Refuse(source.ErrPath, fmt.Sprintf("a ConfigMap has no folder %q", ref.Path))
	}
	m, err := f.Getter.Get(ctx, ref.Ref)
	if err != nil {
		return source.Tree{}, err
	}
	b := source.Builder{Limits: f.Limits}
	for _, key := range slices.Sorted(maps.Keys(m.Data)) {
		if err := b.Add(key, []byte(m.Data[key])); err != nil {
			return source.Tree{}, err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.BinaryData)) {
		if err := b.Add(key, m.BinaryData[key]); err != nil {
			return source.Tree{}, err
		}
	}
	revision := ""
	if m.UID != "" || m.ResourceVersion != "" {
		revision = m.UID + "/" + m.ResourceVersion
	}
	return b.Tree(source.TypeConfigMap+":"+ref.Ref, revision)
}
