// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/module/cases"
	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/internal/reftype"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// testFlags are the flags of module test.
type testFlags struct {
	command.SourceFlags
	limits    command.LimitFlags
	format    command.Choice
	run       string
	update    bool
	coverage  bool
	atLeast   int
	reference string
}

// workersHelp describes --workers for commands about a module.
const workersHelp = "evaluate in `N` processes of their own that can be stopped; 0 does so only for modules\nthat were fetched"

func (a Commands) test() *cobra.Command {
	flags := testFlags{format: command.NewChoice("text", "json", "junit")}
	cmd := &cobra.Command{
		Use: "test [MODULE]", Short: "Render the cases of a module, and compare what comes of them",
		Long: `Render the cases of a module, each with its input and in its context, and compare what
comes of them with what they expect. Cases are the documents of test/*.yaml beside the
package, of files whose names do not begin with _:

  name: two replicas                # that of the file where there is none
  input: {replicas: 2}              # what a user writes under spec.input
  context: {name: web}              # or namespace, environment, engine, kubeVersion, clusterDomain
  allowSecrets: [web-tls]           # Secrets that may hold data, as in a Transform
  expect:
    objects:                        # each is there, and has these fields
      - {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2}}
    absent: [{kind: Ingress, metadata: {name: web}}]
    count: 2
    waves: [[config, service/web], [web/deployment]]   # all nodes, as "ropewalk graph" names them
    warnings: []                    # these and no others
    golden: two.golden.yaml         # all of the output, which --update writes
  ---
  name: no replicas
  input: {replicas: 0}
  expect:
    errors: [{message: at least 1, at: input.replicas}]   # or line: N in this file; no others

In objects, a field that is null must be absent, and a list must have as many items as are
written, each with the fields of its counterpart. A case without a name in its context is
rendered as "app". A case that expects nothing is a mistake.

The input of a case of a module of provisioners is the spec of a Workload that is
rendered with it. A case of a policy has its parameters as the input, and under
subject: {input: …, objects: {NAME: …}} what it judges.

--coverage lists which inputs, and which alternatives of them, no case sets; cases that
expect errors do not count. Those of a module of provisioners are its types and their params.
` + moduleHelp + "\n\n" + command.ExitCodes,
		Example: `  ropewalk module test
  ropewalk module test --run replicas --update
  ropewalk module test --format junit > report.xml
  ropewalk module test oci://ghcr.io/acme/modules/web:v1 --coverage-min 80`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			flags.reference = named(args)
			return a.runTest(ctx, &flags)
		}),
	}
	f := cmd.Flags()
	f.SortFlags = false
	flags.format.Add(cmd, "format", "how to print it")
	f.StringVar(&flags.run, "run", "", "`REGEXP` of the names of cases to run")
	f.BoolVar(&flags.update, "update", false, "write the golden files of the cases that are run")
	f.BoolVar(&flags.coverage, "coverage", false, "list which inputs and alternatives no case sets")
	f.IntVar(&flags.atLeast, "coverage-min", 0, "fail where the cases set less than `N` percent of them")
	flags.limits.Add(f, workersHelp)
	flags.Add(cmd)
	return cmd
}

func (a Commands) runTest(ctx context.Context, flags *testFlags) error {
	// Open the module with its cases.
	a.JSON = flags.format.Value == "json"
	matches, err := flags.check()
	if err != nil {
		return err
	}
	m, err := a.openWithCases(ctx, &flags.SourceFlags, &flags.limits, flags.reference)
	if err != nil {
		return err
	}
	defer m.Close()
	if len(m.Cases) == 0 {
		return object.Errors{m.noCases(object.SeverityError)}
	}

	// Run the selected cases.
	chosen := cases.Named(m.Cases, matches.MatchString)
	if len(chosen) == 0 {
		return command.Usagef("", "--run %s matches no case of %d", flags.run, len(m.Cases))
	}
	outcomes, err := cases.Run(ctx, chosen, m.Subject, flags.limits.Parallel())
	if err != nil {
		return err
	}

	// Compare the golden files, and measure the coverage.
	if err := a.compareGolden(m, outcomes, flags.update); err != nil {
		return err
	}
	report := tested{Module: m.Reference, outcomes: outcomes}
	if flags.coverage || flags.atLeast > 0 {
		report.Coverage, err = m.measureCoverage(ctx, chosen)
		if err != nil {
			return err
		}
	}
	return a.reportTest(flags, report)
}

// check checks the flags, and returns the pattern of --run.
func (f *testFlags) check() (*regexp.Regexp, error) {
	matches, err := regexp.Compile(f.run)
	switch {
	case err != nil:
		return nil, command.Usagef("", "--run %s: %v", f.run, err)
	case f.atLeast < 0 || f.atLeast > 100:
		return nil, command.Usagef("", "--coverage-min %d: expected a percentage", f.atLeast)
	case f.update && foreign(f.reference):
		return nil, command.Usagef("name the folder of the module", "--update writes files, and %s is no folder", f.reference)
	}
	return matches, f.limits.Check()
}

