// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"errors"
	"io/fs"

	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/source"
	"github.com/ropewalk/ropewalk/source/strictyaml"
)

// FileMistakes returns err as mistakes in a lock or a pull policy. The result ok is false if it is
// another error.
func FileMistakes(err error) (mistakes object.Errors, ok bool) {
	var file *strictyaml.Error
	if !errors.As(err, &file) {
		return mistakes, errors.As(err, &mistakes)
	}
	// The reader of specs explains errors of syntax better than the YAML library.
	_, syntaxErr := spec.ParseValue(spec.File{Name: file.Name, Data: readText(file.Name)})
	if syntaxErr != nil && !errors.Is(syntaxErr, spec.ErrSecondDocument) {
		return object.AsErrors(syntaxErr, object.StageSpec), true
	}
	for _, m := range file.Mistakes {
		mistakes = append(mistakes, &object.Error{
			Stage: object.StageResolve, Pos: object.Pos{File: file.Name, Line: m.Line, Column: m.Column}, Err: errors.New(m.Text),
		})
	}
	mistakes[len(mistakes)-1].Hint = file.Hint // once is enough
	return mistakes, true
}

// errUnfetched is the error of every module that is not fetched because the files that
// say how to fetch are broken.
var errUnfetched = errors.New("not fetched")

// withoutFetching returns h with fetchers that fetch nothing, so that the mistakes of the specs are
// found all the same.
func withoutFetching(h host.Host) host.Host {
	nothing := source.FetcherFunc(func(context.Context, source.Ref) (source.Tree, error) { return source.Tree{}, errUnfetched })
	h.Fetchers = map[string]source.Fetcher{source.TypeGit: nothing, source.TypeOCI: nothing, source.TypeFlux: nothing}
	h.Complete = func(_ context.Context, tree source.Tree) (source.Tree, error) {
		if data, err := fs.ReadFile(tree.FS, "cue.mod/module.cue"); err == nil && bytes.Contains(data, []byte("deps")) {
			return tree, errUnfetched
		}
		return tree, nil
	}
	return h
}

// Broken returns the mistakes of [App.Connect] in the files that say how to fetch. The result ok is
// false for another error.
func Broken(err error) (broken object.Errors, ok bool) {
	return broken, err == nil || errors.As(err, &broken)
}

// Together adds the mistakes of the files that say how to fetch to err. It returns an err that is no
// mistake in a file unchanged.
func Together(err error, broken object.Errors) error {
	var mistakes object.Errors
	if err != nil && !errors.As(err, &mistakes) {
		return err
	}
	return WithBroken(mistakes, broken).Err()
}

// WithBroken returns mistakes together with the mistakes of the files that say how to fetch. It leaves
// out the errors of modules that were not fetched for this reason.
func WithBroken(mistakes, broken object.Errors) object.Errors {
	if len(broken) == 0 {
		return mistakes
	}
	for _, e := range mistakes {
		if !errors.Is(e.Err, errUnfetched) {
			broken = append(broken, e)
		}
	}
	return broken.Sorted()
}
