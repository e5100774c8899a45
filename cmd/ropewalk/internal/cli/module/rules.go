// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ropewalk/ropewalk/cmd/internal/process"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/module/cases"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// checkCases checks the objects of the cases. It returns an error only if ctx is cancelled.
func (v *vetting) checkCases(ctx context.Context, mark spec.Mark, flags *vetFlags) error {
	// Render with the first version, and report the cases that do not render.
	versions := v.supportedVersions(mark)
	outcomes, err := v.renderCases(ctx, versions[0], flags.limits.Parallel())
	if err != nil {
		return err
	}
	for _, o := range outcomes {
		if o.Err == nil || len(o.Expect.Errors) > 0 {
			continue
		}
		for _, e := range object.AsErrors(o.Err, object.StageEvaluate) {
			finding := *e
			if !finding.Pos.IsValid() { // It is about the version, and all cases have it.
				finding.Pos = versions[0].Pos
			}
			v.add("render", &finding)
		}
	}

	// Render with the other versions, and report the errors that they add.
	for _, version := range versions[1:] {
		withVersion, err := v.renderCases(ctx, version, flags.limits.Parallel())
		if err != nil {
			return err
		}
		v.compareVersion(version, outcomes, withVersion)
	}

	// Check the objects.
	if err := v.checkDeterministic(ctx, outcomes, versions[0], flags.limits.Parallel()); err != nil {
		return err
	}
	if v.Subject.Kind != evaluate.KindPolicy { // A policy makes no objects.
		v.checkSecrets(outcomes)
		if err := v.checkImages(ctx, outcomes, mark); err != nil {
			return err
		}
	}
	return v.checkBudget(ctx, outcomes, mark)
}

// supportedVersions returns the versions of Kubernetes that a module is vetted for. It reports
// versions without known schemas.
func (v *vetting) supportedVersions(mark spec.Mark) (out []spec.Version) {
	for _, version := range mark.Kubernetes {
		ok, oldest, newest := render.HasSchemas(version.Text)
		if ok {
			out = append(out, version)
			continue
		}
		v.add("kubernetes", &object.Error{
			Stage: object.StageCheck,
			Pos:   version.Pos,
			Path:  "ropewalk.kubernetes",
			Err:   fmt.Errorf("the schemas of Kubernetes %s are not known", version.Text),
			Hint:  fmt.Sprintf("name versions from 1.%d to 1.%d", oldest, newest),
		})
	}
	if len(out) == 0 {
		out = []spec.Version{{Text: v.Subject.Request.KubeVersion}}
	}
	return out
}

// renderCases renders the cases for a version of Kubernetes. A case that names a version keeps it.
func (v *vetting) renderCases(ctx context.Context, version spec.Version, parallel int) ([]cases.Outcome, error) {
	versioned := slices.Clone(v.Cases)
	for i, c := range versioned {
		if c.Context.KubeVersion == "" {
			versioned[i].Context.KubeVersion = version.Text
		}
	}
	return cases.Run(ctx, versioned, v.Subject, parallel)
}

// compareVersion reports the errors of a further version about the objects that the first version
// does not have.
func (v *vetting) compareVersion(version spec.Version, base, outcomes []cases.Outcome) {
	for i, o := range outcomes {
		if o.Err == nil || len(o.Expect.Errors) > 0 {
			continue
		}
		reported := object.AsErrors(base[i].Err, object.StageEvaluate)
		for _, e := range object.AsErrors(o.Err, object.StageEvaluate) {
			if slices.ContainsFunc(reported, func(k *object.Error) bool { return k.Error() == e.Error() }) {
				continue
			}
			finding := *e
			finding.Err = fmt.Errorf("with Kubernetes %s: %w", version.Text, e.Err)
			if finding.Pos.IsValid() {
				finding.Notes = append(slices.Clone(e.Notes), object.Note{Pos: version.Pos, Text: "the module names this version"})
			} else { // It is about the version, and the same for all cases.
				finding.Pos = version.Pos
			}
			v.add("kubernetes", &finding)
		}
	}
}

// sampled limits the cases of a native module that are rendered twice. Such a module gets its inputs
// sorted, so it cannot depend on their order.
const sampled = 10

