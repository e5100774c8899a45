// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

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

// unitsFile is what the text of an import is called among the files that units are found in.
const unitsFile = "imported.yaml"

// importObjects makes a project of the units of Argo CD or Flux in a text. Their files are fetched
// from where the units say; units among what they render stay objects.
func (a commands) importObjects(ctx context.Context, flags *command.ProjectFlags, from string, data []byte, objects []object.Object, dir string) ([]imported, error) {
	files, err := memfs.New(map[string][]byte{unitsFile: data})
	if err != nil {
		return nil, err
	}

	// The URL keeps folders of a source from being looked for among these files.
	repository := gitops.Repository{FS: files, Dir: ".", URLs: []string{"https://none.invalid/none"}}
	nothing := func(context.Context, gitops.Unit, func(fs.FS, []string) bool) (gitops.Rendered, error) {
		return gitops.Rendered{}, nil
	}
	found, err := gitops.Expand(ctx, repository, nothing)
	if err != nil {
		return nil, err
	}
	wrong := found.Warnings // What is not expanded would vanish.
	for i, u := range found.Units {
		u.Warnings = append(u.Warnings, u.Unwritten()...)
		found.Units[i].Warnings = u.Warnings
		found.Units[i].Pos.File = from
		if u.Problem != nil {
			if strings.Contains(u.Problem.Hint, "--local-sources") {
				u.Problem.Hint = "import the folder that it is made of, such as ropewalk import ./deploy"
			}
			wrong = append(wrong, u.Problem)
		}
		for _, e := range u.Warnings {
			e.Pos.File = from
		}
	}
	for _, e := range wrong {
		e.Pos.File = from
		e.Severity = object.SeverityError
	}
	if len(wrong) > 0 {
		return nil, wrong.Sorted()
	}

	// A server that gives no answer does not stop the import: its files are not compared.
	units, err := a.renderUnits(ctx, flags, files, found.Units)
	if err != nil {
		return nil, err
	}
	unseen := ""
	for i, u := range units {
		for _, e := range object.AsErrors(u.Err, object.StageSpec) {
			e.Pos.File = from
		}
		units[i].PullSecret = imports.PullSecret(u.Object, objects)
		switch {
		case u.Err != nil && command.ExitCode(u.Err) == command.Environment:
			unseen = object.AsErrors(u.Err, object.StageResolve)[0].Err.Error()
			units[i].Unseen, units[i].Err = true, nil
		case u.Err != nil:
			wrong = append(wrong, object.AsErrors(u.Err, object.StageSpec)...)
		case units[i].PullSecret != "":
			unseen = "the files are behind the Secret " + units[i].PullSecret
		}
	}
	if len(wrong) > 0 {
		return nil, a.nameSide(ctx, "the source", from, wrong.Sorted())
	}
	out, err := a.importUnits(imports.NewPlan(units), from, dir, func(folder string) string { return folder })
	for i := range out {
		for _, o := range objects {
			out[i].left = append(out[i].left, imports.SourceFields(o, true)...)
		}
		out[i].unseen = unseen
	}
	return out, err
}

// importRepository makes a project of each cluster whose units of Argo CD or Flux are in a folder of
// a repository. It returns nothing for a folder without units.
func (a commands) importRepository(ctx context.Context, flags *command.ProjectFlags, from, dir string) ([]imported, error) {
	// A chart and a kustomization are imported as they are.
	repository, inside, err := checkout.InRepository(from)
	if err != nil || imports.IsBuilt(from) {
		return nil, nil //nolint:nilerr // Outside of a repository there is nothing that engines read.
	}
	files, err := checkout.Open(ctx, repository, "")
	if err != nil {
		return nil, err
	}
	defer files.Close()

	// Find the units, and which files these are made of.
	read := map[string]bool{}
	load := gitops.Renderer(func(ctx context.Context, u gitops.Unit) (host.Loaded, error) {
		return a.LoadUnit(ctx, flags, files, u)
	}, flags.Shared)
	found, err := gitops.Expand(ctx, gitops.Repository{FS: files, Dir: inside}, func(ctx context.Context, u gitops.Unit, wanted func(fs.FS, []string) bool) (gitops.Rendered, error) {
		out, err := load(ctx, u, wanted)
		for _, name := range out.Read {
			read[name] = true
		}
		return out, err
	})
	if err != nil {
		return nil, err
	}
	for i, u := range found.Units {
		found.Units[i].Warnings = append(u.Warnings, u.Unwritten()...)
	}
	loose := imports.Loose(files, found.Units, read)
	releases := !slices.ContainsFunc(found.Units, func(u gitops.Unit) bool { return u.Kind != "HelmRelease" })
	if len(found.Units) == 0 || releases && len(loose) > 0 {
		return nil, nil // These are manifests, maybe with a HelmRelease among them.
	}
	at, ok := checkout.Inside(repository, dir)
	if !ok {
		return nil, command.Usagef("name a folder in it", "the project reads the files of %s where they are, and %s is in another repository", from, dir)
	}

	// Render each unit by itself: one that fails does not stop the others.
	units, err := a.renderUnits(ctx, flags, files, found.Units)
	if err != nil {
		return nil, err
	}
	plan := imports.NewPlan(units)
	plan.Warnings = append(append(plan.Warnings, found.Warnings...), loose...)
	if err := plan.Err(); err != nil {
		return nil, cannotImport(from, err)
	}
	return a.importUnits(plan, from, dir, func(folder string) string { return path.Join(at, folder) })
}

