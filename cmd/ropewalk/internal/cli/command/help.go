// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagGroup is the annotation of a flag with the heading that it stands below in help.
const flagGroup = "ropewalk.dev/group"

// The headings of flags that several commands share. Flags without one are the command's
// own, and come first.
const (
	groupInputs  = "Inputs"
	groupRender  = "Target and checks"
	groupLimits  = "Limits of an evaluation"
	groupSources = "Where modules come from"
)

// group puts flags below a heading.
func group(f *pflag.FlagSet, heading string, names ...string) {
	for _, name := range names {
		_ = f.SetAnnotation(name, flagGroup, []string{heading}) // fails only for a flag that does not exist
	}
}

// usual lists the flags that -h prints beside the own flags of a command.
var usual = []string{"env", "values", "set", "namespace", "dialect"} //nolint:gochecknoglobals // a constant

// Help makes cmd, and all commands below it, print their help with examples first and with
// flags below headings. As in git and ripgrep -h is the short form of --help.
func Help(cmd *cobra.Command) {
	cmd.SetHelpFunc(func(c *cobra.Command, args []string) {
		out := c.OutOrStdout()
		_, _ = fmt.Fprintf(out, "%s\n\n", c.Short)
		writeExamples(out, c)
		writeUsageLine(out, c)
		if slices.Contains(args, "-h") && !c.HasAvailableSubCommands() {
			writeShort(out, c)
			return
		}
		if c.Long != "" {
			_, _ = fmt.Fprintf(out, "%s\n\n", strings.TrimSpace(c.Long))
		}
		writeCommands(out, c)
		writeFlags(out, c)
	})
	cmd.SetUsageFunc(func(c *cobra.Command) error {
		writeUsageLine(c.OutOrStderr(), c)
		return nil
	})
}

func writeExamples(out io.Writer, c *cobra.Command) {
	if c.Example != "" {
		_, _ = fmt.Fprintf(out, "Examples:\n%s\n\n", strings.TrimRight(c.Example, "\n"))
	}
}

func writeUsageLine(out io.Writer, c *cobra.Command) {
	lines := []string{c.UseLine()}
	if c.HasAvailableSubCommands() {
		lines = append(lines, c.CommandPath()+" COMMAND [flags]")
		if c.Use == c.Name() {
			lines = lines[1:]
		}
	}
	_, _ = fmt.Fprintf(out, "Usage:\n  %s\n\n", strings.Join(lines, "\n  "))
}

// writeCommands lists the commands below c, by group.
func writeCommands(out io.Writer, c *cobra.Command) {
	groups := append([]*cobra.Group{}, c.Groups()...)
	rest := "Commands:"
	if len(groups) > 0 {
		rest = "Other commands:"
	}
	groups = append(groups, &cobra.Group{Title: rest})
	width := 0
	for _, sub := range c.Commands() {
		width = max(width, len(sub.Name()))
	}
	for _, g := range groups {
		var lines strings.Builder
		for _, sub := range c.Commands() {
			if sub.GroupID == g.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
				fmt.Fprintf(&lines, "  %-*s  %s\n", width, sub.Name(), sub.Short)
			}
		}
		if lines.Len() > 0 {
			_, _ = fmt.Fprintf(out, "%s\n%s\n", g.Title, lines.String())
		}
	}
	if c.HasAvailableSubCommands() {
		_, _ = fmt.Fprintf(out, "\"%s COMMAND --help\" describes a command.\n", c.CommandPath())
	}
}

// writeFlags lists the flags of c, its own flags first. A group of commands whose only flag is --help
// lists no flags.
func writeFlags(out io.Writer, c *cobra.Command) {
	// A group without flags of its own lists no flags.
	flags := 0
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" && c.InheritedFlags().Lookup(f.Name) == nil {
			flags++
		}
	})
	if flags == 0 && c.HasAvailableSubCommands() {
		return
	}
	if c.HasAvailableSubCommands() {
		_, _ = fmt.Fprintln(out)
	}

	// Sort the flags into their groups, and keep the order of the flags.
	var headings []string
	sets := map[string]*pflag.FlagSet{}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if c.InheritedFlags().Lookup(f.Name) != nil {
			return
		}
		heading := "Flags"
		if given := f.Annotations[flagGroup]; len(given) > 0 {
			heading = given[0]
		}
		if sets[heading] == nil {
			sets[heading] = &pflag.FlagSet{SortFlags: false}
			headings = append(headings, heading)
		}
		sets[heading].AddFlag(f)
	})

	// Print the groups, and name those flags that every command has.
	slices.SortStableFunc(headings, func(a, b string) int { return rank(a) - rank(b) })
	for i, heading := range headings {
		if i > 0 {
			_, _ = fmt.Fprintln(out)
		}
		_, _ = fmt.Fprintf(out, "%s:\n%s", heading, sets[heading].FlagUsages())
	}
	if c.HasInheritedFlags() {
		_, _ = fmt.Fprint(out, "\nFlags of every command: -q, --quiet; -v, --verbose\n")
	}
}

// writeShort lists the flags of c itself and the usual ones.
func writeShort(out io.Writer, c *cobra.Command) {
	set := &pflag.FlagSet{SortFlags: false}
	others := 0
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Hidden:
		case f.Annotations[flagGroup] == nil || slices.Contains(usual, f.Name):
			set.AddFlag(f)
		default:
			others++
		}
	})
	_, _ = fmt.Fprintf(out, "Flags:\n%s\n\"%s --help\" describes it in full", set.FlagUsages(), c.CommandPath())
	if others > 0 {
		_, _ = fmt.Fprintf(out, ", with %d more flags", others)
	}
	_, _ = fmt.Fprintln(out, ".")
}

// rank orders the flags of the command itself before all others.
func rank(heading string) int {
	if heading == "Flags" {
		return 0
	}
	return 1
}
