// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package provisioners

import (
	"context"
	"errors"
	"maps"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// testFlags are those of provisioners test.
type testFlags struct {
	provisionersFlags
	workload, name, id, namespace string
	backend                       command.Choice
	params, paramFiles, config    []string
	crds                          []string
	skipSchemas                   bool
}

func (a Commands) provisionersTest() *cobra.Command {
	var flags testFlags
	cmd := &cobra.Command{
		Use: "test TYPE[/CLASS] [PATH]", Short: "Make a resource as a workload would have it",
		Long: `Make one resource as a workload would have it, and print what comes of it as YAML: its
outputs, the references that its secret outputs are (there are no values), the parts
of the workload, and its objects, checked against the schemas of the API.

The workload is in the namespace of the project and has one port: http, 80, which
leads to 8080. No other workload is known.
` + provisionersHelp + "\n\n" + command.ExitCodes,
		Example: `  ropewalk provisioners test postgres
  ropewalk provisioners test postgres/cnpg --param instances=3 --param storage=20Gi
  ropewalk provisioners test redis --id sessions --backend kubernetes
  ropewalk provisioners test license ./modules/platform --config config.yaml`,
		Args: cobra.RangeArgs(1, 2),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			return a.runTest(ctx, &flags, args)
		}),
	}
	flags.add(cmd)
	flags.backend = command.Choice{Words: []string{spec.BackendExternalSecrets, spec.BackendKubernetes}}
	flags.backend.Add(cmd, "backend", "how secrets reach pods (default that of the project, or external-secrets)")
	f := cmd.Flags()
	f.StringVar(&flags.workload, "workload", "api", "name of the workload that asks")
	f.StringVar(&flags.name, "name", "", "name of the resource in it (default the type)")
	f.StringVar(&flags.id, "id", "", "id of a resource that workloads share")
	f.StringVarP(&flags.namespace, "namespace", "n", "", "namespace of the workload")
	f.StringArrayVar(&flags.params, "param", nil, "`NAME=VALUE` below params; may be repeated")
	f.StringArrayVar(&flags.paramFiles, "params", nil, "`FILE` of YAML or JSON with params; --param wins over it; may be repeated")
	f.StringArrayVar(&flags.config, "config", nil, "`FILE` of YAML or JSON to lay over spec.workloads.config; may be repeated")
	f.StringArrayVar(&flags.crds, "crds", nil, "`DIR` or file of CustomResourceDefinitions to check against; may be repeated")
	f.BoolVar(&flags.skipSchemas, "skip-schemas", false, "do not check objects against the schemas of the API")
	return cmd
}

func (a Commands) runTest(ctx context.Context, flags *testFlags, args []string) error {
	// Read the params and the configuration.
	a.JSON = flags.format.Value == "json"
	params, err := a.values(flags.paramFiles)
	if err != nil {
		return err
	}
	params, err = withParams(params, flags.params)
	if err != nil {
		return err
	}
	config, err := a.values(flags.config)
	if err != nil {
		return err
	}

	// Open the catalog, and keep the texts of both for excerpts.
	read := a.Texts
	c, err := a.openCatalog(ctx, &flags.provisionersFlags, host.Options{
		Args: args[1:], Context: spec.Context{Namespace: flags.namespace},
		CRDs: flags.crds, SkipSchemas: flags.skipSchemas,
	})
	if a.Texts == nil {
		a.Texts = map[string][]byte{}
	}
	maps.Copy(a.Texts, read)
	if err != nil {
		return err
	}
	defer c.close()

	// Refuse a type that no module has.
	if _, err := c.named(args[0]); err != nil {
		return err
	}
	c.Workloads.Config.Config = c.Workloads.Config.Config.Merge(config)
	if flags.backend.Value != "" {
		c.Workloads.Config.Secrets.Backend = flags.backend.Value
	}

	// Make the resource.
	out, err := c.dryRun(ctx, flags.document(args[0], params))
	if err != nil {
		return withParamHints(err)
	}
	return a.Outcome(flags.format.Value, out, out.text())
}

