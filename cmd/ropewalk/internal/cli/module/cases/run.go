// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"time"

	"github.com/rogpeppe/go-internal/diff"
	"golang.org/x/sync/errgroup"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/internal/crash"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// Outcome is what came of a case.
type Outcome struct {
	Case
	// Result is that of the render; nothing where it failed.
	Result render.Result
	// Err is that of the render, and Failures what does not hold; none means that the case
	// passes.
	Err      error
	Failures object.Errors
	Elapsed  time.Duration
}

// Run renders cases and compares each with what it expects, parallel at a time. Outcomes are in the
// order of the cases. The error is that of ctx.
func Run(ctx context.Context, all []Case, s Subject, parallel int) ([]Outcome, error) {
	out := make([]Outcome, len(all))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, c := range all {
		group.Go(func() (err error) {
			defer crash.Recover(&err)
			began := time.Now()
			o := Outcome{Case: c}
			o.Result, o.Err = c.Render(ctx, s)
			if errors.Is(o.Err, context.Canceled) {
				return o.Err
			}
			o.Failures = c.Judge(o.Result, o.Err)
			o.Elapsed = time.Since(began)
			out[i] = o
			return nil
		})
	}
	return out, group.Wait()
}

// GoldenFile returns the path of the golden file of a case in the tree of its module, or "" if it
// has none.
func (c Case) GoldenFile() string {
	if c.Expect.Golden.Kind == object.KindNone {
		return ""
	}
	return path.Join(path.Dir(c.File), c.Expect.Golden.Text)
}

// Output returns all that a render writes, as a golden file has it.
func (o Outcome) Output() ([]byte, error) { return command.Stream(o.Result.Files, "yaml") }

// Golden compares the output with the golden file of the case, if it has one and passes otherwise.
// It returns nil if they are the same.
func (o Outcome) Golden(m evaluate.Module) (*object.Error, error) {
	name := o.GoldenFile()
	if name == "" || len(o.Failures) > 0 {
		return nil, nil //nolint:nilnil // nothing is wrong
	}
	output, err := o.Output()
	if err != nil {
		return nil, err
	}
	e := &object.Error{Stage: object.StageCheck, Pos: o.Expect.Golden.Pos, Path: "expect.golden", Hint: "run ropewalk module test --update, if the output is as you want it"}
	want, err := fs.ReadFile(m.FS, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Err = errors.New("there is no file " + o.Expect.Golden.Text)
		return e, nil
	case err != nil:
		return nil, err
	case bytes.Equal(want, output):
		return nil, nil //nolint:nilnil // nothing is wrong
	}
	var secrets object.Secrets
	for _, n := range o.Result.Plan.Graph.Nodes {
		secrets.AddNode(n)
	}
	e.Err = errors.New("the output is another one:\n" + secrets.Hide(string(diff.Diff(o.Expect.Golden.Text, want, "output", output))))
	return e, nil
}
