// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"io/fs"

	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/flux"
)

// fetch returns all files of a source. Transforms that name the same source share it.
func (l *Loader) fetch(ctx context.Context, s Source) (source.Tree, error) {
	key := s.String() + "@" + s.Digest
	if tree, ok := l.Trees.Get(key); ok {
		return tree, nil
	}
	tree, _, err := l.downloads.Do(ctx, key, func(ctx context.Context) (source.Tree, error) {
		artifacts := func(context.Context, string, string, string) (flux.Artifact, error) { return l.artifact(s), nil }
		fetcher := flux.Fetcher{Artifacts: flux.ArtifactsFunc(artifacts), Client: l.Client, Limits: l.Limits, Whole: true}
		tree, err := fetcher.Fetch(ctx, source.Ref{Type: source.TypeFlux, Ref: s.String()})
		if err != nil {
			return source.Tree{}, err
		}
		n, err := weight(tree.FS)
		if err == nil {
			l.Trees.Put(key, tree, n)
		}
		return tree, err
	}, nil)
	return tree, err
}

// weight returns about how many bytes files take in memory.
func weight(files fs.FS) (n int64, err error) {
	const name = 256 // the path of a file, and its entry in a map
	err = fs.WalkDir(files, ".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		n += name + info.Size()
		return nil
	})
	return n, err
}
