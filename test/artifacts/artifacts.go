// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package artifacts packs and pushes small artifacts, and checks image layouts, for the
// tests of artifact and of its layouts. The product never imports it.
package artifacts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"

	"github.com/ropewalk/ropewalk/artifact"
	"github.com/ropewalk/ropewalk/artifact/signature"
)

// At is the time of pushes.
func At() time.Time { return time.Date(2026, 11, 21, 13, 15, 0, 0, time.UTC) }

// Tree is a tree of manifests, by name and content.
func Tree(pairs ...string) fs.FS {
	out := fstest.MapFS{}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return out
}

// Single is a set of one artifact with that content.
func Single(t testing.TB, content, revision string) artifact.Set {
	t.Helper()
	set, err := artifact.PackSet(Tree("0-ConfigMap--shop.yaml", content), nil, artifact.Options{Revision: revision})
	require.NoError(t, err)
	return set
}

// Layered is a set with two barrier layers.
func Layered(t testing.TB, first, second, revision string) artifact.Set {
	t.Helper()
	set, err := artifact.PackSet(Tree("0.yaml", first, "1.yaml", second), []artifact.Layer{
		{Name: "base", FS: Tree("0.yaml", first)}, {Name: "apps", FS: Tree("1.yaml", second)},
	}, artifact.Options{Revision: revision})
	require.NoError(t, err)
	return set
}

// Push pushes a set.
func Push(t testing.TB, to artifact.Store, set artifact.Set, tags ...string) artifact.Pushed {
	t.Helper()
	pushed, err := artifact.Push(context.Background(), to, set, tags, artifact.PushOptions{At: At()})
	require.NoError(t, err)
	return pushed
}

// Attestations are what bundles by a known key state of a manifest, of one predicate type.
func Attestations(t testing.TB, from artifact.Reader, subject ocispec.Descriptor, predicateType string, keys *signature.Verifier) (out []signature.Statement) {
	t.Helper()
	list, err := artifact.Referrers(t.Context(), from, subject, signature.BundleType)
	require.NoError(t, err)
	for _, d := range list {
		data, err := artifact.ReadReferrer(t.Context(), from, subject, d, signature.MaxBundle)
		require.NoError(t, err)
		if s, err := keys.Bundle(data, subject.Digest.String()); err == nil && s.PredicateType == predicateType {
			out = append(out, s)
		}
	}
	return out
}

// VerifyLayout reads everything that an image layout names, a directory or a tar, with
// oras-go.
func VerifyLayout(name string) error {
	ctx := context.Background()
	if info, err := os.Stat(name); err != nil {
		return err
	} else if !info.IsDir() {
		store, err := oci.NewFromTar(ctx, name)
		if err != nil {
			return err
		}
		return store.Tags(ctx, "", func(tags []string) error {
			for _, tag := range tags {
				d, err := store.Resolve(ctx, tag)
				if err == nil {
					err = verify(ctx, store, []ocispec.Descriptor{d})
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	data, err := os.ReadFile(filepath.Join(name, ocispec.ImageIndexFile)) //nolint:gosec // it is a layout of a test
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was pushed yet
	}
	if err != nil {
		return err
	}
	var index ocispec.Index
	if err := json.Unmarshal(data, &index); err != nil {
		return err
	}
	return verify(ctx, oci.NewStorageFromFS(os.DirFS(name)), index.Manifests)
}

func verify(ctx context.Context, from content.Fetcher, todo []ocispec.Descriptor) error {
	var problems []error
	for len(todo) > 0 {
		d := todo[0]
		todo = todo[1:]
		data, err := content.FetchAll(ctx, from, d)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", d.Digest, err))
			continue
		}
		if d.MediaType != ocispec.MediaTypeImageManifest {
			continue
		}
		var m ocispec.Manifest
		if err := json.Unmarshal(data, &m); err != nil {
			return err
		}
		todo = append(append(todo, m.Config), m.Layers...)
	}
	return errors.Join(problems...)
}
