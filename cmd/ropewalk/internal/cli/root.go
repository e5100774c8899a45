// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/internal/process"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/artifact"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/cluster"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/install"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/module"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/pivot"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/plugin"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/preview"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/provisioners"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/upgrade"
	"github.com/ropewalk/ropewalk/internal/crash"
	"github.com/ropewalk/ropewalk/render/object"
)

// Run runs the command line args, without the name of the program, and returns its exit code. It
// writes to streams only, unless a command is asked to write files. A cancelled ctx ends the run
// with code [Interrupted].
func Run(ctx context.Context, args []string, streams command.Streams) (code int) {
	// A panic is reported like an error, with its stack.
	defer func() {
		if p := recover(); p != nil {
			panicked := crash.Of(p)
			_, _ = fmt.Fprintf(streams.Err, "ropewalk: %v\n%s", panicked, panicked.Stack)
			code = command.Environment
		}
	}()

	// Run the command.
	streams.In = command.Stoppable(ctx, streams.In)
	a := commands{command.New(streams)}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	cmd, err := root.ExecuteContextC(ctx)

	// Report the error once, unless the command has reported it.
	switch {
	case err == nil:
		return command.Good
	case ctx.Err() != nil:
		err = errors.Join(context.Canceled, err)
		a.Note("ropewalk: interrupted\n")
		return command.ExitCode(err)
	case !a.Started:
		err = &command.UsageError{Err: err, Hint: fmt.Sprintf("see \"%s --help\"", cmd.CommandPath())}
	}
	if !errors.Is(err, command.ErrReported) {
		a.Report().Fail(err)
	}
	return command.ExitCode(err)
}

// commands makes the subcommands of this package.
type commands struct{ *command.App }

// root returns the command line with all of its commands.
func (a commands) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "ropewalk",
		Short: "Turn typed specs into ordered, checked Kubernetes manifests",
		Long: `Ropewalk turns typed specs into Kubernetes manifests that a GitOps engine (Argo CD
or Flux) can apply as they are: in order of their dependencies, checked against
the API's own schemas and your policies, and the same bytes on every machine.

` + command.ExitCodes,
		Example: `  ropewalk init shop                         start a project
  ropewalk render shop                       print its manifests
  ropewalk render shop --dialect argocd -o out
  ropewalk graph shop                        show what comes before what
  ropewalk explain api/deployment shop       say why an object is where it is
  ropewalk diff HEAD~1 shop                  say what a commit changes
  ropewalk build shop --to oci://ghcr.io/acme/shop:v1`,
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownCommand(cmd, args[0])
		},
	}

	// Add the commands and the flags that all of them have.
	root.SetFlagErrorFunc(flagError)
	a.addGroups(root)
	version := root.Flags().Bool("version", false, "print the version")
	root.PersistentFlags().BoolVarP(&a.Quiet, "quiet", "q", false, "print no notes and no progress: data, warnings and errors alone")
	root.PersistentFlags().BoolVarP(&a.Verbose, "verbose", "v", false, "say what was read, where it came from, and how long it took")
	help := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *version {
			a.Started = true
			return a.printRelease(process.CurrentRelease(), "text")
		}
		return help(cmd, args)
	}

	// Change the help and the flags of all commands that are there now.
	command.Once(root)
	command.Help(root)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		// A command that only groups others shows its help. The command completion
		// does so too for a shell that it does not know.
		if c.RunE == nil && c.Run == nil {
			c.RunE = func(cmd *cobra.Command, args []string) error {
				if len(args) > 0 && cmd.Name() != "completion" {
					return unknownCommand(cmd, args[0])
				}
				return cmd.Help()
			}
		}
	}
	return root
}

