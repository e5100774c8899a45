// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package provisioners

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/plugin/host"
	"github.com/ropewalk/ropewalk/render/evaluate"
)

func (a Commands) provisionersList() *cobra.Command {
	var flags provisionersFlags
	cmd := &cobra.Command{
		Use: "list [PATH]", Aliases: []string{"ls"}, Short: "List the types of resources that workloads may request",
		Long: `List the types of resources that workloads may request, in the order in which they are matched: an entry with *
is for every class or id. A * after an output says that it is a secret.
` + provisionersHelp + "\n\n" + command.ExitCodes,
		Example: `  ropewalk provisioners list
  ropewalk provisioners list shop --env prod
  ropewalk provisioners list --format json | jq -r '.[].type'`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			c, err := a.openCatalog(ctx, &flags, host.Options{Args: args})
			if err != nil {
				return err
			}
			defer c.close()
			out := make([]listed, 0, len(c.entries))
			rows := [][]string{{"TYPE", "CLASS", "ID", "MODULE", "OUTPUTS", "DESCRIPTION"}}
			for _, p := range c.entries {
				out = append(out, p.listed())
				row := []string{p.Type, cmp.Or(p.Class, "*"), cmp.Or(p.ID, "*"), p.module.Name, cmp.Or(strings.Join(p.outputs(), ","), "-"), p.Description}
				for i, cell := range row {
					row[i] = command.OneLine(cell)
				}
				rows = append(rows, row)
			}
			return a.Outcome(flags.format.Value, out, command.Table(rows))
		}),
	}
	flags.add(cmd)
	return cmd
}

func (a Commands) provisionersShow() *cobra.Command {
	var flags provisionersFlags
	cmd := &cobra.Command{
		Use: "show TYPE[/CLASS] [PATH]", Short: "Show the params and outputs of a type of resources",
		Long: `Show what a workload may write below params of a resource, and what it may refer to by
${resources.NAME.OUTPUT}. Secret outputs are never values: they are references that
the cluster resolves. Outputs that are there for some params only are not listed.
` + provisionersHelp + "\n\n" + command.ExitCodes,
		Example: `  ropewalk provisioners show postgres
  ropewalk provisioners show postgres/cnpg
  ropewalk provisioners show license shop`,
		Args: cobra.RangeArgs(1, 2),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			c, err := a.openCatalog(ctx, &flags, host.Options{Args: args[1:]})
			if err != nil {
				return err
			}
			defer c.close()
			found, err := c.named(args[0])
			if err != nil {
				return err
			}
			out := make([]listed, 0, len(found))
			var texts []string
			for _, p := range found {
				out = append(out, p.listed())
				texts = append(texts, p.text())
			}
			return a.Outcome(flags.format.Value, out, strings.Join(texts, "\n"))
		}),
	}
	flags.add(cmd)
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		c, err := a.openCatalog(cmd.Context(), &flags, host.Options{})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp // What is wrong is not said between the keys of a user.
		}
		defer c.close()
		return c.types(), cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// outputs returns the names of all outputs, those of secrets with a *.
func (p provisioner) outputs() []string {
	out := slices.Clone(p.Outputs)
	for _, name := range p.Sensitive {
		out = append(out, name+"*")
	}
	slices.Sort(out)
	return out
}

// text returns the entry as people read it.
func (p provisioner) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", command.OneLine(p.title()), command.OneLine(p.Description))
	fmt.Fprintf(&b, "module %s (%s)\n\nPARAMS\n", command.OneLine(p.module.Name), command.OneLine(p.module.Module.Label))
	for _, param := range p.Params {
		fmt.Fprintf(&b, "  %s  %s\n", command.OneLine(param.Name), command.OneLine(strings.Join(describe(param), ", ")))
		for line := range strings.Lines(param.Doc) {
			b.WriteString("      " + command.OneLine(line) + "\n")
		}
	}
	if len(p.Params) == 0 {
		b.WriteString("  none by name\n")
	}
	fmt.Fprintf(&b, "\nOUTPUTS\n  %s\n", cmp.Or(command.OneLine(strings.Join(p.Outputs, ", ")), "none by name"))
	if len(p.Sensitive) > 0 {
		fmt.Fprintf(&b, "\nSECRET OUTPUTS\n  %s\n", command.OneLine(strings.Join(p.Sensitive, ", ")))
	}
	return b.String()
}

// describe returns what is expected of a param, in words.
func describe(p evaluate.Param) []string {
	out := []string{cmp.Or(p.Type, "anything")}
	if p.Required {
		out = append(out, "required")
	}
	if p.Default != "" {
		out = append(out, "default "+p.Default)
	}
	return out
}

// listed is an entry as JSON has it.
type listed struct {
	Type        string        `json:"type"`
	Class       string        `json:"class,omitempty"`
	ID          string        `json:"id,omitempty"`
	Description string        `json:"description,omitempty"`
	Module      string        `json:"module"`
	Origin      string        `json:"origin"`
	Params      []listedParam `json:"params"`
	Outputs     []string      `json:"outputs"`
	Sensitive   []string      `json:"sensitive"`
}

// listedParam is a param as JSON has it.
type listedParam struct {
	Name     string          `json:"name"`
	Type     string          `json:"type,omitempty"`
	Default  json.RawMessage `json:"default,omitempty"`
	Required bool            `json:"required,omitempty"`
	Doc      string          `json:"doc,omitempty"`
}

func (p provisioner) listed() listed {
	out := listed{
		Type: p.Type, Class: p.Class, ID: p.ID, Description: p.Description, Module: p.module.Name, Origin: p.module.Module.Label,
		Params: []listedParam{}, Outputs: append([]string{}, p.Outputs...), Sensitive: append([]string{}, p.Sensitive...),
	}
	for _, param := range p.Params {
		out.Params = append(out.Params, listedParam{
			Name: param.Name, Type: param.Type, Default: json.RawMessage(param.Default), Required: param.Required, Doc: param.Doc,
		})
	}
	return out
}
