// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import "github.com/spf13/cobra"

func (a commands) pluginCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugin",
		Short: "Render inside of other tools",
		Long:  `Render inside of other tools, which start these commands: nobody types them.`,
	}
	cmd.AddCommand(a.pluginKRM(), a.pluginArgoCD())
	return cmd
}
