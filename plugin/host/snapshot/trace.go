// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"

	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/evaluate"
)

// maxTraced is how many fields of one spec are traced: a trace costs about as
// much as an evaluation.
const maxTraced = 500

// Trace sets in a report the lines of the user's own text that fields of the later snapshot come
// from, as far as they are known. The argument req is the request of that snapshot.
func Trace(ctx context.Context, evaluator evaluate.Evaluator, req render.Request, report *diff.Report) error {
	// Only fields with a value later are traced, and a few of each spec.
	var queries []evaluate.Query
	var fields []*diff.Field
	traced := map[string]int{}
	for i := range report.Changes {
		c := &report.Changes[i]
		if c.Node == "" || c.Kind == diff.Deleted {
			continue
		}
		for j := range c.Fields {
			if f := &c.Fields[j]; f.After != nil && traced[c.Node.Spec()] < maxTraced {
				traced[c.Node.Spec()]++
				fields = append(fields, f)
				queries = append(queries, evaluate.Query{Node: c.Node, Path: f.At})
			}
		}
	}
	if len(queries) == 0 {
		return nil
	}
	// Where a value comes from is an extra: only a context that ended is an error.
	origins, _ := render.Renderer{Evaluator: evaluator}.Trace(ctx, req, queries)
	if err := ctx.Err(); err != nil {
		return err
	}

	// The input comes before the module.
	for i, o := range origins {
		at := o.Input
		if !at.IsValid() {
			at = o.Module
		}
		fields[i].Pos = at
		if at.IsValid() {
			fields[i].From = at.String()
		}
	}
	return nil
}
