// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
)

// compatFlags are the flags of module compat.
type compatFlags struct {
	command.SourceFlags
	limits    command.LimitFlags
	format    command.Choice
	allow     command.Choice
	changelog string
	version   string
}

// levels returns the verdicts, the least first.
func levels() []string {
	return []string{
		"none",
		string(evaluate.LevelPatch),
		string(evaluate.LevelMinor),
		string(evaluate.LevelUndecided),
		string(evaluate.LevelMajor),
	}
}

func (a Commands) compat() *cobra.Command {
	flags := compatFlags{
		format: command.NewChoice("text", "json", "markdown"),
		allow:  command.Choice{Value: string(evaluate.LevelMajor), Words: levels()},
	}
	cmd := &cobra.Command{
		Use: "compat OLD [NEW]", Short: "Say what a new version of a module asks of its users",
		Long: `Compare two versions of a module: what they take, input by input, by CUE's subsumption, and
what they make of the cases of OLD (test/*.yaml).

  major      NEW may refuse or ignore an input that OLD took, a case of OLD does not render any
             more, an object is deleted or has to be made again, or a node has another id
  undecided  that cannot be told (conditions, other regular expressions, bounds that depend on
             other inputs, no cases): look at it yourself
  minor      NEW takes more, has other defaults, makes further objects, or changes something
             dangerous
  patch      objects change, or nothing that a user sees
  none       both are the same

Names that the schema of OLD does not have are not part of what it took. What a policy takes
are its parameters, and what it makes is what it refuses and warns of, in the cases of both
versions; what provisioners take are resources and their params, and outputs count as what
they make.

NEW is the working directory where it is not given. The exit code is 1 where the verdict is
graver than --allow.
` + moduleHelp + "\n\n" + command.ExitCodes,
		Example: `  ropewalk module compat oci://ghcr.io/acme/acme.example/web:v1.2.0
  ropewalk module compat oci://ghcr.io/acme/acme.example/web:1 . --allow minor
  ropewalk module compat git:https://github.com/acme/modules?tag=v1.2.0//web . --format json
  ropewalk module compat oci://ghcr.io/acme/acme.example/web:v1.2.0 . --write-changelog CHANGELOG.md --version v1.3.0`,
		Args: cobra.RangeArgs(1, 2),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			return a.runCompat(ctx, &flags, named(args[:1]), named(args[1:]))
		}),
	}
	f := cmd.Flags()
	f.SortFlags = false
	flags.format.Add(cmd, "format", "how to print it; markdown is for a comment on a change request")
	flags.allow.Add(cmd, "allow", "the gravest verdict that is no failure")
	f.StringVar(&flags.changelog, "write-changelog", "", "`FILE` in the form of keepachangelog.com to write the changes into")
	f.StringVar(&flags.version, "version", "", "`VERSION` of NEW in the changelog (default Unreleased)")
	flags.limits.Add(f, workersHelp)
	flags.Add(cmd)
	return cmd
}

func (a Commands) runCompat(ctx context.Context, flags *compatFlags, older, newer string) error {
	a.JSON = flags.format.Value == "json"
	report, err := a.compareVersions(ctx, &flags.SourceFlags, &flags.limits, older, newer)
	if err != nil {
		return err
	}
	if flags.changelog != "" {
		if err := report.writeChangelog(flags.changelog, cmp.Or(flags.version, "Unreleased")); err != nil {
			return err
		}
	}
	if flags.format.Value == "markdown" {
		err = a.Print(report.markdown(older))
	} else {
		err = a.Outcome(flags.format.Value, report, report.text())
	}
	if err == nil && slices.Index(levels(), report.Verdict) > slices.Index(levels(), flags.allow.Value) {
		return command.ErrFoundReported()
	}
	return err
}

