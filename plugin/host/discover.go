// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"cmp"
	"context"

	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// found holds the files that the options name, and the modules that fetch references. Its Errs are
// the mistakes of all stages.
type found struct {
	*project.Discovery
	opts    Options
	texts   *texts
	modules *modules
	runtime *runtime
}

// documents are the specs of a project, and the project.
type documents = project.Documents

// discover finds the files that the options name and parses their documents. The caller closes the
// result, unless there is an error, which comes from ctx or from a limit.
func (h Host) discover(ctx context.Context, opts Options) (found, documents, error) {
	texts := &texts{limits: opts.Limits, charge: opts.charge, seen: map[string]bool{}}
	where := opts.Project()
	where.Charge = func(text spec.File) error { return texts.chargeDocument(ctx, text) }
	d, err := project.Open(where)
	if err != nil {
		return found{}, documents{}, err
	}
	d.Find()
	if d.Ended() != nil {
		d.Close()
		return found{}, documents{}, d.Ended()
	}
	f, docs := h.parse(d, opts)
	f.texts = texts
	return f, docs, nil
}

// parse parses the documents of the files that were found.
func (h Host) parse(d *project.Discovery, opts Options) (found, documents) {
	docs := d.Documents(opts.Name)
	f := found{Discovery: d, opts: opts, modules: newModules(h, d, docs.ConfigMaps, opts.charge), runtime: &runtime{}}
	return f, docs
}

// ended returns the error that has ended the load before all was read.
func (f found) ended(ctx context.Context) error { return cmp.Or(f.texts.ended, ctx.Err()) }

// texts counts the values of all texts of a load, each once.
type texts struct {
	limits evaluate.Limits
	charge func(ctx context.Context, bytes int64) error
	// values counts the values of the texts that were seen, by their names in positions.
	values int
	seen   map[string]bool
	// ended is the error of the text that exceeded the limit.
	ended error
}

// chargeDocument charges for a document.
func (t *texts) chargeDocument(ctx context.Context, f spec.File) error {
	if err := t.countFile(ctx, f); err != nil {
		return err
	}
	return t.charge(ctx, spec.Weight(f.Data))
}

// countFile counts the values of a document, or of a file that a component reads.
func (t *texts) countFile(ctx context.Context, f spec.File) error {
	if t.ended == nil && !t.seen[f.Name] {
		t.seen[f.Name] = true
		t.values += spec.Values(f.Data)
		if err := t.limits.CheckValues(t.values, "the documents and the files of components"); err != nil {
			t.ended = object.Errors{{Stage: object.StageSpec, Pos: object.Pos{File: f.Name}, Err: err}}
		}
	}
	return cmp.Or(t.ended, ctx.Err())
}
