// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"context"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/source"
)

// Comparison lists the changes between two versions of a module, as data.
type Comparison = compatibility

// Fetched is a version of a module, with the reference that always leads to it.
type Fetched struct {
	source.Ref
	Tree source.Tree
}

// Compare returns the changes for the users of a module, as module compat does.
func (a Commands) Compare(
	ctx context.Context, sources *command.SourceFlags, limits *command.LimitFlags, older, newer Fetched,
) (Comparison, error) {
	texts := a.Texts // An error is about the project of the user.
	defer func() { a.Texts = texts }()
	withTrees := *sources
	withTrees.Replace = map[source.Ref]source.Tree{}
	addVersion := func(f Fetched) string {
		withTrees.Replace[source.Ref{Type: f.Type, Ref: f.Ref.Ref}] = f.Tree
		if f.Type == source.TypeOCI {
			return f.Ref.Ref
		}
		return f.Type + ":" + f.Ref.Ref
	}
	return a.compareVersions(ctx, &withTrees, limits, addVersion(older), addVersion(newer))
}