// addGroups adds all commands, in the groups of the help.
func (a commands) addGroups(root *cobra.Command) {
	add := func(id, title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: id, Title: title})
		for _, c := range commands {
			c.GroupID = id
		}
		root.AddCommand(commands...)
	}
	artifacts := artifact.Commands{App: a.App}
	modules := module.Commands{App: a.App}

	add("start", "Start a project:", a.initCommand(), a.importCommand())
	add("render", "Render and review:", a.renderCommand(), a.vetCommand(), a.graphCommand(),
		a.explainCommand(), a.diffCommand(), preview.Commands{App: a.App}.Command())
	add("release", "Release:", artifacts.Build(), artifacts.Deploy(), artifacts.Command(),
		a.lockCommand(), upgrade.Commands{App: a.App}.Command(), a.vendorCommand())
	add("modules", "Modules and schemas:", modules.Show(), modules.Command(),
		provisioners.Commands{App: a.App}.Command(), a.schemaCommand())

	engines := []*cobra.Command{install.Commands{App: a.App}.Command()}
	engines = append(engines, cluster.Commands{App: a.App}.Commands()...)
	engines = append(engines, plugin.Commands{App: a.App}.Command(), pivot.Commands{App: a.App}.Command())
	add("clusters", "Engines and clusters:", engines...)
	root.AddCommand(a.cacheCommand(), a.versionCommand())
}

// elsewhere returns the hint for a command that another tool has: helm, kustomize, kubectl, flux,
// timoni, score-k8s or terraform.
func elsewhere(name string) string {
	switch name {
	case "template", "generate", "export", "eval", "kustomize", "synth", "compile", "hydrate":
		return "\"ropewalk render\" prints the manifests"
	case "describe":
		return "\"ropewalk show\" says what a module takes, and \"ropewalk explain\" why an object is where it is"
	case "ls", "list":
		return "\"ropewalk graph\" lists objects, \"ropewalk provisioners list\" types of resources, \"ropewalk get transforms\" what runs in a cluster, and \"ropewalk cache list\" what is kept here"
	case "lint", "validate", "check", "kubeconform", "test":
		return "\"ropewalk vet\" reports all mistakes, and \"ropewalk module test\" runs the cases of a module"
	case "apply", "upgrade-install", "create", "bootstrap":
		return "Ropewalk leaves that to Argo CD or Flux: \"ropewalk render -o DIR\" writes what they apply, and \"ropewalk deploy\" what points them at an artifact"
	case "delete", "uninstall", "destroy", "prune":
		return "Ropewalk leaves that to Argo CD or Flux; \"ropewalk artifact prune\" deletes old artifacts"
	case "plan", "compare":
		return "\"ropewalk diff BEFORE AFTER\" compares two renders, and \"ropewalk build --plan\" writes a plan"
	case "push", "package", "publish", "pull", "copy", "tag", "sign", "verify", "inspect", "sync", "login":
		return "see \"ropewalk artifact --help\"; \"ropewalk build\" renders and pushes, and logins are those of docker"
	case "dependency", "mod", "get-deps", "update":
		return "\"ropewalk lock\" pins references, \"ropewalk upgrade\" finds newer versions, \"ropewalk vendor\" copies dependencies, and \"ropewalk module\" is for those who write modules"
	case "tree":
		return "\"ropewalk graph\" prints what comes before what, and \"ropewalk get tree\" what a Transform made in a cluster"
	case "trace":
		return "\"ropewalk explain\" says why an object is where it is, and \"ropewalk get trace\" where one of a cluster comes from"
	}
	return ""
}

// flagError describes a mistake in a flag, or in the word before it that is no command: the flag may
// belong to the command that the user meant.
func flagError(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); len(args) > 0 && cmd.HasSubCommands() && cmd.Use == cmd.Name() {
		return unknownCommand(cmd, args[0])
	}
	return command.FlagError(cmd, err)
}

// unknownCommand names the commands that name may have meant.
func unknownCommand(root *cobra.Command, name string) error {
	if hint := elsewhere(name); hint != "" && !root.HasParent() {
		return fmt.Errorf("unknown command %q: %s", name, hint)
	}
	var known []string
	for _, c := range root.Commands() {
		known = append(known, c.Name())
	}
	if hint := object.DidYouMean(name, known); hint != "" {
		return fmt.Errorf("unknown command %q: %s", name, hint)
	}
	return fmt.Errorf("unknown command %q", name)
}