// withParamHints returns err with the flag for each param that is missing.
func withParamHints(err error) error {
	var found object.Errors
	if !errors.As(err, &found) {
		return err
	}
	for _, e := range found {
		_, param, ok := strings.Cut(e.Path, ".params.")
		if ok && e.Hint == "" && strings.HasPrefix(e.Err.Error(), "is missing") {
			e.Hint = "write --param " + param + "=VALUE"
		}
	}
	return err
}

// values reads files of values, the later over the earlier.
func (a Commands) values(files []string) (out object.Value, err error) {
	for _, name := range files {
		data, err := os.ReadFile(name) //nolint:gosec // the user names it
		if err != nil {
			return out, &command.EnvironmentError{Err: err}
		}
		if a.Texts == nil {
			a.Texts = map[string][]byte{}
		}
		a.Texts[name] = data
		v, err := spec.ParseValue(spec.File{Name: name, Data: data})
		if err != nil {
			return out, err
		}
		out = out.Merge(v)
	}
	return out, nil
}

// withParams lays the arguments of --param over params.
func withParams(params object.Value, args []string) (object.Value, error) {
	if params.Kind == object.KindNone {
		params.Kind = object.KindMap
	}
	for _, arg := range args {
		set, err := spec.ParseSet(arg)
		if err != nil || set.Spec != "" {
			return params, command.Usagef("write NAME=VALUE, such as storage=20Gi", "--param: expected NAME=VALUE")
		}
		set.Pos.File = "--param " + arg
		set.Value = placed(set.Value, set.Pos)
		params, err = set.Over(params)
		if err != nil {
			return params, err
		}
	}
	return params, nil
}

// placed returns v with every part at pos.
func placed(v object.Value, pos object.Pos) object.Value {
	v.Pos = pos
	for i := range v.Members {
		v.Members[i].Pos = pos
		v.Members[i].Value = placed(v.Members[i].Value, pos)
	}
	for i := range v.Items {
		v.Items[i] = placed(v.Items[i], pos)
	}
	return v
}

// document returns a workload that requests the one resource.
func (t *testFlags) document(asked string, params object.Value) object.Value {
	kind, class, _ := strings.Cut(asked, "/")
	resource := []object.Member{textMember("type", kind, asked)}
	if class != "" {
		resource = append(resource, textMember("class", class, asked))
	}
	if t.id != "" {
		resource = append(resource, textMember("id", t.id, "--id "+t.id))
	}
	resource = append(resource, object.Member{Name: "params", Pos: params.Pos, Value: params})
	number := func(name, n string) object.Member {
		return object.Member{Name: name, Value: object.Value{Kind: object.KindNumber, Text: n}}
	}
	name := t.name
	if name == "" {
		name = strings.ToLower(kind)
	}
	main := mapMember("main", textMember("image", "registry.invalid/none", ""))
	http := mapMember("http", number("port", "80"), number("targetPort", "8080"))
	one := mapMember(name, resource...)
	one.Pos = object.Pos{File: asked}
	if t.name != "" {
		one.Pos.File = "--name " + name
	}
	return mapMember("",
		textMember("apiVersion", "ropewalk.dev/v1alpha1", ""), textMember("kind", "Workload", ""),
		mapMember("metadata", textMember("name", t.workload, "--workload "+t.workload)),
		mapMember("spec", mapMember("containers", main), mapMember("service", mapMember("ports", http)), mapMember("resources", one)),
	).Value
}

func mapMember(name string, members ...object.Member) object.Member {
	return object.Member{Name: name, Value: object.Value{Kind: object.KindMap, Members: members}}
}

// textMember returns a member with a text that the user wrote in an argument.
func textMember(name, text, arg string) object.Member {
	pos := object.Pos{File: arg}
	return object.Member{Name: name, Pos: pos, Value: object.Value{Kind: object.KindString, Pos: pos, Text: text}}
}
