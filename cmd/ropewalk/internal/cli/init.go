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
	"path/filepath"
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
		RunE: a.Run(func(_ context.Context, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return a.runInit(dir)
		}),
	}
}

func (a commands) runInit(dir string) error {
	names, err := copyNew(dir, cue.Template())
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

// copyNew copies the files of from into dir and returns their names in order. A file
// that is there already is an error that names it, and then nothing is written.
func copyNew(dir string, from fs.FS) ([]string, error) {
	var names, taken []string
	err := fs.WalkDir(from, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		names = append(names, name)
		switch _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name))); {
		case err == nil:
			taken = append(taken, name)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		return nil
	})
	if err == nil && len(taken) == 0 {
		err = os.CopyFS(dir, from)
	}
	switch {
	case err != nil:
		return nil, &command.EnvironmentError{Err: err}
	case len(taken) > 0:
		return nil, &command.EnvironmentError{
			Err:  fmt.Errorf("%s has %s already: nothing was written", dir, few(taken)),
			Hint: "name a new directory, such as shop",
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
