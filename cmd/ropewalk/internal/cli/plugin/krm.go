// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/plugin/krm"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source/cache"
)

// krmFlags are those of plugin krm.
type krmFlags struct {
	command.ProjectFlags
	network bool
}

func (a Commands) pluginKRM() *cobra.Command {
	var flags krmFlags
	cmd := &cobra.Command{
		Use:   "krm",
		Short: "Render as a KRM function, for kustomize and kpt",
		Long: `Render as a KRM function: a ResourceList on standard input, the same list with the
rendered objects on standard output.

functionConfig is a Transform or a Workload, or a Project whose specs are the
Transforms and Workloads among the items and the files that its spec.specs names.
ConfigMaps among the items can be modules. Annotations of functionConfig set what
has no field and no flag: ropewalk.dev/dialect,
ropewalk.dev/environment, ropewalk.dev/kube-version, ropewalk.dev/allow-empty.

Items of others stay as they are. Rendered objects are marked with the annotation
ropewalk.dev/rendered-by: what an earlier run left is replaced, or removed where it
is not rendered any more. Mistakes and warnings are the results of the list, and
text on standard error; the items are then as they were.

Paths of modules and files begin in the working directory, which for kustomize is
that of the kustomization. Without --allow-network nothing is fetched: a module from
Git or a registry must be in the cache.

Exit codes:
  0    good
  1    mistakes, or no ResourceList
  2    usage: a mistake on the command line
  3    environment: standard input or output failed
  130  interrupted`,
		Example: `  # in a kustomization: "generators: [web.yaml]", run by
  # kustomize build --enable-alpha-plugins --enable-exec
  apiVersion: ropewalk.dev/v1alpha1
  kind: Transform
  metadata:
    name: web
    annotations:
      config.kubernetes.io/function: |
        exec: {path: ropewalk, args: [plugin, krm]}
  spec:
    cueRef: {type: embedded, ref: webservice}
    input: {image: "ghcr.io/stefanprodan/podinfo:6.9.2", ports: {http: {port: 9898}}}`,
		Args: cobra.NoArgs,
		RunE: a.Run(func(ctx context.Context, _ []string) error { return a.runKRM(ctx, &flags) }),
	}
	flags.Add(cmd)
	_ = cmd.Flags().MarkHidden("name") // functionConfig has a name
	cmd.Flags().BoolVar(&flags.network, "allow-network", false, "fetch modules from Git and registries")
	return cmd
}

func (a Commands) runKRM(ctx context.Context, flags *krmFlags) error {
	// A function fetches nothing unless --allow-network is given.
	opts, err := flags.Options(a.App, nil)
	if err != nil {
		return err
	}
	flags.Sources.Offline = flags.Sources.Offline || !flags.network
	h, err := a.Connect(&flags.Sources, nil, []string{"-"}, nil)
	broken, ok := command.Broken(err)
	if !ok {
		return err
	}

	// Run the function.
	evaluator, closer, err := flags.Evaluator()
	if err != nil {
		return err
	}
	defer closer()
	out, err := krm.Function{
		Host: h, Options: opts, Evaluator: evaluator, Strict: flags.Strict, Parallel: flags.Parallel(), Hint: flags.hint,
		Complete: func(found object.Errors) object.Errors { return command.WithBroken(found, broken) },
	}.Run(ctx, a.In)
	if ctx.Err() != nil {
		return err
	}

	// Write the list with its results, also after mistakes.
	if writeErr := a.Write(out.List); writeErr != nil {
		return writeErr
	}
	var found object.Errors
	if errors.As(err, &found) {
		// One code for all of them: orchestrators read the results.
		a.Report().Mistakes(found)
		return command.ErrFoundReported()
	}
	a.Warn(out.Warnings)
	return err
}

// hint returns the option that may help against an error of fetching.
func (f *krmFlags) hint(err error) string {
	if errors.Is(err, cache.ErrOffline) && !f.network {
		return "a function fetches nothing by default: add --allow-network to its args"
	}
	return command.OptionFor(err)
}
