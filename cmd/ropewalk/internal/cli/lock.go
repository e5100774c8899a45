// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/host/images"
	"github.com/ropewalk/ropewalk/source/lock"
)

// lockFlags are the flags of lock.
type lockFlags struct {
	command.ProjectFlags
	check bool
	// images says that the lock gets images. imagesSet says that the user gave the flag: without it,
	// a lock keeps images if it has them.
	images, imagesSet bool
}

func (a commands) lockCommand() *cobra.Command {
	var flags lockFlags
	cmd := &cobra.Command{
		Use:   "lock [PATH]",
		Short: "Resolve module references and write " + lock.Name,
		Long: `Fetch every module of a project, and write the revision and the digest that each reference
resolves to into ` + lock.Name + ` beside the project. Every command uses those from then on;
--locked refuses a module that is not in it, or that resolves to another revision now.

Specs of every environment are covered, because an environment changes no module.

--images renders the project in every environment too, and writes the digest that each
container image leads to now, as its registry says: one request for each, none for an
image with a digest. A lock with images keeps them: lock writes them anew, and lock
--check compares them. They are a record, and a check for CI: no render and no other
command uses them, and what pins an image is its digest in the spec. An image that its
registry does not have is a finding (exit code 1). Credentials are those of docker (docker
login).
` + command.ProjectHelp + `

` + command.ExitCodes,
		Example: `  ropewalk lock shop            write shop/` + lock.Name + `
  ropewalk lock shop --check    say what would change; exit code 4 where something does
  ropewalk lock shop --images   write the digests of images too`,
		Args: cobra.MaximumNArgs(1),
	}
	cmd.RunE = a.Run(func(ctx context.Context, args []string) error {
		flags.imagesSet = cmd.Flags().Changed("images")
		return a.runLock(ctx, &flags, args)
	})
	cmd.Flags().BoolVar(&flags.check, "check", false, "write nothing, and say what would change")
	cmd.Flags().BoolVar(&flags.images, "images", false, "lock the images that every environment runs too (default where the lock has them);\n--images=false leaves them out, and out of --check")
	flags.Add(cmd)
	return cmd
}

func (a commands) runLock(ctx context.Context, flags *lockFlags, paths []string) error {
	// A lock is made of answers of servers alone.
	if flags.Sources.Locked || flags.Sources.Offline {
		return command.Usagef("leave --locked and --offline out", "a lock is made from what the servers return now")
	}
	evaluator, closer, err := flags.Evaluator()
	if err != nil {
		return err
	}
	defer closer()
	flags.Shared = evaluator

	// Resolve the modules.
	next, err := a.lockModules(ctx, &flags.ProjectFlags, paths)
	if err != nil {
		return err
	}

	// Compare with the lock on disk, with its images if it has them.
	name := command.LockFile(paths)
	old, found, err := command.ReadLock(name)
	if err != nil {
		a.Note("ropewalk: warning: %v; \"ropewalk lock\" writes it anew, with images where --images is given\n", err)
		old, found = lock.File{}, false
	}
	keepsImages := !flags.imagesSet && old.Images != nil
	switch {
	case flags.images || keepsImages:
		next.Images, err = a.lockImages(ctx, flags.ProjectFlags, paths, next)
		if err != nil {
			return err
		}
	case flags.check:
		next.Images = old.Images // They are not compared.
	}

	// Print the changes as data.
	var b strings.Builder
	for _, c := range old.Diff(next) {
		b.WriteString(printable.Line(c.String()) + "\n")
	}
	if err := a.Print(b.String()); err != nil {
		return err
	}
	switch {
	case found && old.Equal(next):
		a.Note("%s is up to date\n", name)
		return nil
	case flags.check:
		a.Note("%s is not up to date: run \"ropewalk lock\"\n", name)
		return command.ErrDifferentReported()
	}

	// Write the lock.
	data, err := next.Bytes()
	if err != nil {
		return err
	}
	if err := command.WriteFile(name, data); err != nil {
		return err
	}
	written := printable.Count(len(next.Sources), "source") + ", " + printable.Count(len(next.Modules), "module")
	if next.Images != nil {
		written += ", " + printable.Count(len(next.Images), "image")
	}
	a.Note("%s written: %s\n", name, written)
	return nil
}

// lockModules returns the lock of the references of a project. Standard input can be read again.
func (a commands) lockModules(ctx context.Context, flags *command.ProjectFlags, paths []string) (lock.File, error) {
	opts, err := flags.Options(a.App, paths)
	if err != nil {
		return lock.File{}, err
	}
	var input bytes.Buffer
	opts.Stdin = io.TeeReader(a.In, &input)
	opts.Evaluator = flags.Shared
	defer func() { a.In = &input }()
	record := &lock.Recorder{}
	h, err := a.Connect(&flags.Sources, nil, paths, record)
	broken, ok := command.Broken(err)
	if !ok {
		return lock.File{}, err
	}
	loaded, err := h.Load(ctx, opts)
	a.Texts = loaded.Texts
	if err == nil {
		err = loaded.Request.Mistakes.Err()
	}
	return record.File(), command.WithOptions(command.Together(err, broken))
}

// lockImages returns the images of a project in all of its environments, rendered with the modules
// of a lock.
func (a commands) lockImages(ctx context.Context, flags command.ProjectFlags, paths []string, modules lock.File) ([]lock.Image, error) {
	registries, err := flags.Sources.Registries()
	if err != nil {
		return nil, err
	}
	used := images.Used{}
	flags.Environment = ""
	flags.AllowEmpty = true
	flags.Sources.Lock = &modules
	v := vetted{commands: a, flags: &flags, paths: paths, onRender: func(environment string, r command.Rendered) {
		used.Add(environment, r.Plan.Graph.Nodes)
	}}
	found, _, err := v.checkAll(ctx)
	if err == nil {
		err = found.Err()
	}
	if err != nil {
		return nil, err
	}
	out, err := used.Resolve(ctx, registries)
	return out, command.WithOptions(err)
}