// importUnits returns the projects of a plan.
func (a commands) importUnits(plan *imports.Plan, from, dir string, at func(folder string) string) ([]imported, error) {
	projects, err := plan.Projects(at)
	if err != nil {
		return nil, err
	}
	a.Warn(plan.Warnings.Sorted())
	out := make([]imported, 0, len(projects))
	for _, p := range projects {
		in := imported{
			dir: filepath.Join(dir, filepath.FromSlash(p.Folder)), specs: p.Specs, files: p.Files, left: p.Left, ofUnits: true, replaced: p.Replaced, items: p.Items,
			before: printable.Count(p.Units, "unit") + " of " + from,
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

// renderUnits renders each unit by itself, as a project holds it: without the data of Secrets. The
// error is that of ctx.
func (a commands) renderUnits(ctx context.Context, flags *command.ProjectFlags, files fs.FS, units []gitops.Unit) ([]imports.Unit, error) {
	out := make([]imports.Unit, 0, len(units))
	for _, u := range units {
		made := imports.Unit{Unit: u}
		switch {
		case u.Problem != nil:
			made.Err = u.Problem
		case len(u.Secrets) > 0: // A spec has no place for them.
			made.Err = errors.New("it has values of a Secret of the repository: write them as a reference to a store of secrets before it is imported")
		default:
			made.Items, made.Err = a.renderUnit(ctx, flags, files, u, len(units) > 1)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		out = append(out, made)
	}
	return out, nil
}

// renderUnit returns the objects of a unit, each at the place that it comes from. If the unit is one
// of several, the namespace that it is applied to is written into them, as in its spec.
func (a commands) renderUnit(ctx context.Context, flags *command.ProjectFlags, files fs.FS, u gitops.Unit, several bool) ([]diff.Item, error) {
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
	renderer := render.Renderer{Evaluator: flags.Shared}
	result, err := renderer.Render(ctx, loaded.Request)
	if err != nil {
		// Objects of the engine are no part of the project, and may lack what a schema demands.
		loaded.Request.SkipSchemas = true
		again, wrong := renderer.Render(ctx, loaded.Request)
		if wrong != nil || !imports.OfEngine(object.AsErrors(err, object.StageCheck).Failures(), again.Plan.Graph.Nodes) {
			return nil, err
		}
		result = again
	}
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
	return map[string]string{"namespace": "namespace", "kube-version": "kubeVersion", "cluster-domain": "clusterDomain", "dialect": "engine"}
}

// checkFlags refuses a flag that no field of a project keeps, before anything is read.
func checkFlags(given *pflag.FlagSet) error {
	// These flags change the input, and have no field in a project.
	inputFlags := []string{
		"overrides-file", "override-file", "set", "set-string", "set-json", "set-file", "override-property", "expression", "env", "runtime", "runtime-from-env", "env-file", "var", "var-from-env", "image",
	}
	var refused []string
	var err error
	given.Visit(func(f *pflag.Flag) {
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
func (i *imported) keepFlags(given *pflag.FlagSet) (err error) {
	given.Visit(func(f *pflag.Flag) {
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

// keepValues adds the files of --values to those of the chart. It refuses a file that the project
// may not read.
func (i *imported) keepValues(files []string, dir string) error {
	helm := i.chart()
	if helm == nil || i.root == "" {
		return command.Usagef("write what it has into component.yaml after the import, as helm.values or helm.valuesFiles",
			"--values: an import keeps it of a folder with a chart in the repository of the project only, so nothing was written")
	}
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
