// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// vetted checks a project, in all of its environments where none is named.
type vetted struct {
	commands
	flags *command.ProjectFlags
	paths []string
	// optional accepts paths with nothing at all, and unit is set for a unit of Argo CD or Flux.
	optional, unit bool
	// each is called with each render that succeeds; it may be nil.
	each func(environment string, r command.Rendered)
	// runs are the environments that were checked, "" for none, and found what was found
	// in each.
	runs  []string
	found []object.Errors
}

// checkAll checks everything. It returns the findings, each once, and a summary, which is "" if
// nothing was rendered.
func (v *vetted) checkAll(ctx context.Context) (object.Errors, string, error) {
	// All runs share an evaluator.
	evaluator, closer, err := v.flags.Evaluator()
	if err != nil {
		return nil, "", err
	}
	defer closer()
	v.flags.Shared = evaluator

	// Standard input is read by each run.
	var input []byte
	if slices.Contains(v.paths, "-") {
		input, err = io.ReadAll(io.LimitReader(v.In, spec.MaxFile+1))
		if err != nil {
			return nil, "", err
		}
	}
	v.In = bytes.NewReader(input)

	// Check the project without an environment.
	r, err := v.run(ctx)
	if err != nil {
		return nil, "", err
	}
	if v.optional && !(command.Below{Optional: true}).Holds(v.found[0]) {
		return nil, "", nil
	}
	if !v.optional {
		v.NoteOthers(r.Loaded)
	}
	good := summary(r)
	if v.flags.Environment != "" {
		return v.found[0], good, nil
	}

	// Check it in each environment.
	names := object.SortedKeys(r.Project.Environments)
	// A bundle for several clusters is for none without an environment.
	if slices.ContainsFunc(v.found[0], func(e *object.Error) bool { return errors.Is(e, host.ErrManyClusters) }) {
		v.runs, v.found = nil, nil
	}
	for _, name := range names {
		v.flags.Environment = name
		v.In = bytes.NewReader(input)
		in, err := v.run(ctx)
		if err != nil {
			// An option may fit the project and not an environment.
			mistakes, _ := errors.AsType[object.Errors](err)
			for _, e := range mistakes {
				e.Err = fmt.Errorf("environment %s: %w", name, e.Err)
			}
			return nil, "", err
		}
		if good == "" {
			good = summary(in)
		}
	}

	// Report each finding once.
	if len(names) > 0 {
		good += ", with " + printable.Count(len(names), "environment")
	}
	return v.merged(), good, nil
}

// summary returns a summary of a render, or "" if there is none.
func summary(r command.Rendered) string {
	if r.Plan == nil {
		return ""
	}
	return fmt.Sprintf("good: %s, %s, %s", printable.Count(len(r.Request.Specs), "spec"),
		printable.Count(len(r.Plan.Graph.Nodes), "object"), printable.Count(len(r.Plan.Waves), "wave"))
}

// run checks one environment. The error is one that is no finding.
func (v *vetted) run(ctx context.Context) (command.Rendered, error) {
	r, err := v.Render(ctx, v.flags, v.paths)
	found := r.Warnings
	if err != nil {
		mistakes, ok := command.IsFindings(err)
		if v.unit {
			mistakes, ok = command.UnitMistakes(err)
		}
		if !ok || ctx.Err() != nil {
			return r, err
		}
		found = mistakes
	} else {
		if v.each != nil {
			v.each(v.flags.Environment, r)
		}
		r.Close()
	}
	v.runs = append(v.runs, v.flags.Environment)
	v.found = append(v.found, found)
	return r, nil
}

// merged returns the findings of all runs, each once. A finding that is not in all runs has the
// names of its environments.
func (v *vetted) merged() object.Errors {
	// Group the findings of all runs by their text.
	in := map[string][]string{}
	first := map[string]*object.Error{}
	for i, found := range v.found {
		for _, e := range found {
			bare := *e
			if e.Policy != "" {
				bare.Hint = "" // Only the first error of a rule has it.
			}
			key := fmt.Sprint(e.Severity, &bare)
			if first[key] == nil || first[key].Hint == "" {
				first[key] = e
			}
			if !slices.Contains(in[key], v.runs[i]) {
				in[key] = append(in[key], v.runs[i])
			}
		}
	}

	// Name the environments of a finding that is not in all of them.
	var out object.Errors
	for _, key := range object.SortedKeys(first) {
		e := *first[key]
		names := in[key]
		runs := v.runs
		if len(runs) > 1 && isIncomplete(first[key]) {
			// An environment completes what is written for none.
			base := func(name string) bool { return name == "" }
			names = slices.DeleteFunc(names, base)
			runs = slices.DeleteFunc(slices.Clone(runs), base)
		}
		switch {
		case len(names) == 0:
			continue
		case len(names) < len(runs) && names[0] != "":
			e.Err = fmt.Errorf("environment %s: %w", strings.Join(names, ", "), e.Err)
		}
		out = append(out, &e)
	}
	return out.Sorted()
}

// isIncomplete reports whether a finding is about a value that is not set. Of a finding from
// another process, only the text is known.
func isIncomplete(e *object.Error) bool {
	for _, text := range []string{
		"is missing", "has no value", "depends on a value that is not set", "the image is left to the deployment", "nothing was rendered",
	} {
		if e.Err != nil && strings.HasPrefix(e.Err.Error(), text) {
			return true
		}
	}
	return false
}
