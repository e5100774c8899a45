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

// diffFlags are the flags of every project and the flags of diff.
type diffFlags struct {
	command.ProjectFlags
	format   command.Choice
	deadline time.Duration
	// specs names the specs whose objects are compared; empty means all of them.
	specs []string
	// recursive compares every project below the sides on its own.
	recursive command.Recursive
	// environments names the environments of the projects that were compared.
	environments []string
}

// defaultDeadline limits a comparison, as the sidecar limits a request.
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

	// Compare the sides.
	limited, cancel := context.WithTimeout(ctx, flags.deadline)
	defer cancel()
	run := a.diffOne
	if flags.recursive || flags.UnitName != "" {
		run = a.diffAll
	}
	different, err := run(limited, flags, before, after)

	// Report the result, and a deadline that this command set itself.
	if err == nil && flags.Environment == "" && len(flags.environments) > 0 {
		slices.Sort(flags.environments)
		names := strings.Join(slices.Compact(flags.environments), ", ")
		a.Note("ropewalk: compared without an environment; -e compares one of them: %s\n", names)
	}
	exceeded := limited.Err() != nil && ctx.Err() == nil
	switch {
	case err != nil && exceeded:
		return object.Errors{{
			Stage: object.StageCheck,
			Err:   fmt.Errorf("the comparison of %q with %q exceeded the deadline of %s", before, after, flags.deadline),
			Hint:  "compare less at once, or raise the limit (--deadline)",
		}}
	case err == nil && different:
		return command.ErrDifferentReported()
	}
	return err
}

// diffOne compares two sides, and prints how they differ.
func (a commands) diffOne(ctx context.Context, flags *diffFlags, before, after string) (bool, error) {
	report, known, err := a.compareSides(ctx, flags, before, after)
	if err == nil {
		err = command.KnownSpecs(flags.specs, known)
	}
	if err != nil {
		return false, err
	}
	return !report.Empty(), a.printDiff(report, flags.format.Value)
}

