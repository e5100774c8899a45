// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/checkout"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/imports"
	"github.com/ropewalk/ropewalk/internal/memfs"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/plugin/host/gitops"
	"github.com/ropewalk/ropewalk/plugin/host/snapshot"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// unitsFile is the name of the imported text among the files that units are found in.
const unitsFile = "imported.yaml"

// importObjects makes a project of the units of Argo CD or Flux in a text. Their files are fetched
// from their sources; units among their rendered objects stay objects.
func (a commands) importObjects(
	ctx context.Context, flags *command.ProjectFlags, source string, data []byte, objects []object.Object, dir string,
) ([]imported, error) {
	files, err := memfs.New(map[string][]byte{unitsFile: data})
	if err != nil {
		return nil, err
	}

	// Find the units. The URL keeps folders of a source from being looked for among these files.
	repository := gitops.Repository{FS: files, Dir: ".", URLs: []string{"https://none.invalid/none"}}
	nothing := func(context.Context, gitops.Unit, func(fs.FS, []string) bool) (gitops.Rendered, error) {
		return gitops.Rendered{}, nil
	}
	found, err := gitops.Expand(ctx, repository, nothing)
	if err != nil {
		return nil, err
	}

	// Refuse units that cannot be expanded: they would vanish from the project.
	mistakes := found.Warnings
	for i, u := range found.Units {
		u.Warnings = append(u.Warnings, u.Unwritten()...)
		found.Units[i].Warnings = u.Warnings
		found.Units[i].Pos.File = source
		if u.Problem != nil {
			if strings.Contains(u.Problem.Hint, "--local-sources") {
				u.Problem.Hint = "import the folder that it is made of, such as ropewalk import ./deploy"
			}
			mistakes = append(mistakes, u.Problem)
		}
		for _, e := range u.Warnings {
			e.Pos.File = source
		}
	}
	for _, e := range mistakes {
		e.Pos.File = source
		e.Severity = object.SeverityError
	}
	if len(mistakes) > 0 {
		return nil, mistakes.Sorted()
	}

	// A server that gives no answer does not stop the import: its files are not compared.
	units, err := a.renderUnits(ctx, flags, files, found.Units)
	if err != nil {
		return nil, err
	}
	unseen := ""
	for i, u := range units {
		for _, e := range object.AsErrors(u.Err, object.StageSpec) {
			e.Pos.File = source
		}
		units[i].PullSecret = imports.PullSecret(u.Object, objects)
		switch {
		case u.Err != nil && command.ExitCode(u.Err) == command.Environment:
			unseen = object.AsErrors(u.Err, object.StageResolve)[0].Err.Error()
			units[i].Unseen, units[i].Err = true, nil
		case u.Err != nil:
			mistakes = append(mistakes, object.AsErrors(u.Err, object.StageSpec)...)
		case units[i].PullSecret != "":
			unseen = "the files are behind the Secret " + units[i].PullSecret
		}
	}
	if len(mistakes) > 0 {
		return nil, a.nameSide(ctx, "the source", source, mistakes.Sorted())
	}

	// Make the project of the units.
	out, err := a.importUnits(imports.NewPlan(units), source, dir, func(folder string) string { return folder })
	for i := range out {
		for _, o := range objects {
			out[i].dropped = append(out[i].dropped, imports.SourceFields(o, true)...)
		}
		out[i].notCompared = unseen
	}
	return out, err
}

// importRepository makes a project of each cluster whose units of Argo CD or Flux are in a folder of
// a repository. It returns nothing for a folder without units.
func (a commands) importRepository(ctx context.Context, flags *command.ProjectFlags, source, dir string) ([]imported, error) {
	// A chart and a kustomization are imported as they are.
	repository, inside, err := checkout.InRepository(source)
	if err != nil || imports.IsBuilt(source) {
		return nil, nil //nolint:nilerr // Outside of a repository there is nothing that engines read.
	}
	files, err := checkout.Open(ctx, repository, "")
	if err != nil {
		return nil, err
	}
	defer files.Close()

	// Find the units, and the files that they are made of.
	read := map[string]bool{}
	load := gitops.Renderer(func(ctx context.Context, u gitops.Unit) (host.Loaded, error) {
		return a.LoadUnit(ctx, flags, files, u)
	}, flags.Shared)
	renderUnit := func(ctx context.Context, u gitops.Unit, wanted func(fs.FS, []string) bool) (gitops.Rendered, error) {
		out, err := load(ctx, u, wanted)
		for _, name := range out.Read {
			read[name] = true
		}
		return out, err
	}
	found, err := gitops.Expand(ctx, gitops.Repository{FS: files, Dir: inside}, renderUnit)
	if err != nil {
		return nil, err
	}
	for i, u := range found.Units {
		found.Units[i].Warnings = append(u.Warnings, u.Unwritten()...)
	}

	// A folder of manifests, maybe with a HelmRelease among them, is imported as it is.
	loose := imports.Loose(files, found.Units, read)
	releases := !slices.ContainsFunc(found.Units, func(u gitops.Unit) bool { return u.Kind != "HelmRelease" })
	if len(found.Units) == 0 || (releases && len(loose) > 0) {
		return nil, nil
	}
	folderOfProject, ok := checkout.Inside(repository, dir)
	if !ok {
		err := fmt.Errorf("the project reads the files of %s where they are, and %s is in another repository", source, dir)
		return nil, command.Usagef("name a folder in it", "%w", err)
	}

	// Render each unit by itself: a unit that fails does not stop the others.
	units, err := a.renderUnits(ctx, flags, files, found.Units)
	if err != nil {
		return nil, err
	}
	plan := imports.NewPlan(units)
	plan.Warnings = append(append(plan.Warnings, found.Warnings...), loose...)
	if err := plan.Err(); err != nil {
		return nil, cannotImport(source, err)
	}
	return a.importUnits(plan, source, dir, func(folder string) string { return path.Join(folderOfProject, folder) })
}

