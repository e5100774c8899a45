// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/internal/process"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/module/starter"
	"github.com/ropewalk/ropewalk/internal/memfs"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/inprocess"
)

func (a Commands) init() *cobra.Command {
	kind := command.NewChoice(starter.Kinds()...)
	name := ""
	cmd := &cobra.Command{
		Use: "init [DIR]", Short: "Start a module that renders, and passes vet and test",
		Long: `Write a module into DIR, the working directory where there is none: its package, its
cases, a README of what it takes, and files for GitHub, GitLab and Tekton that check it at
each change and publish it at a tag. The schema is vendored, so that an editor and
"cue vet" know it with no registry. Files that exist are never overwritten: then nothing is
written at all.

  webservice   a Deployment with a Service, an Ingress and a ConfigMap
  workload     a Deployment, or a CronJob
  provisioner  resources that workloads ask for, with outputs and references to secrets
  policy       rules for the objects of others
  timoni       a module that timoni takes too

` + command.ExitCodes,
		Example: `  ropewalk module init web
  ropewalk module init --from policy --name acme.example/policies/labels@v0
  cd web && ropewalk module vet && ropewalk module test`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			return a.runInit(ctx, kind.Value, name, argument(args))
		}),
	}
	kind.Add(cmd, "from", "what to start from")
	cmd.Flags().StringVar(&name, "name", "", "`PATH@vN` of the module (default example.com/ and the name of the folder, @v0)")
	return cmd
}

func (a Commands) runInit(ctx context.Context, kind, named, dir string) error {
	// The name of the folder is the name of the module, unless --name gives another name.
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return &command.EnvironmentError{Err: err}
	}
	name := starter.Default(filepath.Base(absolute))
	if named != "" {
		name, err = starter.ParseName(named)
		if err != nil {
			return command.Usagef("write a name such as acme.example/web@v0", "--name: %s", err)
		}
	}

	// Write the files, and refuse to replace a file.
	version := process.CurrentRelease().Version
	if !strings.HasPrefix(version, "v") {
		version = "latest"
	}
	files, err := starter.Files(kind, name, version)
	if err != nil {
		return err
	}
	files["README.md"], err = readme(ctx, kind, name, files)
	if err != nil {
		return err
	}
	tree, err := memfs.New(files)
	if err != nil {
		return err
	}
	names, err := command.CopyNew(dir, tree)
	if err != nil {
		return err
	}

	// Print their names as data, and the next commands as a note.
	var created strings.Builder
	for _, name := range names {
		created.WriteString(path.Join(filepath.ToSlash(dir), name) + "\n")
	}
	if err := a.Print(created.String()); err != nil {
		return err
	}
	a.Note(`
The module %[2]s is in %[1]s. Next:
  ropewalk module test %[1]s --coverage   render its cases, and see what they leave out
  ropewalk module vet %[1]s               check how it is written, and what it makes
  ropewalk show %[1]s                     see what it takes
`, dir, name.String())
	return nil
}

// readme returns the README of a module that consists of files.
func readme(ctx context.Context, kind string, name starter.Name, files map[string][]byte) ([]byte, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\nA module of Ropewalk, `%s`.\n", path.Base(name.Path), name)
	if kind != "provisioner" {
		tree, err := memfs.New(files)
		if err != nil {
			return nil, err
		}
		inspection, err := evaluate.Inspect(ctx, inprocess.New(process.EvaluateOptions()), evaluate.Subject{
			Spec: "module", Module: evaluate.Module{FS: tree},
		}, nil)
		if err != nil {
			return nil, err
		}
		b.WriteString("\n## Inputs\n\n" + inputTable(inspection.Inputs))
	}
	b.WriteString(`
## Work on it

    ropewalk module test --coverage    # render the cases of test/, see what they leave out
    ropewalk module vet                # check how it is written, and what it makes
    cue vet -c=false ./...             # the same schema in an editor: it is in cue.mod/pkg

The files in .github, .gitlab-ci.yml and .tekton run this at every change, and publish the
module at a tag such as v0.1.0. Keep those of the system that you use.
`)
	return []byte(b.String()), nil
}

// inputTable returns the inputs of a module as a table of Markdown.
func inputTable(inputs []evaluate.Input) string {
	cell := func(text string) string { return strings.ReplaceAll(command.OneLine(text), "|", `\|`) }
	code := func(text string) string {
		if text == "" {
			return ""
		}
		return "`" + cell(text) + "`"
	}
	var b strings.Builder
	b.WriteString("| input | type | default | |\n|---|---|---|---|\n")
	for _, in := range inputs {
		fallback := code(in.Default)
		if in.Required {
			fallback = "required"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", in.Path, cell(cmp.Or(in.Expected, "anything")), fallback, cell(in.Doc))
	}
	return b.String()
}
