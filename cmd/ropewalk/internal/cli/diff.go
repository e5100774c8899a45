// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/units"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/preview"
	"github.com/ropewalk/ropewalk/internal/markdown"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/host/snapshot"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/object"
)

// diffFlags are those of diff beside those of every project.
type diffFlags struct {
	command.ProjectFlags
	format   command.Choice
	deadline time.Duration
	// specs are what is compared, all where there is none, and recursive means every project on
	// its own.
	specs     []string
	recursive command.Recursive
	// environments are those of the projects that were compared.
	environments []string
}

// defaultDeadline is how long a comparison may take: that of a request of the sidecar.
const defaultDeadline = 5 * time.Minute

func (a commands) diffCommand() *cobra.Command {
	var flags diffFlags
	cmd := &cobra.Command{
		Use:   "diff BEFORE AFTER",
		Short: "Say what is different between two renders",
		Long: `Say of each object what is different between two renders: created, changed, deleted, or
to be made again because a field cannot be changed; what moves to another wave or
layer; what is dangerous; and which line of a spec is behind it.

BEFORE and AFTER are each one of
  PATH                    a project, a spec or a CUE package, which is rendered; or a file
                          of manifests
  DIR                     a directory of manifests, such as an earlier output
  -                       manifests from standard input
  REVISION[:PATH]         the project at a Git revision of this repository, such as HEAD~1 or
                          main:apps/shop; without PATH that of the other side
  oci://…, oci-layout:…   an artifact, with the graph that is attached to it
Write git:REVISION where a file has the name of the revision. Nothing is fetched for a
Git revision: it is read from this repository, and so are files of --values and --crds
where the revision has them.

The sides have one environment (--env). To compare two of them, render each with -o and
compare the directories.

Where the sides are written in different dialects, that is reported first, and waves, layers
and what a dialect writes into objects are not compared.

With --recursive both sides are folders with projects, on disk or at a revision: each project
is compared with the one in the same place of the other side, and one that only one side has
with nothing. Units of Argo CD or Flux are compared by their names; a side may be the folder
that "ropewalk render -r -o DIR" wrote.

Exit code 4 says that there is a difference, or that a side holds an object twice, and 1
that a side does not render.

` + command.ExitCodes,
		Example: `  ropewalk diff HEAD~1 .                        what my last commit changes
  ropewalk diff main:apps/shop apps/shop --dialect argocd
  ropewalk diff oci://ghcr.io/acme/shop:prod .  what a push would change
  kubectl kustomize overlays/prod | ropewalk diff - shop
  ropewalk diff -r main .                       every project and unit of a repository
  ropewalk diff -r out . --env production       a cluster with what was rendered before
  ropewalk diff HEAD . --spec api               what changes of one spec
  ropewalk diff out-before out-after --format json | jq '.changes[].object'
  ropewalk diff origin/main . --format markdown > comment.md`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("expected two sides, got %d: write OLD NEW, such as HEAD . for what changed since the last commit", len(args))
			}
			return nil
		},
		RunE: a.Run(func(ctx context.Context, args []string) error {
			return a.runDiff(ctx, &flags, args[0], args[1])
		}),
	}
	flags.format = command.NewChoice("text", "markdown", "json")
	flags.format.Add(cmd, "format", "how to print it; markdown is for a comment on a change request")
	cmd.Flags().StringSliceVar(&flags.specs, "spec", nil, "compare the objects of `NAME` alone, one of the specs; may be repeated")
	flags.recursive.Add(cmd, "compare each project, and each unit of Argo CD or Flux, at and below the sides on its own")
	cmd.Flags().DurationVar(&flags.deadline, "deadline", defaultDeadline, "limit of the whole comparison, with both renders")
	flags.Add(cmd)
	flags.AddLocalSources(cmd)
	flags.AddUnits(cmd)
	a.CompleteSpecs(cmd, &flags.ProjectFlags)
	return cmd
}

// runDiff compares two sides until the deadline: they may hold foreign content of any size.
func (a commands) runDiff(ctx context.Context, flags *diffFlags, before, after string) error {
	if flags.deadline <= 0 {
		return command.Usagef("", "--deadline %s: expected more than 0", flags.deadline)
	}
	if before == "-" && after == "-" {
		return command.Usagef("", "standard input is one side, and not both")
	}
	limited, cancel := context.WithTimeout(ctx, flags.deadline)
	defer cancel()
	run := a.diffOne
	if flags.recursive || flags.UnitName != "" {
		run = a.diffAll
	}
	different, err := run(limited, flags, before, after)
	if err == nil && flags.Environment == "" && len(flags.environments) > 0 {
		slices.Sort(flags.environments)
		a.Note("ropewalk: compared without an environment; -e compares one of them: %s\n", strings.Join(slices.Compact(flags.environments), ", "))
	}
	switch {
	case err != nil && limited.Err() != nil && ctx.Err() == nil:
		return object.Errors{{
			Stage: object.StageCheck, Err: fmt.Errorf("the comparison of %q with %q exceeded the deadline of %s", before, after, flags.deadline),
			Hint: "compare less at once, or raise the limit (--deadline)",
		}}
	case err == nil && different:
		return command.ErrDifferentReported()
	}
	return err
}

