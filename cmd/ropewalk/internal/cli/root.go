// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/render/object"
)

// app is one run of the command line.
type app struct {
	Streams
	paint paint
	// started is set when a command begins its work: what fails before is a
	// mistake on the command line.
	started bool
	// json asks for errors as data.
	json bool
	// texts is what was read as documents, for excerpts.
	texts map[string][]byte
	// listen has signals cancel the run from now on; it may be called often.
	listen func()
}

// Run runs the command line args, without the name of the program, and gives
// its exit code. It writes to streams only, except where a command is asked to
// write files. A cancelled ctx ends the run with code [Interrupted].
func Run(ctx context.Context, args []string, streams Streams) int {
	return run(ctx, args, streams, func() {})
}

// run is Run with what has signals cancel ctx, for who starts processes before
// that happens by itself.
func run(ctx context.Context, args []string, streams Streams, listen func()) int {
	streams.In = stoppable(ctx, streams.In)
	a := &app{Streams: streams, paint: paint{on: streams.Color}, listen: listen}
	root := a.root(args)
	root.SetArgs(args)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return Good
	case ctx.Err() != nil:
		err = errors.Join(context.Canceled, err)
		a.note("ropewalk: interrupted\n")
		return exitCode(err)
	case !a.started:
		err = &usageError{err: err, hint: fmt.Sprintf("see \"%s --help\"", cmd.CommandPath())}
	}
	if !errors.Is(err, errReported) {
		a.report().fail(err)
	}
	return exitCode(err)
}

// errReported marks errors that the command has written already, as data.
var errReported = errors.New("reported")

// report writes to the stream of diagnostics.
func (a *app) report() report {
	return report{out: a.Err, paint: a.paint, json: a.json, read: fileReader(a.texts)}
}

// findings writes mistakes as the data of a command.
func (a *app) findings(out report, found object.Errors) error {
	var b bytes.Buffer
	out.out = &b
	out.mistakes(found)
	return a.write(b.Bytes())
}

// note writes to the stream of diagnostics; where that is closed there is
// nobody to tell.
func (a *app) note(format string, args ...any) { _, _ = fmt.Fprintf(a.Err, format, args...) }

// warn writes warnings to the stream of diagnostics.
func (a *app) warn(warnings object.Errors) {
	if len(warnings) > 0 {
		a.report().mistakes(warnings)
	}
}

// run makes a command's work from do.
func (a *app) run(do func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.started = true
		return do(cmd.Context(), args)
	}
}

// commands are the subcommands, in the order in which help lists them, by name.
func (a *app) commands() []command {
	return []command{
		{"render", a.renderCommand}, {"vet", a.vetCommand}, {"graph", a.graphCommand}, {"explain", a.explainCommand},
		{"diff", a.diffCommand}, {"build", a.buildCommand}, {"artifact", a.artifactCommand}, {"lock", a.lockCommand},
		{"vendor", a.vendorCommand}, {"provisioners", a.provisionersCommand}, {"plugin", a.pluginCommand}, {"cache", a.cacheCommand}, {"init", a.initCommand}, {"version", a.versionCommand},
	}
}

// command makes a subcommand.
type command struct {
	name string
	make func() *cobra.Command
}

// addCommands adds the subcommand that args call, or all where they call none of
// them: to make the flags of all of them costs a small render a thirtieth of
// its time.
func (a *app) addCommands(root *cobra.Command, args []string) {
	all := a.commands()
	for _, c := range all {
		if len(args) > 0 && args[0] == c.name {
			root.AddCommand(c.make())
			return
		}
	}
	for _, c := range all {
		root.AddCommand(c.make())
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
}

// root is the command with what args call below it.
func (a *app) root(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "ropewalk",
		Short: "Turn typed specs into ordered, checked Kubernetes manifests",
		Long: `Ropewalk turns typed specs into Kubernetes manifests that a GitOps engine (Argo CD
or Flux) can apply as they are: in order of their dependencies, checked against
the API's own schemas and your policies, and the same bytes on every machine.

` + exitCodes,
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
	root.SetFlagErrorFunc(flagError)
	a.addCommands(root, args)
	for _, c := range root.Commands() {
		// A command that does nothing by itself shows its help whatever follows
		// it, also a shell that there is no completion for.
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

// unknownCommand names the commands that name may have meant.
func unknownCommand(root *cobra.Command, name string) error {
	var known []string
	for _, c := range root.Commands() {
		known = append(known, c.Name())
	}
	if near, ok := object.Nearest(name, known); ok {
		return fmt.Errorf("unknown command %q: did you mean %q?", name, near)
	}
	return fmt.Errorf("unknown command %q", name)
}
