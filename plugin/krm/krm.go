// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package krm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// MaxList limits a ResourceList: 64 MiB.
const MaxList = 64 << 20

// Function is the render as a KRM function. It is safe for concurrent use.
type Function struct {
	// Host fetches the modules.
	Host host.Host
	// Options say what else to load and how to write; they win over the annotations of
	// functionConfig. Args, Stdin and Held are set here.
	Options host.Options
	// Evaluator evaluates modules.
	Evaluator evaluate.Evaluator
	// Strict takes warnings as errors.
	Strict bool
	// Parallel limits the specs that are evaluated at once; 1 where zero.
	Parallel int
	// Hint returns a hint for an error that has no hint of its own; nil returns no hints.
	Hint func(err error) string
	// Complete adds what the caller found to the mistakes and warnings of a run; nil adds
	// nothing.
	Complete func(found object.Errors) object.Errors
}

// Output is the result of a run.
type Output struct {
	// List is the ResourceList to write, with results; nil where none was read.
	List []byte
	// Warnings are among the results of the list too.
	Warnings object.Errors
}

// Run reads a ResourceList, renders its functionConfig, and returns the list to write
// back.
//
// The error is an [object.Errors] with every mistake, each with the file of its item in place of a
// position in the list; the list is there even then, with the items as they were and the mistakes
// as results. It wraps the error of ctx or input where these fail.
func (f Function) Run(ctx context.Context, input io.Reader) (Output, error) {
	data, err := io.ReadAll(io.LimitReader(input, MaxList+1))
	if err != nil {
		return Output{}, err
	}
	l, err := parse(data)
	if err != nil {
		var secrets object.Secrets
		secrets.AddText(string(data))
		return Output{}, secrets.Errors(object.AsErrors(err, object.StageSpec))
	}
	found := f.apply(ctx, l)
	if ctx.Err() != nil {
		return Output{}, ctx.Err()
	}
	return Output{List: l.write(), Warnings: found.Warnings()}, found.Err()
}

// apply renders, merges and puts its results into the list. Its mistakes have positions for users.
func (f Function) apply(ctx context.Context, l *list) object.Errors {
	docs, err := gather(l)
	found := object.AsErrors(err, object.StageSpec)
	if err == nil {
		var objects []rendered
		objects, found = f.render(ctx, docs)
		if f.Complete != nil {
			found = f.Complete(found)
		}
		if found.Err() == nil {
			kept, clashes := merge(l.items, objects, docs.owner)
			found = append(found, clashes...)
			if found.Err() == nil {
				l.items = kept
			}
		}
	}
	for i, e := range found {
		found[i] = object.Shown(e)
	}
	l.results = docs.results(found)
	return docs.withFiles(found)
}

// render renders the documents. Its mistakes and warnings have positions in
// their text.
func (f Function) render(ctx context.Context, docs documents) ([]rendered, object.Errors) {
	opts := f.Options
	opts.Args = []string{"-"}
	opts.Stdin = bytes.NewReader(docs.text)
	opts.Held = docs.files
	docs.settings.fillOptions(&opts)
	opts.Evaluator = f.Evaluator
	loaded, err := f.Host.Load(ctx, opts)
	if err != nil {
		return nil, f.addHints(object.AsErrors(err, object.StageSpec))
	}
	loaded.Request.Strict = f.Strict
	loaded.Request.Parallel = f.Parallel
	result, err := render.Renderer{Evaluator: f.Evaluator}.Render(ctx, loaded.Request)
	if err != nil {
		return nil, f.addHints(object.AsErrors(err, object.StageEvaluate))
	}
	found := append(result.Warnings, warnLayers(result, loaded.Request.Emit.Dialect, f.Strict)...)
	objects, err := decode(result.Files, docs)
	if err == nil && len(objects) == 0 && !opts.AllowEmpty {
		err = mistake("set the annotation "+settingEmpty+": \"true\" if that is meant",
			"nothing was rendered, and what an earlier run left would be deleted")
	}
	return objects, append(found, object.AsErrors(err, object.StageEmit)...)
}

// addHints adds hints to mistakes without a hint.
func (f Function) addHints(found object.Errors) object.Errors {
	for _, e := range found {
		if e.Hint == "" && f.Hint != nil {
			e.Hint = f.Hint(e.Err)
		}
	}
	return found
}

// warnLayers warns that the order of the flux dialect is in its folders, which a list does not
// have.
func warnLayers(result render.Result, name dialect.Name, strict bool) object.Errors {
	if name != dialect.Flux || len(result.Layers) < 2 {
		return nil
	}
	severity := object.SeverityWarning
	if strict {
		severity = object.SeverityError
	}
	return object.Errors{{
		Stage: object.StageEmit, Severity: severity, Pos: object.Pos{File: stdin},
		Err:  fmt.Errorf("the order of %d layers is lost: Flux orders Kustomizations, and a ResourceList has none", len(result.Layers)),
		Hint: `"ropewalk build --dialect flux" keeps it`,
	}}
}

// mistake returns an error about functionConfig as a whole.
func mistake(hint, format string, args ...any) error {
	return object.Errors{{
		Stage: object.StageSpec, Pos: object.Pos{File: stdin}, Hint: hint, Err: fmt.Errorf(format, args...),
	}}
}

// errNoList is standard input that is no list.
var errNoList = errors.New("expected a ResourceList of config.kubernetes.io/v1")