// diffOne compares two sides, and prints how they differ.
func (a commands) diffOne(ctx context.Context, flags *diffFlags, before, after string) (bool, error) {
	report, known, err := a.compareSides(ctx, flags,
		func() (side, error) { return a.openSide(ctx, &flags.ProjectFlags, before, after) },
		func() (side, error) { return a.openSide(ctx, &flags.ProjectFlags, after, before) }, before, after)
	if err == nil {
		err = command.KnownSpecs(flags.specs, known)
	}
	if err != nil {
		return false, err
	}
	return !report.Empty(), a.printDiff(report, flags.format.Value)
}

// diffAll compares every project of two trees. The mistakes of one project do not hide those of the
// others.
func (a commands) diffAll(ctx context.Context, flags *diffFlags, before, after string) (different bool, err error) {
	// Find the projects and the units of both trees.
	units, err := units.New(&flags.ProjectFlags)
	if err != nil {
		return false, err
	}
	defer units.Close()
	old, err := a.openTree(ctx, flags, units, before, after)
	if err != nil {
		return false, err
	}
	defer old.close()
	now, err := a.openTree(ctx, flags, units, after, before)
	if err != nil {
		return false, err
	}
	defer now.close()
	all := slices.Concat(old.projects, now.projects)
	if err := units.Check(&flags.ProjectFlags, len(all) > 0); err != nil {
		return false, err
	}
	all = slices.Concat(all, slices.Collect(maps.Keys(old.units)), slices.Collect(maps.Keys(now.units)))
	// What one side alone cannot render is not deleted.
	all = slices.DeleteFunc(all, func(name string) bool { return units.Missing[name] })
	if len(all) == 0 && flags.UnitName == "" && len(units.Units) == 0 { // Each side stands for itself.
		old.projects, now.projects = []string{"."}, []string{"."}
		all = old.projects
	}
	slices.Sort(all)

	// Compare project by project, and collect mistakes, so that one project does not hide the others.
	var reports diff.Reports
	var found object.Errors
	var specs []string
	texts := map[string][]byte{}
	for _, project := range slices.Compact(all) {
		report, known, mistakes, err := a.compareIn(ctx, flags, old, now, project, texts)
		found = append(found, mistakes...)
		switch {
		case err != nil:
			return false, err
		case len(mistakes) > 0:
			continue
		}
		specs = append(specs, known...)
		if len(flags.specs) > 0 && !slices.ContainsFunc(flags.specs, func(name string) bool { return slices.Contains(known, name) }) {
			continue // It has none of them.
		}
		different = different || !report.Empty()
		var hidden []string
		for _, t := range []tree{old, now} {
			secrets, err := a.secretsOf(ctx, t, project)
			if err != nil {
				return false, err
			}
			hidden = append(hidden, secrets...)
		}
		preview.HideIn(&report, hidden)
		reports = append(reports, diff.Named{Project: nameIn(project, old, now), Report: report})
	}

	// A spec that no project has is a mistake on the command line, unless a project did not load.
	a.Texts = texts
	slices.Sort(specs)
	if err := command.KnownSpecs(flags.specs, slices.Compact(specs)); err != nil && len(found) == 0 {
		return false, err
	}
	if err := a.printDiffs(reports, flags.format.Value); err != nil {
		return false, err
	}
	return different, units.Finish(a.App, &flags.ProjectFlags, found.Err())
}

// nameIn returns the name of a project, or of a unit that one of two trees has.
func nameIn(project string, trees ...tree) string {
	for _, t := range trees {
		if u, ok := t.units[project]; ok {
			return u.Path
		}
	}
	return project
}

// compareSides opens two sides, compares them and closes them. It returns the specs that they have.
func (a commands) compareSides(ctx context.Context, flags *diffFlags, before, after func() (side, error), nameBefore, nameAfter string) (diff.Report, []string, error) {
	old, err := before()
	if err != nil {
		return diff.Report{}, nil, a.nameSide(ctx, "BEFORE", nameBefore, err)
	}
	defer old.close()
	now, err := after()
	if err != nil {
		return diff.Report{}, nil, a.nameSide(ctx, "AFTER", nameAfter, err)
	}
	defer now.close()
	return a.compareOpened(ctx, flags, old, now)
}

