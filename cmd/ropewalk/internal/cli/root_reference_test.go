// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
)

// TestTheReferenceOfCommandsIsTheirHelp compares docs/commands with the help of all commands: a page for
// each command at the root, with those below it. ROPEWALK_UPDATE=1 writes it anew.
func TestTheReferenceOfCommandsIsTheirHelp(t *testing.T) {
	const dir = "../../../../docs/commands"
	update := os.Getenv("ROPEWALK_UPDATE") != ""
	want := map[string]string{}
	index := "# Commands\n\n`ropewalk COMMAND --help` prints the same.\n\n| command | |\n|---|---|\n"
	root := commands{command.New(command.Streams{})}.root()
	for _, c := range root.Commands() {
		if !c.IsAvailableCommand() || c.Name() == "completion" {
			continue
		}
		var page strings.Builder
		writeReference(&page, c, "#")
		want[c.Name()+".md"] = page.String()
		index += fmt.Sprintf("| [%s](%s.md) | %s |\n", c.Name(), c.Name(), c.Short)
	}
	want["README.md"] = index
	if update {
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.MkdirAll(dir, 0o755))
		for name, text := range want {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
	}
	there, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, there, len(want), "run ROPEWALK_UPDATE=1 go test ./cmd/ropewalk/internal/cli -run TheReferenceOfCommands")
	for name, text := range want {
		got, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, text, string(got), "%s is stale: run ROPEWALK_UPDATE=1 go test ./cmd/ropewalk/internal/cli -run TheReferenceOfCommands", name)
	}
}

// writeReference writes the help of a command and of all below it, each with a heading.
func writeReference(out *strings.Builder, c *cobra.Command, heading string) {
	var help bytes.Buffer
	c.SetOut(&help)
	c.InitDefaultHelpFlag()
	c.HelpFunc()(c, nil)
	fmt.Fprintf(out, "%s %s\n\n```text\n%s```\n", heading, c.CommandPath(), help.String())
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			out.WriteString("\n")
			writeReference(out, sub, "##")
		}
	}
}
