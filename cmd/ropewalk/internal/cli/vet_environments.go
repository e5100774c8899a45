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

// vetted checks a project: in the environment of --env, or in all of its environments.
type vetted struct {
	commands
	flags *command.ProjectFlags
	paths []string
	// optional accepts paths without any spec, and unit is set for a unit of Argo CD or Flux.
	optional, unit bool
	// onRender is called with each render that succeeds; it may be nil.
	onRender func(environment string, r command.Rendered)
	// runs lists the environments that were checked, and findings the findings of each. The name ""
	// stands for the project without an environment.
	runs     []string
	findings []object.Errors
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
	if v.optional && !(command.Below{Optional: true}).Holds(v.findings[0]) {
		return nil, "", nil
	}
	if !v.optional {
		v.NoteOthers(r.Loaded)
	}
	good := summary(r)
	if v.flags.Environment != "" {
		return v.findings[0], good, nil
	}

	// Check it in each environment.
	names := object.SortedKeys(r.Project.Environments)
	// A bundle for several clusters cannot be rendered without an environment.
	if slices.ContainsFunc(v.findings[0], func(e *object.Error) bool { return errors.Is(e, host.ErrManyClusters) }) {
		v.runs, v.findings = nil, nil
	}
	for _, name := range names {
		v.flags.Environment = name
		v.In = bytes.NewReader(input)
		rendered, err := v.run(ctx)
		if err != nil {
			// An option may fit the project and not an environment.
			mistakes, _ := errors.AsType[object.Errors](err)
			for _, e := range mistakes {
				e.Err = fmt.Errorf("environment %s: %w", name, e.Err)
			}
			return nil, "", err
		}
		if good == "" {
			good = summary(rendered)
		}
	}

	// Report each finding once.
	if len(names) > 0 {
		good += ", with " + printable.Count(len(names), "environment")
	}
	return v.merged(), good, nil
}

// summary returns a summary of a render, or "" if nothing was rendered.
func summary(r command.Rendered) string {
	if r.Plan == nil {
		return ""
	}
	return fmt.Sprintf("good: %s, %s, %s", printable.Count(len(r.Request.Specs), "spec"),
		printable.Count(len(r.Plan.Graph.Nodes), "object"), printable.Count(len(r.Plan.Waves), "wave"))
}

// run checks one environment. Findings are kept in v; any other error is returned.
func (v *vetted) run(ctx context.Context) (command.Rendered, error) {
	r, err := v.Render(ctx, v.flags, v.paths)
	findings := r.Warnings
	if err != nil {
		mistakes, ok := command.IsFindings(err)
		if v.unit {
			mistakes, ok = command.UnitMistakes(err)
		}
		if !ok || ctx.Err() != nil {
			return r, err
		}
		findings = mistakes
	} else {
		if v.onRender != nil {
			v.onRender(v.flags.Environment, r)
		}
		r.Close()
	}
	v.runs = append(v.runs, v.flags.Environment)
	v.findings = append(v.findings, findings)
	return r, nil
}

// merged returns the findings of all runs, each once. A finding that is not in all runs has the
// names of its environments.
func (v *vetted) merged() object.Errors {
	// Group the findings of all runs by their text.
	environments := map[string][]string{}
	first := map[string]*object.Error{}
	for i, found := range v.findings {
		for _, e := range found {
			bare := *e
			if e.Policy != "" {
				bare.Hint = "" // Only the first error of a rule has it.
			}
			key := fmt.Sprint(e.Severity, &bare)
			if first[key] == nil || first[key].Hint == "" {
				first[key] = e
			}
			if !slices.Contains(environments[key], v.runs[i]) {
				environments[key] = append(environments[key], v.runs[i])
			}
		}
	}

	// Name the environments of a finding that is not in all of them.
	var out object.Errors
	for _, key := range object.SortedKeys(first) {
		e := *first[key]
		names := environments[key]
		runs := v.runs
		if len(runs) > 1 && isIncomplete(first[key]) {
			// An environment sets the values that the project alone leaves open.
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
