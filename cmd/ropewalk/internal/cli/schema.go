// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/plugin/host/schemas"
	"github.com/ropewalk/ropewalk/render/object"
)

func (a commands) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [KIND]",
		Short: "Print the JSON Schema of a kind, for editors",
		Long: `Print the JSON Schema of a kind of document: ` + strings.Join(schemas.Kinds(), ", ") + `.
Without KIND, print their names.

An editor with the YAML language server checks and completes a document that begins with

  # yaml-language-server: $schema=workload.json

where workload.json is what this command has printed. The schema knows fields and
types; "ropewalk vet" checks all of a document.

` + command.ExitCodes,
		Example: `  ropewalk schema Workload > workload.json`,
		Args:    cobra.MaximumNArgs(1),
		RunE: a.Run(func(_ context.Context, args []string) error {
			if len(args) == 0 {
				return a.Print(strings.Join(schemas.Kinds(), "\n") + "\n")
			}
			data, err := schemas.Of(args[0])
			if err != nil {
				return command.Usagef(object.Suggest(args[0], schemas.Kinds()), "%v", err)
			}
			return a.Print(string(data))
		}),
		ValidArgs: schemas.Kinds(),
	}
}
