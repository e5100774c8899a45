// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/source/lock"
)

func (a commands) lockCommand() *cobra.Command {
	var flags command.ProjectFlags
	var check bool
	cmd := &cobra.Command{
		Use:   "lock [PATH]",
		Short: "Resolve module references and write " + lock.Name,
		Long: `Fetch every module of a project, and write the revision and the digest that each reference
resolves to into ` + lock.Name + ` beside the project. Every command uses those from then on;
--locked refuses a module that is not in it, or that resolves to another revision now.

Specs of every environment are covered, because an environment changes no module.
` + command.ProjectHelp + `

` + command.ExitCodes,
		Example: `  ropewalk lock shop            write shop/` + lock.Name + `
  ropewalk lock shop --check    say what would change; exit code 4 where something does`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.Run(func(ctx context.Context, args []string) error { return a.runLock(ctx, &flags, args, check) }),
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing, and say what would change")
	flags.Add(cmd)
	return cmd
}

func (a commands) runLock(ctx context.Context, flags *command.ProjectFlags, paths []string, check bool) error {
	if flags.Sources.Locked || flags.Sources.Offline {
		return command.Usagef("leave --locked and --offline out", "a lock is made from what the servers return now")
	}
	opts, err := flags.Options(a.App, paths)
	if err != nil {
		return err
	}
	record := &lock.Recorder{}
	h, err := a.Connect(&flags.Sources, nil, paths, record)
	broken, ok := command.Broken(err)
	if !ok {
		return err
	}
	evaluator, closer, err := flags.Evaluator()
	if err != nil {
		return err
	}
	defer closer()
	opts.Evaluator = evaluator
	loaded, err := h.Load(ctx, opts)
	a.Texts = loaded.Texts
	if err == nil {
		err = loaded.Request.Mistakes.Err()
	}
	if err = command.Together(err, broken); err != nil {
		return command.WithOptions(err)
	}
	name := command.LockFile(paths)
	old, found, err := command.ReadLock(name)
	if err != nil {
		a.Note("ropewalk: warning: %v; \"ropewalk lock\" writes it anew\n", err)
		old, found = lock.File{}, false
	}
	changes := old.Diff(record.File())
	var b strings.Builder
	for _, c := range changes {
		b.WriteString(printable.Line(c.String()) + "\n")
	}
	if err := a.Print(b.String()); err != nil {
		return err
	}
	switch {
	case found && len(changes) == 0:
		a.Note("%s is up to date\n", name)
		return nil
	case check:
		a.Note("%s is not up to date: run \"ropewalk lock\"\n", name)
		return command.ErrDifferentReported()
	}
	data, err := record.File().Bytes()
	if err != nil {
		return err
	}
	if err := command.WriteFile(name, data); err != nil {
		return err
	}
	a.Note("%s written: %s, %s\n", name, command.Plural(len(record.File().Sources), "source"), command.Plural(len(record.File().Modules), "module"))
	return nil
}