// importUnits returns the projects of a plan. The function pathOf returns the path of a folder as a
// project refers to it.
func (a commands) importUnits(plan *imports.Plan, source, dir string, pathOf func(folder string) string) ([]imported, error) {
	projects, err := plan.Projects(pathOf)
	if err != nil {
		return nil, err
	}
	a.Warn(plan.Warnings.Sorted())
	out := make([]imported, 0, len(projects))
	for _, p := range projects {
		in := imported{
			dir:      filepath.Join(dir, filepath.FromSlash(p.Folder)),
			specs:    p.Specs,
			files:    p.Files,
			before:   printable.Count(p.Units, "unit") + " of " + source,
			ofUnits:  true,
			items:    p.Items,
			replaced: p.Replaced,
			dropped:  p.Left,
		}
		in.name = nameOfFolder(in.dir)
		if len(p.Specs) == 1 {
			in.name = p.Specs[0].Name
		}
		in.context = map[string]any{}
		for name, value := range map[string]string{"namespace": p.Namespace, "kubeVersion": p.KubeVersion} {
			if value != "" {
				in.context[name] = value
			}
		}
		out = append(out, in)
	}
	return out, nil
}

// renderUnits renders each unit by itself, as a project holds it: without the data of Secrets. It
// returns an error only if ctx is cancelled.
func (a commands) renderUnits(ctx context.Context, flags *command.ProjectFlags, files fs.FS, units []gitops.Unit) ([]imports.Unit, error) {
	out := make([]imports.Unit, 0, len(units))
	for _, u := range units {
		unit := imports.Unit{Unit: u}
		switch {
		case u.Problem != nil:
			unit.Err = u.Problem
		case len(u.Secrets) > 0: // A spec has no place for them.
			unit.Err = errors.New("it has values of a Secret of the repository: " +
				"write them as a reference to a store of secrets before it is imported")
		default:
			unit.Items, unit.Err = a.renderUnit(ctx, flags, files, u, len(units) > 1)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		out = append(out, unit)
	}
	return out, nil
}

// renderUnit returns the objects of a unit with their positions. If there are several units, the
// objects get the namespace that the unit is applied to, as in its spec.
func (a commands) renderUnit(
	ctx context.Context, flags *command.ProjectFlags, files fs.FS, u gitops.Unit, several bool,
) ([]diff.Item, error) {
	// Load the unit as a project holds it.
	loaded, err := a.LoadUnit(ctx, flags, files, u)
	if err == nil {
		err = loaded.Request.Mistakes.Err()
	}
	if err != nil {
		return nil, err
	}
	loaded.Request.AllowSecrets = nil
	loaded.Request.Emit.Name = u.Label()
	for i := range loaded.Request.Specs {
		loaded.Request.Specs[i].AllowSecretsPos = nil
		loaded.Request.Specs[i].StatesNamespace = several && u.Namespace != ""
	}

	// Render it. Objects of the engine are no part of the project, and may lack fields of their schema.
	renderer := render.Renderer{Evaluator: flags.Shared}
	result, err := renderer.Render(ctx, loaded.Request)
	if err != nil {
		loaded.Request.SkipSchemas = true
		unchecked, wrong := renderer.Render(ctx, loaded.Request)
		if wrong != nil || !imports.OfEngine(object.AsErrors(err, object.StageCheck).Failures(), unchecked.Plan.Graph.Nodes) {
			return nil, err
		}
		result = unchecked
	}

	// Add the positions.
	rendered, err := snapshot.OfRender(ctx, u.String(), result, nil)
	places := map[object.ID]object.Pos{}
	for _, n := range result.Plan.Graph.Nodes {
		places[n.ID] = n.Pos
	}
	for i, item := range rendered.Items {
		rendered.Items[i] = diff.Item{Object: item.Object, At: places[item.Node], Wave: diff.NoWave}
	}
	return rendered.Items, err
}

// contextFlags returns the flags that a context of a project has, by its fields.
func contextFlags() map[string]string {
	return map[string]string{
		"namespace":      "namespace",
		"kube-version":   "kubeVersion",
		"cluster-domain": "clusterDomain",
		"dialect":        "engine",
	}
}

// checkFlags refuses a flag that no field of a project keeps, before anything is read.
func checkFlags(set *pflag.FlagSet) error {
	// These flags change the input, and have no field in a project.
	inputFlags := []string{
		"overrides-file", "override-file", "set", "set-string", "set-json", "set-file", "override-property", "expression",
		"env", "runtime", "runtime-from-env", "env-file", "var", "var-from-env", "image",
	}
	var refused []string
	var err error
	set.Visit(func(f *pflag.Flag) {
		isName := f.Name == "name" || f.Name == "namespace"
		if wrong := spec.CheckName(f.Value.String()); isName && wrong != nil && err == nil {
			err = command.Usagef("", "--%s: %s", f.Name, wrong)
		}
		if slices.Contains(inputFlags, f.Name) {
			refused = append(refused, "--"+f.Name)
		}
	})
	if err == nil && len(refused) > 0 {
		err = command.Usagef("import without it, then write what it sets into component.yaml; of a chart in a file for --values",
			"%s: an import cannot keep it for the project, so nothing was written", strings.Join(refused, ", "))
	}
	return err
}

// keepFlags writes flags into the project.
func (i *imported) keepFlags(set *pflag.FlagSet) (err error) {
	set.Visit(func(f *pflag.Flag) {
		field := contextFlags()[f.Name]
		switch {
		case f.Name == "name":
			i.rename(f.Value.String())
		case f.Name == "namespace" && len(i.specs) > 1:
			err = command.Usagef("import without it", "--namespace: each unit has a namespace of its own")
		case field != "":
			if i.context == nil {
				i.context = map[string]any{}
			}
			i.context[field] = f.Value.String()
		}
	})
	return err
}

// notKept returns the flags that have no field in the project. A render with these flags alone shows
// the project as it is written.
func notKept(set *pflag.FlagSet) (*command.ProjectFlags, error) {
	var flags command.ProjectFlags
	var err error
	cmd := &cobra.Command{}
	flags.Add(cmd)
	set.Visit(func(f *pflag.Flag) {
		target := cmd.Flags().Lookup(f.Name)
		kept := contextFlags()[f.Name] != "" || f.Name == "name" || f.Name == "values"
		if target == nil || kept || err != nil {
			return
		}
		list, isList := f.Value.(pflag.SliceValue)
		targetList, same := target.Value.(pflag.SliceValue)
		if isList && same {
			err = targetList.Replace(list.GetSlice())
		} else {
			err = target.Value.Set(f.Value.String())
		}
	})
	return &flags, err
}

// rename gives the only component a name, or the project of several. The release of a unit stays.
func (i *imported) rename(name string) {
	if len(i.specs) == 1 {
		helm, ok := i.specs[0].Built["helm"].(map[string]any)
		if ok && i.ofUnits && helm["releaseName"] == nil {
			helm["releaseName"] = i.name
		}
		i.specs[0].Name = name
	}
	i.name = name
}

// chart returns the fields of the chart that is imported from its folder; nil for anything else.
func (i *imported) chart() map[string]any {
	if i.ofUnits || len(i.specs) != 1 {
		return nil
	}
	helm, _ := i.specs[0].Built["helm"].(map[string]any)
	return helm
}

// keepValues adds the files of --values to the values files of the chart. It refuses a file that the
// project may not read.
func (i *imported) keepValues(files []string, dir string) error {
	helm := i.chart()
	if helm == nil || i.root == "" {
		return command.Usagef("write what it has into component.yaml after the import, as helm.values or helm.valuesFiles",
			"--values: an import keeps it of a folder with a chart in the repository of the project only, so nothing was written")
	}

	// Name the files by their paths from the folder of the project.
	base, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	var out []any
	for _, file := range files {
		full, err := filepath.Abs(file)
		if err != nil {
			return err
		}
		if in, err := filepath.Rel(i.root, full); err != nil || !filepath.IsLocal(in) {
			return command.Usagef("copy the file into it", "--values: the project cannot read %s, which is outside of %s", file, i.root)
		}
		rel, err := filepath.Rel(base, full)
		if err != nil {
			return err
		}
		out = append(out, filepath.ToSlash(rel))
	}
	helm["valuesFiles"] = out
	return nil
}