// foreign reports whether a reference names a module that is not the user's own.
func foreign(reference string) bool {
	_, _, remote := split(reference)
	return remote
}

// compareGolden compares the golden files, or writes them.
func (a Commands) compareGolden(m underTest, outcomes []cases.Outcome, update bool) error {
	for i, o := range outcomes {
		difference, err := o.Golden(m.Tree)
		switch {
		case err != nil:
			return err
		case difference == nil:
			continue
		case !update:
			outcomes[i].Failures = object.Errors{difference}
			continue
		}
		data, err := o.Output()
		if err != nil {
			return err
		}
		name := filepath.FromSlash(m.Tree.Position(o.GoldenFile(), 0, 0).File)
		if err := os.WriteFile(name, data, 0o600); err != nil {
			return &command.EnvironmentError{Err: err}
		}
		a.Note("written: %s\n", name)
	}
	return nil
}

// reportTest prints the results of the cases.
func (a Commands) reportTest(flags *testFlags, report tested) error {
	// Print them in the format.
	var err error
	switch flags.format.Value {
	case "json":
		err = a.Outcome("json", report.data(), "")
	case "junit":
		var data []byte
		data, err = report.junit()
		if err == nil {
			err = a.Write(data)
		}
	default:
		err = a.printTest(report)
	}

	// Fail for a case that fails, and for a coverage that is too low.
	switch {
	case err != nil:
		return err
	case report.failed() > 0:
		return errors.Join(command.ErrReported, report.failures())
	case report.Coverage != nil && report.Coverage.percent() < flags.atLeast:
		text := "the cases set %d %% of what the module takes, less than the %d %% of --coverage-min"
		return object.Errors{{
			Stage: object.StageCheck,
			Err:   fmt.Errorf(text, report.Coverage.percent(), flags.atLeast),
			Hint:  "--coverage lists what no case sets",
		}}
	}
	return nil
}

// printTest prints a line for each case, with its failures.
func (a Commands) printTest(report tested) error {
	printer := a.Report()
	printer.Paint = command.Paint{} // Colours are for the stream of diagnostics only.
	for _, o := range report.outcomes {
		word := "ok  "
		if len(o.Failures) > 0 {
			word = "FAIL"
		}
		if err := a.Print(word + "  " + command.OneLine(o.Name) + "\n"); err != nil {
			return err
		}
		if err := a.Findings(printer, o.Failures); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("%s, %d failed\n", printable.Count(len(report.outcomes), "case"), report.failed())
	if report.Coverage != nil {
		text += report.Coverage.text()
	}
	return a.Print(text)
}

// underTest is a module with its cases.
type underTest struct {
	opened
	Cases []cases.Case
	// Tree is the module with the files of its cases.
	Tree    evaluate.Module
	Subject cases.Subject
}

// openWithCases opens a module, reads its cases, and starts its evaluator.
func (a Commands) openWithCases(
	ctx context.Context, sources *command.SourceFlags, limits *command.LimitFlags, reference string,
) (underTest, error) {
	module, err := a.openModule(ctx, sources, limits, reference)
	if err != nil {
		return underTest{}, err
	}
	err = a.readCases(&module)
	if err == nil {
		var inspection *evaluate.Inspection
		inspection, err = module.inspect(ctx, nil)
		if err == nil {
			module.Subject.Kind = inspection.Mark.Kind
			return module, nil
		}
	}
	module.Close()
	return underTest{}, err
}

// openModule opens a module, and does not read its cases yet.
func (a Commands) openModule(
	ctx context.Context, sources *command.SourceFlags, limits *command.LimitFlags, reference string,
) (underTest, error) {
	m, err := a.open(ctx, sources, *limits, reference)
	if err != nil {
		return underTest{}, err
	}
	return underTest{opened: m, Subject: m.caseSubject()}, nil
}

// readCases reads the cases of the module.
func (a Commands) readCases(m *underTest) (err error) {
	m.Tree = m.Request.Module
	if kind, name, _ := split(m.Reference); kind == reftype.Embedded {
		// The locked files of an embedded module do not contain its cases.
		m.Tree.FS = cue.Cases(name)
	}
	m.Cases, err = cases.Read(m.Tree)
	for name, data := range cases.Texts(m.Tree, m.Cases) {
		a.Texts[name] = data
	}
	if err != nil {
		m.Cases = nil
	}
	return err
}

// noCases returns the mistake of a module without cases.
func (m underTest) noCases(severity object.Severity) *object.Error {
	return &object.Error{
		Stage:    object.StageSpec,
		Severity: severity,
		Pos:      m.Request.Module.Position(path.Join(m.Request.Module.Dir, cases.Folder), 0, 0),
		Err:      errors.New("the module has no cases"),
		Hint:     "write one into test/NAME.yaml, see ropewalk module test --help",
	}
}
