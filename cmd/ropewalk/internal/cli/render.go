// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/units"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/output"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/spec"
)

// renderFlags are the flags of every project and the flags of render.
type renderFlags struct {
	command.ProjectFlags
	output   string
	format   command.Choice
	table    bool
	argocdCM string
	// selection chooses the objects that are printed.
	selection command.Selection
	// recursive renders every project on its own.
	recursive command.Recursive
	// name is the heading of a project or a unit in a stream of several.
	name string
	// gather collects the files of several projects for one List; nil writes them at once.
	gather *[]emit.File
	// isUnit is set for a unit of Argo CD or Flux.
	isUnit bool
}

func (a commands) renderCommand() *cobra.Command {
	var flags renderFlags
	cmd := &cobra.Command{
		Use:   "render [PATH...|-]",
		Short: "Render specs into manifests",
		Long: `Render specs into manifests, checked and in order, as one stream on standard output
or as files in a directory.

The directory of -o is replaced as a whole, or not at all: where it holds files that
are not an earlier output of Ropewalk, nothing is changed.

With --recursive also what Argo CD or Flux apply of a repository is rendered: its
Applications, ApplicationSets, Kustomizations and HelmReleases, without a cluster. --env takes
the names of clusters, and --unit one of them alone.

In the flux dialect there is one folder for each layer; with --repository also the
OCIRepository and the Kustomizations that apply them one after another.
` + command.ProjectHelp + `

Warnings and errors go to standard error: as text, or with --format json as a list.

` + command.ExitCodes,
		Example: `  ropewalk render                                 the project in this directory
  ropewalk render shop --env prod                 one of its environments
  ropewalk render shop --spec api -l app=api      what it makes of one spec
  ropewalk render -r . -o out                     every project of a repository, a folder each
  ropewalk render -r . --env production           what Argo CD or Flux apply to a cluster
  ropewalk render shop -o out                     one file for each object, and the waves
  ropewalk render api.yaml --set replicas=3       one spec, with another input
  ropewalk render shop --set api:replicas=3       the same in a project of several specs
  cat api.yaml | ropewalk render - --values prod.yaml
  ropewalk render shop --dialect argocd -o out --argocd-cm argocd-cm.yaml
  ropewalk render shop --dialect flux -o out --repository oci://ghcr.io/acme/shop:v1
  ropewalk render shop --format json | jq '.items[].kind'`,
		RunE: a.Run(func(ctx context.Context, args []string) error {
			return a.runRenders(ctx, &flags, args)
		}),
	}
	f := cmd.Flags()
	f.StringVarP(&flags.output, "output", "o", "", "`DIR` to write files to; standard output where it is not given, or -")
	flags.format = command.NewChoice("yaml", "json")
	flags.format.Add(cmd, "format", "format of the manifests; json writes one List, and errors as a list")
	f.BoolVar(&flags.table, "table", false, "print the waves to standard error, as -o always does in yaml")
	flags.selection.Add(cmd)
	flags.recursive.Add(cmd, "render each project, and each unit of Argo CD or Flux, at and below PATH on its own; with\n-o into a folder of its own")
	flags.Add(cmd)
	flags.AddLocalSources(cmd)
	flags.AddUnits(cmd)
	a.CompleteSpecs(cmd, &flags.ProjectFlags)
	f.StringVar(&flags.Repository, "repository", "", "OCI `REF` that the cluster will pull this render from, with a tag or a\ndigest; flux only")
	f.StringVar(&flags.FluxNamespace, "flux-namespace", "", "namespace of the Flux objects (default flux-system)")
	f.StringVar(&flags.argocdCM, "argocd-cm", "", "`FILE` to write the health checks for argocd-cm to; argocd only")
	return cmd
}

