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

// checkCases checks what the cases make. The error is that of ctx.
func (v *vetting) checkCases(ctx context.Context, mark spec.Mark, flags *vetFlags) error {
	// Render with the first version, and report what does not render.
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
			one := *e
			if !one.Pos.IsValid() { // It is about the version, and the same for all cases.
				one.Pos = versions[0].Pos
			}
			v.add("render", &one)
		}
	}

	// Render with the other versions, and report what they add.
	for _, version := range versions[1:] {
		again, err := v.renderCases(ctx, version, flags.limits.Parallel())
		if err != nil {
			return err
		}
		v.compareVersion(version, outcomes, again)
	}

	// Check what the cases make.
	if err := v.checkDeterministic(ctx, outcomes, versions[0], flags.limits.Parallel()); err != nil {
		return err
	}
	if v.Subject.Kind != evaluate.KindPolicy { // It makes nothing.
		v.checkSecrets(outcomes)
		if err := v.checkImages(ctx, outcomes, mark); err != nil {
			return err
		}
	}
	return v.checkBudget(ctx, outcomes, mark)
}

// supportedVersions returns the versions of Kubernetes that a module is vetted for. It reports
// those without known schemas.
func (v *vetting) supportedVersions(mark spec.Mark) (out []spec.Version) {
	for _, version := range mark.Kubernetes {
		ok, oldest, newest := render.HasSchemas(version.Text)
		if ok {
			out = append(out, version)
			continue
		}
		v.add("kubernetes", &object.Error{
			Stage: object.StageCheck, Pos: version.Pos, Path: "ropewalk.kubernetes", Err: fmt.Errorf("the schemas of Kubernetes %s are not known", version.Text),
			Hint: fmt.Sprintf("name versions from 1.%d to 1.%d", oldest, newest),
		})
	}
	if len(out) == 0 {
		out = []spec.Version{{Text: v.Subject.Request.KubeVersion}}
	}
	return out
}

// renderCases renders the cases for a version of Kubernetes, unless they name one.
func (v *vetting) renderCases(ctx context.Context, version spec.Version, parallel int) ([]cases.Outcome, error) {
	all := slices.Clone(v.Cases)
	for i, c := range all {
		if c.Context.KubeVersion == "" {
			all[i].Context.KubeVersion = version.Text
		}
	}
	return cases.Run(ctx, all, v.Subject, parallel)
}

// compareVersion reports the errors of a further version about the objects that the first version
// does not have.
func (v *vetting) compareVersion(version spec.Version, first, again []cases.Outcome) {
	for i, o := range again {
		if o.Err == nil || len(o.Expect.Errors) > 0 {
			continue
		}
		known := object.AsErrors(first[i].Err, object.StageEvaluate)
		for _, e := range object.AsErrors(o.Err, object.StageEvaluate) {
			if slices.ContainsFunc(known, func(k *object.Error) bool { return k.Error() == e.Error() }) {
				continue
			}
			one := *e
			one.Err = fmt.Errorf("with Kubernetes %s: %w", version.Text, e.Err)
			if one.Pos.IsValid() {
				one.Notes = append(slices.Clone(e.Notes), object.Note{Pos: version.Pos, Text: "the module names this version"})
			} else { // It is about the version, and the same for all cases.
				one.Pos = version.Pos
			}
			v.add("kubernetes", &one)
		}
	}
}

// sampled is how many cases of a native module are rendered once more: its inputs are sorted
// before it has them, so that their order is nothing to it.
const sampled = 10

// checkDeterministic renders the cases once more, in another order and with their inputs in another
// order, and reports output with other bytes.
func (v *vetting) checkDeterministic(ctx context.Context, outcomes []cases.Outcome, version spec.Version, parallel int) error {
	// Reverse the order of cases, and of the fields in their inputs.
	var all []cases.Case
	var before [][]byte
	for _, o := range slices.Backward(outcomes) {
		if o.Err != nil || v.flavour == evaluate.FlavourNative && len(all) == sampled {
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
		all = append(all, c)
		before = append(before, output)
	}

	// Compare the output of both renders.
	again, err := cases.Run(ctx, all, v.Subject, parallel)
	if err != nil {
		return err
	}
	for i, o := range again {
		if o.Err == nil {
			output, err := o.Output()
			if err != nil {
				return err
			}
			if bytes.Equal(output, before[i]) {
				continue
			}
		}
		v.add("deterministic", &object.Error{
			Stage: object.StageCheck, Pos: o.Pos, Err: fmt.Errorf("case %q gives another output with the fields of its input in another order", o.Name),
			Hint: "make lists of maps in the order of their names, and use nothing that changes by itself",
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
	if mark.CPU == 0 && mark.Memory == 0 || len(outcomes) == 0 {
		return nil
	}
	if foreign(v.Reference) {
		v.add("budget", &object.Error{
			Stage: object.StageCheck, Severity: object.SeverityWarning, Pos: mark.CPUPos,
			Err: errors.New("the cost is not measured: a module that is not in a folder runs in processes of its own"), Hint: "run ropewalk module vet in its folder",
		})
		return nil
	}
	dearest := slices.MaxFunc(outcomes, func(a, b cases.Outcome) int { return int(a.Elapsed - b.Elapsed) })
	cpu, memory, err := v.measureCost(ctx, dearest.Case)
	if err != nil {
		return err
	}
	if mark.CPU > 0 && cpu > mark.CPU {
		v.add("budget", &object.Error{Stage: object.StageCheck, Pos: mark.CPUPos, Path: "ropewalk.vet.budget.cpu", Err: fmt.Errorf(
			"case %q takes %s of CPU, more than %s", dearest.Name, cpu.Round(100*time.Microsecond), mark.CPU)})
	}
	if mark.Memory > 0 && memory > mark.Memory {
		v.add("budget", &object.Error{Stage: object.StageCheck, Pos: mark.MemoryPos, Path: "ropewalk.vet.budget.memory", Err: fmt.Errorf(
			"case %q allocates %s, more than %s", dearest.Name, command.BytesText(memory), command.BytesText(mark.Memory))})
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