// compareIn opens a project of two trees, compares it and closes it. Mistakes of either side are
// returned apart from other errors, and the texts that they are in are added to texts.
func (a commands) compareIn(ctx context.Context, flags *diffFlags, before, after tree, project string, texts map[string][]byte) (diff.Report, []string, object.Errors, error) {
	old, mistakes, err := a.openIn(ctx, before, "BEFORE", project, texts)
	if err != nil {
		return diff.Report{}, nil, nil, err
	}
	defer old.close()
	now, more, err := a.openIn(ctx, after, "AFTER", project, texts)
	if err != nil {
		return diff.Report{}, nil, nil, err
	}
	defer now.close()
	mistakes = append(mistakes, more...)
	if len(mistakes) > 0 {
		return diff.Report{}, nil, mistakes, nil
	}
	report, known, err := a.compareOpened(ctx, flags, old, now)
	if mistakes, ok := command.IsFindings(err); ok && ctx.Err() == nil {
		return report, known, mistakes, nil
	}
	return report, known, nil, err
}

// compareOpened compares two sides, and returns the specs that they have.
func (a commands) compareOpened(ctx context.Context, flags *diffFlags, old, now side) (diff.Report, []string, error) {
	known, err := keepSpecs(flags.specs, &old, &now)
	if err != nil {
		return diff.Report{}, nil, err
	}
	report, err := diff.Compare(ctx, old.Snapshot, now.Snapshot)
	if err == nil {
		a.noteApart(report)
		flags.addEnvironments(old, now)
	}
	if err != nil || now.rendered == nil {
		return report, known, err
	}
	if err := snapshot.Trace(ctx, now.rendered.Evaluator, now.rendered.Request, &report); err != nil {
		return report, known, err
	}
	placeFields(report, now.rendered.Place)
	return report, known, nil
}

// noteApart prints which objects are deleted and created because the sides have them in other
// namespaces: they are other objects for a cluster, and often the same ones for the user.
func (a commands) noteApart(report diff.Report) {
	deleted := map[object.Ref]string{}
	moves := map[string]bool{}
	n := 0
	for _, kind := range []diff.Kind{diff.Deleted, diff.Created} {
		for _, c := range report.Changes {
			ref := c.Ref
			ref.Namespace = ""
			from, known := deleted[ref]
			switch {
			case c.Kind != kind || c.Ref.Namespace == "":
			case kind == diff.Deleted:
				deleted[ref] = c.Ref.Namespace
			case known:
				moves[from+" -> "+c.Ref.Namespace] = true
				n++
			}
		}
	}
	if n > 0 {
		a.Note("ropewalk: compared as deleted and created: %s in another namespace (%s); render both sides with the same -n NAMESPACE to compare what is in them\n",
			printable.Count(n, "object"), strings.Join(object.SortedKeys(moves), ", "))
	}
}

// addEnvironments gathers the environments of sides.
func (f *diffFlags) addEnvironments(sides ...side) {
	for _, s := range sides {
		if s.rendered != nil {
			f.environments = slices.AppendSeq(f.environments, maps.Keys(s.rendered.Project.Environments))
		}
	}
}

// placeFields replaces the origins of changed fields by the positions where the user wrote them.
func placeFields(report diff.Report, place func(object.Pos) object.Pos) {
	for _, c := range report.Changes {
		for i := range c.Fields {
			if f := &c.Fields[i]; f.Pos.IsValid() {
				f.Pos = place(f.Pos)
				f.From = f.Pos.String()
			}
		}
	}
}

// nameSide returns err with the side that it is of. Mistakes in files are printed one by one with
// their places, so that nameSide prints a line ahead of them.
func (a commands) nameSide(ctx context.Context, which, arg string, err error) error {
	var mistakes object.Errors
	var mistake *object.Error
	switch {
	case ctx.Err() != nil:
		return err
	case errors.As(err, &mistakes), errors.As(err, &mistake):
		a.Note("ropewalk: %s %q:\n", which, arg)
		return err
	}
	return fmt.Errorf("%s %q: %w", which, arg, err)
}

// printDiff prints a report in a format.
func (a commands) printDiff(report diff.Report, format string) error {
	switch format {
	case "json":
		data, err := report.JSON()
		if err != nil {
			return err
		}
		return a.Write(data)
	case "markdown":
		return a.Write([]byte(report.Markdown()))
	}
	return a.Write([]byte(report.Text(a.style())))
}

// style returns the colours of the stream that a report goes to. The colours of App are those of
// the other stream.
func (a commands) style() diff.Style {
	p := command.Paint{On: a.OutColor}
	return diff.Style{Bold: p.Bold, Dim: p.Dim, Added: p.Good, Removed: p.Bad, Warn: p.Warn}
}

// printDiffs prints the reports of several projects, each below its name.
func (a commands) printDiffs(reports diff.Reports, format string) error {
	if format == "json" {
		data, err := reports.JSON()
		if err != nil {
			return err
		}
		return a.Write(data)
	}
	for i, r := range reports {
		heading := a.style().Bold(printable.Line(r.Project)) + "\n\n"
		if format == "markdown" {
			heading = "## " + markdown.Code(r.Project) + "\n\n"
		}
		if i > 0 {
			heading = "\n" + heading
		}
		if err := a.Write([]byte(heading)); err != nil {
			return err
		}
		if err := a.printDiff(r.Report, format); err != nil {
			return err
		}
	}
	return nil
}