// runRenders renders the projects and the units at paths: all at once, or each on its own.
func (a commands) runRenders(ctx context.Context, flags *renderFlags, paths []string) error {
	// Find the projects and units, and check the folder of the output.
	many := bool(flags.recursive) || flags.UnitName != ""
	if many && (flags.Repository != "" || flags.argocdCM != "") {
		return command.Usagef("render one project", "--recursive and --unit write a folder for each project, and no other file")
	}
	if err := flags.selection.Check(flags.output); err != nil {
		return err
	}
	found, err := units.Find(ctx, a.App, &flags.ProjectFlags, flags.recursive, paths)
	if err != nil {
		return err
	}
	defer found.Close()
	toFolder := flags.output != "" && flags.output != "-"
	if toFolder {
		if err := command.Beside(found.Below); err != nil {
			return err
		}
	}

	// Render each on its own, into a folder or one stream.
	var files []emit.File
	err = a.EachApart(found.Below, paths, func(item command.Below, paths []string) error {
		itemFlags := *flags
		itemFlags.ProjectFlags = *item.Flags(flags.ProjectFlags)
		itemFlags.isUnit = item.Unit != nil
		switch {
		case !many:
		case toFolder:
			itemFlags.output = filepath.Join(flags.output, item.Name())
		default:
			itemFlags.name = item.Path
			itemFlags.gather = &files
		}
		return a.runRender(ctx, &itemFlags, paths)
	})
	if len(files) > 0 && flags.format.Value == "json" {
		data, err := command.Stream(files, flags.format.Value)
		if err == nil {
			err = a.Write(data)
		}
		if err != nil {
			return err
		}
	}
	return found.Finish(a.App, &flags.ProjectFlags, err)
}

func (a commands) runRender(ctx context.Context, flags *renderFlags, paths []string) error {
	a.JSON = flags.format.Value == "json"
	if flags.output == "-" {
		flags.output = ""
	}
	r, err := a.Render(ctx, &flags.ProjectFlags, paths)
	if err != nil {
		a.NoteOthers(host.Loaded{NotApplied: r.NotApplied}) // It may well be the cause.
		return flags.hintEmpty(err)
	}
	defer r.Close()
	if err := flags.checkDialect(r.Request.Emit.Dialect); err != nil {
		return err
	}
	if err := a.writeRender(ctx, flags, r); err != nil {
		return err
	}
	a.Warn(r.Warnings)
	a.NoteOthers(r.Loaded)
	if flags.output == "" && !flags.table {
		return nil
	}
	a.printSummary(flags, r)
	return nil
}

// hintEmpty adds the flag that empties an earlier output to the hints of errors about a missing
// spec.
func (f *renderFlags) hintEmpty(err error) error {
	entries, _ := os.ReadDir(f.output) // what cannot be read is reported when it is written
	if found, ok := command.IsFindings(err); ok && len(entries) > 0 {
		for _, e := range found {
			if errors.Is(e, host.ErrNoSpec) || errors.Is(e, project.ErrNoSpec) {
				e.Hint += ", or add --allow-empty if " + f.output + " is to be emptied"
			}
		}
	}
	return err
}

// checkDialect refuses flags that have no effect in the dialect: without an error a wrong call
// would stay unnoticed.
func (f *renderFlags) checkDialect(d dialect.Name) error {
	hasBoth := f.argocdCM != "" && f.output != ""
	switch {
	case f.argocdCM != "" && d != dialect.ArgoCD:
		return command.Usagef("add --dialect argocd", "--argocd-cm is for the dialect argocd, and this render is for %s", d)
	case hasBoth && inside(f.output, f.argocdCM):
		hint := "an engine would apply it with the manifests, and the next render would refuse the directory"
		return command.Usagef(hint, "--argocd-cm %s is inside the directory of -o", f.argocdCM)
	case f.Repository != "" && d != dialect.Flux:
		return command.Usagef("add --dialect flux", "--repository is for the dialect flux, and this render is for %s", d)
	case f.FluxNamespace != "" && f.Repository == "":
		return command.Usagef("add --repository", "--flux-namespace needs --repository")
	case f.FluxNamespace != "" && spec.CheckName(f.FluxNamespace) != nil:
		return command.Usagef("", "--flux-namespace: %s", spec.CheckName(f.FluxNamespace))
	}
	return nil
}