// compareVersions returns the changes for users between two versions of a module.
func (a Commands) compareVersions(
	ctx context.Context, sources *command.SourceFlags, limits *command.LimitFlags, oldReference, newReference string,
) (compatibility, error) {
	// Open both versions, which are the same if their digests are.
	older, err := a.openModule(ctx, sources, limits, oldReference)
	if err != nil {
		return compatibility{}, err
	}
	defer older.Close()
	newer, err := a.openModule(ctx, sources, limits, newReference)
	if err != nil {
		return compatibility{}, err
	}
	defer newer.Close()
	if older.Request.Module.Digest == newer.Request.Module.Digest {
		return compatibility{Verdict: "none", Changes: []change{}}, nil
	}

	// Compare the inputs.
	casesErr := a.readCases(&older)
	compared, err := evaluate.Compare(ctx, newer.Evaluator, newer.subject(), older.Request.Module)
	if err != nil {
		return compatibility{}, err
	}
	report := compatibility{Changes: []change{}}
	for _, c := range compared.Changes {
		report.Changes = append(report.Changes, changeOf(c))
	}

	// Compare the objects of the cases.
	older.Subject.Kind, newer.Subject.Kind = compared.OlderKind, compared.NewerKind
	switch {
	case older.Subject.Kind != newer.Subject.Kind:
		// A module of one kind cannot render the cases of another kind.
	case casesErr != nil:
		// A published version cannot be mended: its folder test may hold manifests of another tool.
		report.Changes = append(report.Changes, unreadable(casesErr))
	default:
		if newer.Subject.Kind == evaluate.KindPolicy {
			_ = a.readCases(&newer) // Mistakes in them are reported by module test.
		}
		objects, err := compareResults(ctx, older, newer, limits.Parallel())
		if err != nil {
			return compatibility{}, err
		}
		report.Changes = append(report.Changes, objects...)
	}

	// The gravest change is first, and decides.
	slices.SortStableFunc(report.Changes, func(x, y change) int {
		byLevel := slices.Index(levels(), y.Level) - slices.Index(levels(), x.Level)
		return cmp.Or(byLevel, cmp.Compare(x.Input, y.Input), cmp.Compare(x.Object, y.Object))
	})
	report.Verdict = string(evaluate.LevelPatch)
	if len(report.Changes) > 0 {
		report.Verdict = report.Changes[0].Level
	}
	return report, nil
}

// unreadable returns a change which says that the cases of the older version cannot be read, and why.
func unreadable(err error) change {
	mistakes := object.AsErrors(err, object.StageSpec).Sorted()
	return change{
		Level: string(evaluate.LevelUndecided),
		Text:  "the cases of the older version cannot be read: " + reason(mistakes),
		Old:   placed(mistakes[0].Pos),
	}
}

// compatibility lists the changes between two versions, as data.
type compatibility struct {
	// Verdict is the gravest level of the changes: major, undecided, minor, patch or none.
	Verdict string   `json:"verdict"`
	Changes []change `json:"changes"`
}

// change is a difference between two versions that users may notice.
type change struct {
	Level string `json:"level"`
	// Input is the path of an input, and Object names an object of a case. A change is about either:
	// the other field is "".
	Input  string `json:"input,omitempty"`
	Object string `json:"object,omitempty"`
	Text   string `json:"text"`
	// Old and New are the places in the two versions, as FILE:LINE:COLUMN.
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
}

func changeOf(c evaluate.Change) change {
	return change{Level: string(c.Level), Input: c.Path, Text: c.Text, Old: placed(c.Old), New: placed(c.New)}
}

func (c change) about() string { return cmp.Or(c.Input, c.Object, "(all)") }

func (c compatibility) text() string {
	rows := [][]string{{"LEVEL", "OF", "CHANGE", "AT"}}
	for _, item := range c.Changes {
		rows = append(rows, []string{item.Level, item.about(), item.Text, cmp.Or(item.New, item.Old)})
	}
	switch {
	case len(rows) > 1:
		return command.Table(rows) + fmt.Sprintf("verdict: %s\n", c.Verdict)
	case c.Verdict == "none":
		return "verdict: none: both versions are the same\n"
	}
	return "verdict: patch: both take the same, and make the same of the cases\n"
}

// markdown returns a comment on a change request.
func (c compatibility) markdown(older string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### Since %s: %s\n\n", cell(older), c.Verdict)
	if len(c.Changes) > 0 {
		b.WriteString("| level | of | change | at |\n|---|---|---|---|\n")
	}
	for _, item := range c.Changes {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", item.Level, cell(item.about()), cell(item.Text), cell(cmp.Or(item.New, item.Old)))
	}
	return b.String()
}

// cell returns text for a table of Markdown, with its markup escaped.
func cell(text string) string {
	markup := strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "`", "'", "@", "&#64;", "*", `\*`, "_", `\_`, "[", `\[`)
	return markup.Replace(command.OneLine(text))
}