// checkDeterministic renders the cases once more, in another order and with their inputs in another
// order, and reports output with other bytes.
func (v *vetting) checkDeterministic(ctx context.Context, outcomes []cases.Outcome, version spec.Version, parallel int) error {
	// Reverse the order of cases, and of the fields in their inputs.
	var shuffled []cases.Case
	var outputs [][]byte
	for _, o := range slices.Backward(outcomes) {
		enough := v.flavour == evaluate.FlavourNative && len(shuffled) == sampled
		if o.Err != nil || enough {
			continue
		}
		c := o.Case
		c.Input, c.Subject = reversed(c.Input), reversed(c.Subject)
		if c.Context.KubeVersion == "" {
			c.Context.KubeVersion = version.Text
		}
		output, err := o.Output()
		if err != nil {
			return err
		}
		shuffled = append(shuffled, c)
		outputs = append(outputs, output)
	}

	// Compare the output of both renders.
	repeated, err := cases.Run(ctx, shuffled, v.Subject, parallel)
	if err != nil {
		return err
	}
	for i, o := range repeated {
		if o.Err == nil {
			output, err := o.Output()
			if err != nil {
				return err
			}
			if bytes.Equal(output, outputs[i]) {
				continue
			}
		}
		v.add("deterministic", &object.Error{
			Stage: object.StageCheck,
			Pos:   o.Pos,
			Err:   fmt.Errorf("case %q gives another output with the fields of its input in another order", o.Name),
			Hint:  "make lists of maps in the order of their names, and use nothing that changes by itself",
		})
	}
	return nil
}

// reversed returns a value with the members of its maps in the opposite order.
func reversed(value object.Value) object.Value {
	value.Members, value.Items = slices.Clone(value.Members), slices.Clone(value.Items)
	slices.Reverse(value.Members)
	for i := range value.Members {
		value.Members[i].Value = reversed(value.Members[i].Value)
	}
	for i := range value.Items {
		value.Items[i] = reversed(value.Items[i])
	}
	return value
}

// checkBudget measures the most expensive case, and compares it with the budget of the module.
func (v *vetting) checkBudget(ctx context.Context, outcomes []cases.Outcome, mark spec.Mark) error {
	unlimited := mark.CPU == 0 && mark.Memory == 0
	if unlimited || len(outcomes) == 0 {
		return nil
	}
	if foreign(v.Reference) {
		v.add("budget", &object.Error{
			Stage:    object.StageCheck,
			Severity: object.SeverityWarning,
			Pos:      mark.CPUPos,
			Err:      errors.New("the cost is not measured: a module that is not in a folder runs in processes of its own"),
			Hint:     "run ropewalk module vet in its folder",
		})
		return nil
	}

	// Measure the case that took the longest.
	slowest := slices.MaxFunc(outcomes, func(a, b cases.Outcome) int { return int(a.Elapsed - b.Elapsed) })
	cpu, memory, err := v.measureCost(ctx, slowest.Case)
	if err != nil {
		return err
	}
	if mark.CPU > 0 && cpu > mark.CPU {
		err := fmt.Errorf("case %q takes %s of CPU, more than %s", slowest.Name, cpu.Round(100*time.Microsecond), mark.CPU)
		v.add("budget", &object.Error{Stage: object.StageCheck, Pos: mark.CPUPos, Path: "ropewalk.vet.budget.cpu", Err: err})
	}
	if mark.Memory > 0 && memory > mark.Memory {
		err := fmt.Errorf("case %q allocates %s, more than %s", slowest.Name, command.BytesText(memory), command.BytesText(mark.Memory))
		v.add("budget", &object.Error{Stage: object.StageCheck, Pos: mark.MemoryPos, Path: "ropewalk.vet.budget.memory", Err: err})
	}
	return nil
}

// measureCost returns the least CPU and memory of a few renders of a case. Each of them compiles
// the module.
func (v *vetting) measureCost(ctx context.Context, c cases.Case) (cpu time.Duration, memory int64, err error) {
	const renders = 3
	for i := range renders {
		fresh := v.Subject
		fresh.Renderer = render.NewRenderer(inprocess.New(process.EvaluateOptions()))
		began := process.CPUTime()
		allocated := process.Allocated()
		// An error is reported by the rule render.
		if _, err := c.Render(ctx, fresh); errors.Is(err, context.Canceled) {
			return 0, 0, err
		}
		used := process.CPUTime() - began
		bytes := process.Allocated() - allocated
		if i == 0 || used < cpu {
			cpu = used
		}
		if i == 0 || bytes < memory {
			memory = bytes
		}
	}
	return cpu, memory, nil
}