// diffAll compares every project of two trees. A project with mistakes does not hide the mistakes of
// other projects.
func (a commands) diffAll(ctx context.Context, flags *diffFlags, before, after string) (different bool, err error) {
	// Find the projects and the units of both trees.
	units, err := units.New(&flags.ProjectFlags)
	if err != nil {
		return false, err
	}
	defer units.Close()
	oldTree, err := a.openTree(ctx, flags, units, before, after)
	if err != nil {
		return false, err
	}
	defer oldTree.close()
	newTree, err := a.openTree(ctx, flags, units, after, before)
	if err != nil {
		return false, err
	}
	defer newTree.close()
	projects := slices.Concat(oldTree.projects, newTree.projects)
	if err := units.Check(&flags.ProjectFlags, len(projects) > 0); err != nil {
		return false, err
	}
	projects = slices.Concat(projects, slices.Collect(maps.Keys(oldTree.units)), slices.Collect(maps.Keys(newTree.units)))
	// A unit that only one side cannot render is not a deleted unit.
	projects = slices.DeleteFunc(projects, func(name string) bool { return units.Missing[name] })
	if len(projects) == 0 && flags.UnitName == "" && len(units.Units) == 0 { // Each side stands for itself.
		oldTree.projects, newTree.projects = []string{"."}, []string{"."}
		projects = oldTree.projects
	}
	slices.Sort(projects)

	// Compare project by project, and collect the mistakes of all of them.
	var reports diff.Reports
	var mistakes object.Errors
	var specs []string
	texts := map[string][]byte{}
	for _, project := range slices.Compact(projects) {
		report, known, failures, err := a.compareIn(ctx, flags, oldTree, newTree, project, texts)
		mistakes = append(mistakes, failures...)
		switch {
		case err != nil:
			return false, err
		case len(failures) > 0:
			continue
		}
		specs = append(specs, known...)
		if len(flags.specs) > 0 && !slices.ContainsFunc(flags.specs, func(name string) bool { return slices.Contains(known, name) }) {
			continue // The project has none of the chosen specs.
		}
		different = different || !report.Empty()
		var hidden []string
		for _, t := range []tree{oldTree, newTree} {
			secrets, err := a.secretsOf(ctx, t, project)
			if err != nil {
				return false, err
			}
			hidden = append(hidden, secrets...)
		}
		preview.HideIn(&report, hidden)
		reports = append(reports, diff.Named{Project: nameIn(project, oldTree, newTree), Report: report})
	}

	// A spec that no project has is a mistake on the command line, unless a project did not load.
	a.Texts = texts
	slices.Sort(specs)
	if err := command.KnownSpecs(flags.specs, slices.Compact(specs)); err != nil && len(mistakes) == 0 {
		return false, err
	}
	if err := a.printDiffs(reports, flags.format.Value); err != nil {
		return false, err
	}
	return different, units.Finish(a.App, &flags.ProjectFlags, mistakes.Err())
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
func (a commands) compareSides(ctx context.Context, flags *diffFlags, before, after string) (diff.Report, []string, error) {
	old, err := a.openSide(ctx, &flags.ProjectFlags, before, after)
	if err != nil {
		return diff.Report{}, nil, a.nameSide(ctx, "BEFORE", before, err)
	}
	defer old.close()
	now, err := a.openSide(ctx, &flags.ProjectFlags, after, before)
	if err != nil {
		return diff.Report{}, nil, a.nameSide(ctx, "AFTER", after, err)
	}
	defer now.close()
	return a.compareOpened(ctx, flags, old, now)
}

// compareIn opens a project of two trees, compares it and closes it. Mistakes of either side are
// returned apart from other errors, and the texts that they are in are added to texts.
func (a commands) compareIn(
	ctx context.Context, flags *diffFlags, before, after tree, project string, texts map[string][]byte,
) (diff.Report, []string, object.Errors, error) {
	// Open both sides, so that the mistakes of both are returned.
	old, mistakes, err := a.openIn(ctx, before, "BEFORE", project, texts)
	if err != nil {
		return diff.Report{}, nil, nil, err
	}
	defer old.close()
	now, newMistakes, err := a.openIn(ctx, after, "AFTER", project, texts)
	if err != nil {
		return diff.Report{}, nil, nil, err
	}
	defer now.close()
	mistakes = append(mistakes, newMistakes...)
	if len(mistakes) > 0 {
		return diff.Report{}, nil, mistakes, nil
	}

	// Compare what both sides render.
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

// keepSpecs leaves in both sides the objects of some specs. If an object moves to another spec, the
// objects of both specs stay. It returns the specs that the sides have.
func keepSpecs(names []string, sides ...*side) (known []string, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	chosen := map[object.Ref]bool{}
	for _, s := range sides {
		if s.rendered != nil {
			known = append(known, s.rendered.SpecNames()...)
		}
		for _, i := range s.Items {
			if i.Node == "" && !i.Delivers {
				hint := "compare projects, or artifacts that \"ropewalk build\" pushed"
				return nil, command.Usagef(hint, "--spec: %s does not say which spec made its objects", s.Name)
			}
			known = append(known, i.Node.Spec())
			if slices.Contains(names, i.Node.Spec()) {
				chosen[i.Object.Ref()] = true
			}
		}
	}
	for _, s := range sides {
		s.Items = slices.DeleteFunc(s.Items, func(i diff.Item) bool { return !chosen[i.Object.Ref()] })
	}
	slices.Sort(known)
	return slices.Compact(known), nil
}

// noteApart prints which objects are deleted and created because the sides have them in other
// namespaces: a cluster sees other objects, and the user often the same objects.
func (a commands) noteApart(report diff.Report) {
	deleted := map[object.Ref]string{}
	moves := map[string]bool{}
	moved := 0
	for _, kind := range []diff.Kind{diff.Deleted, diff.Created} {
		for _, c := range report.Changes {
			ref := c.Ref
			ref.Namespace = ""
			namespace, known := deleted[ref]
			switch {
			case c.Kind != kind || c.Ref.Namespace == "":
			case kind == diff.Deleted:
				deleted[ref] = c.Ref.Namespace
			case known:
				moves[namespace+" -> "+c.Ref.Namespace] = true
				moved++
			}
		}
	}
	if moved > 0 {
		text := "ropewalk: compared as deleted and created: %s in another namespace (%s); " +
			"render both sides with the same -n NAMESPACE to compare what is in them\n"
		a.Note(text, printable.Count(moved, "object"), strings.Join(object.SortedKeys(moves), ", "))
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

// nameSide adds the name of a side to its error. Mistakes in files are printed one by one with their
// places, so nameSide prints a line ahead of them.
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

// style returns the colours for standard output, where a report goes. The colours of App are for
// standard error.
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
