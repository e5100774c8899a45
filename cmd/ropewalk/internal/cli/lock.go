// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/source/lock"
)

func (a *app) lockCommand() *cobra.Command {
	var flags projectFlags
	var check bool
	cmd := &cobra.Command{
		Use:   "lock [PATH]",
		Short: "Write down which revisions the modules lead to",
		Long: `Fetch every module of a project, and write what each reference led to, with its digest,
into ` + lock.Name + ` beside the project. Every command takes the modules from there
from then on; --locked refuses what is not in it, or leads elsewhere now.

Specs of every environment are covered, because an environment changes no module.
` + projectHelp + `

` + exitCodes,
		Example: `  ropewalk lock shop            write shop/` + lock.Name + `
  ropewalk lock shop --check    say what would change; exit code 1 where something does`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.run(func(ctx context.Context, args []string) error { return a.runLock(ctx, &flags, args, check) }),
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing, and say what would change")
	flags.add(cmd)
	return cmd
}

func (a *app) runLock(ctx context.Context, flags *projectFlags, paths []string, check bool) error {
	if flags.sources.locked || flags.sources.offline {
		return usagef("leave --locked and --offline out", "a lock is made of what the servers say now")
	}
	opts, err := flags.options(a, paths)
	if err != nil {
		return err
	}
	record := &lock.Recorder{}
	h, err := a.connect(&flags.sources, "", paths, record)
	if err != nil {
		return err
	}
	loaded, err := load(ctx, h, opts)
	a.texts = loaded.Texts
	if err == nil {
		err = loaded.Request.Mistakes.Err()
	}
	if err != nil {
		return err
	}
	name := lockFile("", paths)
	old, found, err := readLock(name)
	if err != nil {
		a.note("ropewalk: warning: %v; it is written anew\n", err)
		old, found = lock.File{}, false
	}
	changes := old.Diff(record.File())
	var b strings.Builder
	for _, c := range changes {
		b.WriteString(c.String() + "\n")
	}
	if err := a.print(b.String()); err != nil {
		return err
	}
	switch {
	case found && len(changes) == 0:
		a.note("%s is up to date\n", name)
		return nil
	case check:
		a.note("%s is not up to date: run \"ropewalk lock\"\n", name)
		return errDifferentReported()
	}
	data, err := record.File().Bytes()
	if err != nil {
		return err
	}
	if err := writeFile(name, data); err != nil {
		return err
	}
	a.note("%s written: %s, %s\n", name, plural(len(record.File().Sources), "source"), plural(len(record.File().Modules), "module"))
	return nil
}
