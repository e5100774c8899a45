// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/internal/memfs"
	"github.com/ropewalk/ropewalk/plugin/host/project"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

func (a commands) initCommand() *cobra.Command {
	var engine command.Choice
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Start a project that renders at once",
		Long: `Write a project into DIR, the working directory where there is none: a spec that uses
a built-in module, and a module of your own with the schema vendored, so that an
editor and "cue vet" know it. Files that exist are never overwritten: then nothing is
written at all.`,
		Example: `  ropewalk init shop
  ropewalk render shop
  ropewalk init shop --dialect flux`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.Run(func(_ context.Context, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return a.runInit(dir, engine.Value)
		}),
	}
	engine = command.Choice{Words: dialect.Names()}
	engine.Add(cmd, "dialect", "engine of the project, for all commands in it (default plain)")
	return cmd
}

func (a commands) runInit(dir, engine string) error {
	// Write the files.
	name, fullPath, err := projectName(dir)
	if err != nil {
		return err
	}
	files, err := ownTemplate(name, engine)
	if err != nil {
		return err
	}
	names, err := command.CopyNew(dir, files)
	if err != nil {
		return err
	}

	// Print their names as data, and the next commands as a note.
	var created strings.Builder
	for _, name := range names {
		created.WriteString(path.Join(dir, name) + "\n")
	}
	if err := a.Print(created.String()); err != nil {
		return err
	}
	shown := dir
	if strings.ContainsAny(dir, " !$&()*;<>?[]`|~\"'") {
		shown = strconv.Quote(dir)
	}
	a.Note(`
The project %[2]s is in %[3]s. Next:
  ropewalk render %[1]s           print its manifests
  ropewalk graph %[1]s            see what comes before what
  ropewalk render %[1]s -o out    write them to files
`, shown, name, fullPath)
	return nil
}

// defaultName is the name of a project in a folder whose name is no DNS label.
const defaultName = "demo"

// projectName returns the name of a project in dir, which is the name of the folder, and the absolute
// path of dir.
func projectName(dir string) (name, fullPath string, err error) {
	fullPath, err = filepath.Abs(dir)
	if err != nil {
		return "", "", &command.EnvironmentError{Err: err}
	}
	name = object.Label(filepath.Base(fullPath))
	if spec.CheckName(name) != nil {
		name = defaultName
	}
	return name, fullPath, nil
}

// ownTemplate returns the template of a project as files of its user: they have the name of the
// project and its engine, and no licence. The schema in cue.mod stays ours.
func ownTemplate(name, engine string) (fs.FS, error) {
	out := map[string][]byte{}
	template := cue.Template()
	err := fs.WalkDir(template, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(template, file)
		if err != nil {
			return err
		}
		if !strings.Contains(file, "cue.mod/pkg/") {
			data = command.WithoutLicence(data)
		}
		if file == "ropewalk.yaml" {
			data = bytes.Replace(data, []byte("  name: "+defaultName), []byte("  name: "+name), 1)
			if engine != "" {
				data = bytes.Replace(data, []byte("  context:\n"), []byte("  context:\n    engine: "+engine+"\n"), 1)
			}
		}
		out[file] = data
		return nil
	})
	if err != nil {
		return nil, err
	}
	return memfs.New(out)
}

// nameOfFolder returns the name of a component in dir.
func nameOfFolder(dir string) string {
	full, err := filepath.Abs(dir)
	if err != nil {
		full = dir
	}
	return project.Label(filepath.Base(full))
}
