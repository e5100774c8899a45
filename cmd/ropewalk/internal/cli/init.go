// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cue"
)

func (a commands) initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Start a project that renders at once",
		Long: `Write a project into DIR, the working directory where there is none: a spec that uses
a built-in module, and a module of your own with the schema vendored, so that an
editor and "cue vet" know it. Files that exist are never overwritten: then nothing is
written at all.`,
		Example: `  ropewalk init shop
  ropewalk render shop`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return a.runInit(ctx, dir)
		}),
	}
}

func (a commands) runInit(ctx context.Context, dir string) error {
	names, err := copyNew(ctx, dir, cue.Template())
	if err != nil {
		return err
	}
	var created strings.Builder
	for _, name := range names {
		created.WriteString(path.Join(dir, name) + "\n")
	}
	if err := a.Print(created.String()); err != nil {
		return err
	}
	a.Note(`
A project is in %[1]s. Next:
  ropewalk render %[1]s           print its manifests
  ropewalk graph %[1]s            see what comes before what
  ropewalk render %[1]s -o out    write them to files
`, dir)
	return nil
}

// copyNew copies the files of from into dir, all or none, and gives their
// names in order. A file that is there already is an error that names it.
func copyNew(ctx context.Context, dir string, from fs.FS) (names []string, err error) {
	//nolint:gosec // Projects are read by others of the team.
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, &command.EnvironmentError{Err: err}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, &command.EnvironmentError{Err: err}
	}
	defer root.Close() //nolint:errcheck // It is only read from.
	names, taken, err := survey(root, from)
	if err != nil {
		return nil, &command.EnvironmentError{Err: err}
	}
	if len(taken) > 0 {
		return nil, &command.EnvironmentError{
			Err:  fmt.Errorf("%s has %s already: nothing was written", dir, few(taken)),
			Hint: "name a new directory, such as \"ropewalk init shop\"",
		}
	}
	for i, name := range names {
		err := ctx.Err()
		if err == nil {
			err = copyFile(root, from, name)
		}
		if err != nil {
			for _, written := range names[:i] {
				err = errors.Join(err, root.Remove(written))
			}
			return nil, &command.EnvironmentError{Err: err}
		}
	}
	return names, nil
}

// few is the first names of a list, and how many more there are.
func few(names []string) string {
	const most = 3
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

// survey lists the files of from, and which of them root has already.
func survey(root *os.Root, from fs.FS) (names, taken []string, err error) {
	err = fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		names = append(names, name)
		switch _, err := root.Lstat(name); {
		case err == nil:
			taken = append(taken, name)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		return nil
	})
	return names, taken, err
}

// copyFile writes the file called name into root, where there is none.
func copyFile(root *os.Root, from fs.FS, name string) error {
	data, err := fs.ReadFile(from, name)
	if err != nil {
		return err
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
