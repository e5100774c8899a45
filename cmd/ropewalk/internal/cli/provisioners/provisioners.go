// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package provisioners

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/resource"
)

// provisionersHelp says what PATH is.
const provisionersHelp = `
PATH is a project, whose own provisioners are matched first, or the folder of a module
of provisioners (with cue.mod) that no project need know yet. Where there is none it
is the working directory if that is a project, and nothing but what Ropewalk brings
along if not.`

// recipe is a module of provisioners to begin with.
const recipe = `  package platform

  import "ropewalk.dev/schema"

  ropewalk: {apiVersion: "v1alpha1", kind: "Provisioners"}

  #Provisioners: [#Search]

  #Search: schema.#Provisioner & {
  	type:     "elasticsearch"
  	resource: _
  	params: {host: *"search.example.com" | string, ...}
  	outputs: {host: params.host, port: 9200}
  	sensitive: password: {key: "\(resource.id)-search", property: "password"}
  }

Objects that it makes go into the entry too: graph: nodes: NAME: object: {…}.`

// Commands has the subcommands of this package.
type Commands struct{ *command.App }

// Command returns the command provisioners.
func (a Commands) Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "provisioners",
		Short: "List, show and try what makes the resources of workloads",
		Long: `Look at the resources that workloads may request: the provisioners of a project and those that
Ropewalk brings along. The first whose type, class and id match a resource makes it.

To add a type, or to make one in another way, name a CUE module under spec.workloads of
ropewalk.yaml: provisioners: [{name: platform, cueRef: {type: path, ref: ./platform}}].

platform/cue.mod/module.cue:
  module: "example.com/platform"
  language: version: "v0.15.0"

platform/search.cue:
` + recipe,
	}
	cmd.AddCommand(a.provisionersList(), a.provisionersShow(), a.provisionersTest())
	return cmd
}

// provisionersFlags are those of every command that looks at provisioners.
type provisionersFlags struct {
	environment string
	format      command.Choice
	sources     command.SourceFlags
}

func (p *provisionersFlags) add(cmd *cobra.Command) {
	p.format = command.NewChoice("text", "json")
	p.format.Add(cmd, "format", "how to print it")
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&p.environment, "env", "e", "", "environment of the project to lay over it")
	p.sources.Add(cmd)
}

// provisioner is one entry of a catalog with the module that it is in.
type provisioner struct {
	evaluate.Provisioner
	// number is the place of the module, and module its name.
	number int
	module render.Provisioners
}

// title returns how a user names the entry.
func (p provisioner) title() string {
	out := p.Type
	if p.Class != "" {
		out += "/" + p.Class
	}
	if p.ID != "" {
		out += "#" + p.ID
	}
	return out
}

// catalog is what workloads may ask for, in the order of matching.
type catalog struct {
	host.Provisioners
	entries   []provisioner
	evaluator evaluate.Evaluator
	close     func()
}

// types returns the types of the entries, each once.
func (c catalog) types() []string {
	var out []string
	for _, p := range c.entries {
		out = append(out, p.Type)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// openCatalog reads the catalogs of all modules. The caller closes the result if there is no error.
func (a Commands) openCatalog(ctx context.Context, flags *provisionersFlags, opts host.Options) (catalog, error) {
	// Find the modules of the project.
	a.JSON = flags.format.Value == "json"
	h, err := a.Connect(&flags.sources, nil, opts.Args, nil)
	broken, ok := command.Broken(err)
	if !ok {
		return catalog{}, err
	}
	opts.Environment = flags.environment
	found, err := h.Provisioners(ctx, opts)
	a.Texts = found.Texts
	if err != nil {
		return catalog{}, command.WithOptions(command.Together(err, broken))
	}

	// Read the catalog of each module, and the mistakes in all of them.
	limits := command.DefaultLimits()
	evaluator, closer, err := limits.Evaluator()
	if err != nil {
		return catalog{}, err
	}
	out := catalog{Provisioners: found, evaluator: evaluator, close: closer}
	var mistakes object.Errors
	for i, m := range found.Workloads.Provisioners {
		entries, err := evaluate.ListProvisioners(ctx, out.evaluator, evaluate.Subject{
			Spec: m.Name, Pos: m.Pos, Module: m.Module, Context: found.Context,
		})
		if ctx.Err() != nil {
			closer()
			return out, ctx.Err()
		}
		mistakes = append(mistakes, object.AsErrors(err, object.StageEvaluate)...)
		for _, p := range entries {
			out.entries = append(out.entries, provisioner{Provisioner: p, number: i, module: m})
		}
	}

	// Report them with the mistakes of the files that say how to fetch.
	if err := command.Together(mistakes.Sorted().Err(), broken); err != nil {
		closer()
		return out, err
	}
	return out, nil
}

// named returns the entries of a type, and of a class if one is named. An entry for all classes is
// for a named class too.
func (c catalog) named(arg string) ([]provisioner, error) {
	kind, class, _ := strings.Cut(arg, "/")
	var out []provisioner
	var classes []string
	for _, p := range c.entries {
		if p.Type != kind {
			continue
		}
		classes = append(classes, p.Class)
		if class == "" || p.Class == "" || p.Class == class {
			out = append(out, p)
		}
	}
	switch {
	case len(out) > 0:
		return out, nil
	case len(classes) > 0:
		slices.Sort(classes)
		return nil, command.Usagef(object.Suggest(class, classes), "no provisioner of type %q has the class %q; known: %s",
			kind, class, strings.Join(slices.Compact(classes), ", "))
	}
	return nil, command.Usagef(object.DidYouMean(kind, c.types()), "no provisioner makes a resource of type %q; known: %s", kind, strings.Join(c.types(), ", "))
}

// matching returns the entries as a project of workloads takes them.
func (c catalog) matching() []resource.Provisioner {
	out := make([]resource.Provisioner, 0, len(c.entries))
	for _, p := range c.entries {
		out = append(out, resource.Provisioner{Module: p.number, Index: p.Index, Type: p.Type, Class: p.Class, ID: p.ID})
	}
	return out
}
