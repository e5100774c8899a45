// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// vetFlags are the flags of module vet.
type vetFlags struct {
	command.SourceFlags
	limits command.LimitFlags
	format command.Choice
	strict bool
}

func (a Commands) vet() *cobra.Command {
	flags := vetFlags{format: command.NewChoice("text", "json")}
	cmd := &cobra.Command{
		Use: "vet [MODULE]", Short: "Check how a module is written, and what its cases make",
		Long: `Check a module, and print all that was found with the name of its rule:

  format         files that cue fmt would change
  cue            what cue vet -c=false has against the package
  closed         an input, or a struct in it, that takes fields of any name (...)
  docs           inputs without a comment above them
  cases          mistakes in test/*.yaml, or no cases: then nothing else is checked
  render         cases that do not render, unless they expect errors
  kubernetes     objects that the API of a version that the module names refuses, and
                 versions other than 1.30 to 1.36, whose schemas are not known
  secret         secrets in plain text: defaults of inputs, variables, ConfigMaps
  images         images that the module chooses and does not pin
  deterministic  another output for the same case, with the input in another order
  budget         a render that costs more than the module allows itself

The module says in its mark what it is held to:

  ropewalk: {
    apiVersion: "v1alpha1"
    kubernetes: ["1.35", "1.36"]
    vet: {
      images: "digest"                         // or "tag" or "off"; a warning for "tag" where it is left out
      budget: {cpu: "50ms", memory: "64Mi"}    // of one render from nothing; memory is all that it allocates
    }
  }

What the cases make is not compared with what they expect: that is "ropewalk module test".
Warnings alone are no failure without --strict.
` + moduleHelp + "\n\n" + command.ExitCodes,
		Example: `  ropewalk module vet
  ropewalk module vet ./modules/web --strict
  ropewalk module vet oci://ghcr.io/acme/modules/web:v1 --format json`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			return a.runModuleVet(ctx, &flags, named(args))
		}),
	}
	f := cmd.Flags()
	f.SortFlags = false
	flags.format.Add(cmd, "format", "how to print findings")
	f.BoolVar(&flags.strict, "strict", false, "take warnings as errors")
	flags.limits.Add(f, workersHelp)
	flags.Add(cmd)
	return cmd
}

// finding is something wrong with a module, with the name of its rule.
type finding struct {
	rule string
	*object.Error
}

// findingData is a finding as data.
type findingData struct {
	Rule     string          `json:"rule"`
	Severity object.Severity `json:"severity"`
	At       string          `json:"at,omitempty"`
	Node     object.ID       `json:"node,omitempty"`
	Path     string          `json:"path,omitempty"`
	Message  string          `json:"message"`
	Hint     string          `json:"hint,omitempty"`
}

func (a Commands) runModuleVet(ctx context.Context, flags *vetFlags, reference string) error {
	// Collect the findings.
	a.JSON = flags.format.Value == "json"
	v, err := a.vetModule(ctx, flags, reference)
	if err != nil {
		return err
	}
	findings := v.sorted()
	if flags.strict {
		for _, f := range findings {
			f.Severity = object.SeverityError
		}
	}

	// Turn each finding into an error and into data.
	errs := make(object.Errors, len(findings))
	data := make([]findingData, len(findings))
	for i, f := range findings {
		shown := object.Shown(f.Error)
		data[i] = findingData{
			Rule:     f.rule,
			Severity: shown.Severity,
			Node:     shown.Node,
			Path:     shown.Path,
			Message:  shown.Err.Error(),
			Hint:     shown.Hint,
		}
		if shown.Pos.IsValid() {
			data[i].At = shown.Pos.String()
		}
		named := *f.Error
		named.Err = fmt.Errorf("%w [%s]", f.Err, f.rule)
		errs[i] = &named
	}

	// Print them in the format, and fail if there is an error.
	if a.JSON {
		err = a.Outcome("json", data, "")
	} else {
		err = a.printVet(reference, errs)
	}
	switch {
	case err != nil:
		return err
	case errs.Err() != nil:
		return errors.Join(command.ErrReported, errs)
	}
	return nil
}

// printVet prints the errors, or a line which says that nothing was found.
func (a Commands) printVet(reference string, errs object.Errors) error {
	out := a.Report()
	out.Paint = command.Paint{} // Colours are for the stream of diagnostics only.
	if len(errs) == 0 {
		return a.Print(reference + ": nothing found\n")
	}
	return a.Findings(out, errs)
}

// vetting collects the findings of a module.
type vetting struct {
	underTest
	flavour  evaluate.Flavour
	findings []finding
}

// add adds errors and warnings under the name of a rule.
func (v *vetting) add(rule string, errs ...*object.Error) {
	for _, e := range errs {
		copied := *e
		v.findings = append(v.findings, finding{rule: rule, Error: &copied})
	}
}

// sorted returns the findings by position, each once.
func (v *vetting) sorted() []finding {
	slices.SortStableFunc(v.findings, func(a, b finding) int {
		return cmp.Or(a.Pos.Compare(b.Pos), strings.Compare(a.rule, b.rule), strings.Compare(a.Error.Error(), b.Error.Error()))
	})
	return slices.CompactFunc(v.findings, func(a, b finding) bool { return a.rule == b.rule && a.Error.Error() == b.Error.Error() })
}

// vetModule returns all findings of a module. It returns an error only if the module cannot be vetted
// at all.
func (a Commands) vetModule(ctx context.Context, flags *vetFlags, reference string) (*vetting, error) {
	// Open the module, and read its cases.
	v := &vetting{}
	var err error
	v.underTest, err = a.openModule(ctx, &flags.SourceFlags, &flags.limits, reference)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	if err := a.readCases(&v.underTest); err != nil {
		mistakes := object.AsErrors(err, object.StageSpec)
		v.add("cases", mistakes...)
	}

	// Check its package.
	inspection, err := v.inspect(ctx, nil)
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return nil, err
		}
		v.add("cue", object.AsErrors(err, object.StageEvaluate)...)
		return v, nil
	}
	v.flavour = inspection.Flavour
	v.Subject.Kind = inspection.Mark.Kind
	for _, f := range inspection.Findings {
		v.add(f.Rule, &object.Error{
			Stage:    object.StageCheck,
			Severity: f.Severity,
			Pos:      f.Pos,
			Path:     f.Path,
			Err:      errors.New(f.Message),
			Hint:     f.Hint,
		})
	}

	// Check its cases.
	if len(v.Cases) == 0 && len(v.findings) == len(inspection.Findings) {
		v.add("cases", v.noCases(object.SeverityWarning))
	}
	return v, v.checkCases(ctx, inspection.Mark, flags)
}