// inside reports whether the file called name is below dir.
func inside(dir, name string) bool {
	dir, errDir := filepath.Abs(dir)
	name, errName := filepath.Abs(name)
	rel, err := filepath.Rel(dir, name)
	return errors.Join(errDir, errName, err) == nil && filepath.IsLocal(rel)
}

// writeRender writes the files of r. It encodes all of them before it writes the first.
func (a commands) writeRender(ctx context.Context, flags *renderFlags, r command.Rendered) error {
	// Encode the files.
	var data []byte
	files, err := flags.selection.Files(r)
	switch {
	case err != nil:
	case flags.gather != nil && flags.format.Value == "json":
		*flags.gather = append(*flags.gather, files...)
		return nil
	case flags.output == "":
		data, err = command.Stream(files, flags.format.Value)
		if flags.name != "" {
			data = slices.Concat([]byte("# "+printable.Line(flags.name)+"\n"), data)
		}
	case flags.format.Value == "json":
		files, err = command.JSONFiles(files)
	}
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// The directory is the likeliest to be refused, so it goes first.
	if flags.output != "" {
		if err := output.Write(ctx, flags.output, files, output.Options{}); err != nil {
			return &command.EnvironmentError{Err: err}
		}
	}
	if flags.argocdCM != "" {
		if err := command.WriteFile(flags.argocdCM, emit.HealthConfig(r.Plan)); err != nil {
			return err
		}
	}
	if flags.output != "" {
		return nil
	}
	return a.Write(data)
}

// printSummary prints the waves, and with -o the place of the files.
func (a commands) printSummary(flags *renderFlags, r command.Rendered) {
	if a.JSON {
		return
	}

	// A repository has hundreds of units, so a unit gets one line.
	written := fmt.Sprintf("%s of %s in %s, written to "+a.Paint.Bold("%s")+"\n",
		printable.Count(len(r.Plan.Graph.Nodes), "object"), printable.Count(len(r.Request.Specs), "spec"),
		printable.Count(len(r.Plan.Waves), "wave"), printable.Line(flags.output))
	if flags.isUnit && !flags.table {
		a.Tell(written)
		return
	}

	// A project gets its waves, and the next steps.
	a.Tell(waveTable(r.Plan))
	if len(r.Existing) > 0 {
		a.Tell("\nnot made here, and needed before the pods start:\n" + existingTable(r.Existing))
	}
	if flags.output == "" {
		return
	}
	a.Tell("\n" + written)
	for _, line := range whereToLook(flags, r) {
		a.Note("  %s\n", line)
	}
}

// whereToLook returns the next steps with the files, one a line.
func whereToLook(flags *renderFlags, r command.Rendered) []string {
	out := []string{"the number that the name of a file begins with is its wave"}
	if names := unplaced(r); len(names) > 0 {
		const most = 5
		text := "in the namespace %s, as neither they nor the project nor -n name one: %s"
		out = append(out, fmt.Sprintf(text, host.DefaultNamespace, printable.List(names, most)))
	}
	switch {
	case r.Request.Emit.Dialect == dialect.ArgoCD:
		out = append(out, "point the source of an Argo CD Application at this directory")
	case r.Request.Emit.Dialect == dialect.Flux && flags.Repository != "":
		push := "\"ropewalk artifact push --folders " + flags.output + " " + flags.Repository + "\" pushes it"
		out = append(out, push+"; apply "+filepath.Join(flags.output, "flux")+" then")
	case r.Request.Emit.Dialect == dialect.Flux:
		out = append(out, "each folder is a layer; --repository writes the objects that apply them in order")
	}
	return append(out, "\"ropewalk explain OBJECT\" says why an object is in its wave, \"ropewalk graph\" draws all of them")
}

// unplaced returns the specs with objects that fall back to the default namespace.
func unplaced(r command.Rendered) (names []string) {
	for _, n := range r.Plan.Graph.Nodes {
		name := n.ID.Spec()
		fallsBack := n.Object.Namespace() == host.DefaultNamespace && slices.Contains(r.Unplaced, name)
		if fallsBack && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
