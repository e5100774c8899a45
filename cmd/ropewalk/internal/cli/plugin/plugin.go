// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
)

// Commands has the subcommands of this package.
type Commands struct{ *command.App }

// Command returns the command plugin.
func (a Commands) Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugin",
		Short: "Render inside of other tools",
		Long:  `Render inside of other tools, which start these commands.`,
	}
	cmd.AddCommand(a.pluginKRM(), a.ArgoCD())
	return cmd
}
