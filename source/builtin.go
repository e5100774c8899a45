// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/ropewalk/ropewalk/internal/reftype"
)

// Names of types that code has to tell apart; the table of all of them, with what
// each takes, is package reftype.
const (
	TypePath      = reftype.Path
	TypeInline    = reftype.Inline
	TypeEmbedded  = reftype.Embedded
	TypeConfigMap = reftype.ConfigMap
	TypeGit       = reftype.Git
	TypeOCI       = reftype.OCI
	TypeFlux      = reftype.Flux
	TypeHelm      = reftype.Helm
	TypeHTTP      = reftype.HTTP
)

// InlineFile is the name of the only file of an inline module.
const InlineFile = "module.cue"

// Inline returns the fetcher of modules that are written in the reference itself, as CUE
// text. The tree has one file, [InlineFile]. The reference has no sub-path.
func Inline(limits Limits) Fetcher {
	return FetcherFunc(func(_ context.Context, ref Ref) (Tree, error) {
		if ref.Path != "" {
			return Tree{}, Refuse(ErrPath, fmt.Sprintf("an inline module has no path %q", ref.Path))
		}
		b := Builder{Limits: limits}
		if err := b.Add(InlineFile, []byte(ref.Ref)); err != nil {
			return Tree{}, err
		}
		return b.Tree(TypeInline, "")
	})
}

// Embedded returns the fetcher of modules that are part of the program; lookup finds them by
// name. The sub-path of a reference is the folder of the package.
func Embedded(lookup func(name string) (fs.FS, bool), limits Limits) Fetcher {
	return FetcherFunc(func(ctx context.Context, ref Ref) (Tree, error) {
		fsys, ok := lookup(ref.Ref)
		if !ok {
			return Tree{}, Refuse(ErrNotFound, fmt.Sprintf("no embedded module is called %q", ref.Ref))
		}
		b := Builder{Limits: limits}
		if err := errors.Join(ctx.Err(), b.AddFS(fsys)); err != nil {
			return Tree{}, err
		}
		tree, err := b.Tree(TypeEmbedded+":"+ref.Ref, "")
		if err != nil {
			return Tree{}, err
		}
		return tree.At(ref.Path)
	})
}

// At returns t with the package in the folder dir below its package; "" changes nothing. The
// error is ErrPath or ErrNotFound.
func (t Tree) At(dir string) (Tree, error) {
	if dir == "" || dir == "." {
		return t, nil
	}
	dir = path.Clean(dir)
	if err := CheckPath(dir); err != nil {
		return Tree{}, err
	}
	dir = path.Join(t.Dir, dir)
	if info, err := fs.Stat(t.FS, dir); err != nil || !info.IsDir() {
		return Tree{}, Refuse(ErrNotFound, fmt.Sprintf("%s has no folder %q", t.Origin, dir))
	}
	t.Dir = dir
	return t, nil
}
