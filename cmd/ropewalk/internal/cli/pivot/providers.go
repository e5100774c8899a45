// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/plugin/pivot"
)

func (a Commands) providers() *cobra.Command {
	cmd := &cobra.Command{
		Use: "providers", Short: "Plan the providers of a management cluster",
		Long: "Plan the providers of Cluster API of a management cluster.",
	}
	cmd.AddCommand(a.providersPlan())
	return cmd
}

func (a Commands) providersPlan() *cobra.Command {
	var k pivot.Kubeconfig
	var infrastructure []string
	format := command.NewChoice("text", "json", "yaml")
	cmd := &cobra.Command{
		Use: "plan", Short: "Print which providers are installed, and which should be, in their order",
		Long: `Print which providers of Cluster API a management cluster has, as its inventory lists them
(clusterctl and the Cluster API Operator write it), and which it should have: those whose
objects a PivotCluster becomes, in the versions by whose definitions Ropewalk checks them.
No provider is downgraded, and nothing is changed.

With --format yaml it prints the objects of the Cluster API Operator, for GitOps.

Exit codes:
  0    good
  2    usage: a mistake on the command line
  3    environment: a kubeconfig cannot be read, or an API server gives no answer or no access
  130  interrupted`,
		Example: `  ropewalk pivot providers plan --context management
  ropewalk pivot providers plan --infrastructure aws --format yaml > providers.yaml`,
		Args: cobra.NoArgs,
		RunE: a.Run(func(ctx context.Context, _ []string) error {
			a.JSON = format.Value == "json"
			var wanted []pivot.WantedProvider
			for _, text := range infrastructure {
				w, err := pivot.ParseProvider(text)
				if err != nil {
					return command.Usagef("write it as aws:v2.13.0", "--infrastructure: %w", err)
				}
				if slices.ContainsFunc(wanted, func(other pivot.WantedProvider) bool { return other.Name == w.Name }) {
					return command.Usagef("name it once", "--infrastructure: %q is there twice", w.Name)
				}
				wanted = append(wanted, w)
			}
			plan, err := pivot.Providers(ctx, k, wanted)
			if err != nil {
				return a.reportPivot(ctx, nil, err)
			}
			return a.printProviders(plan, format.Value)
		}),
	}
	set := cmd.Flags()
	set.StringVar(&k.Path, "kubeconfig", "", "kubeconfig file of the management cluster (default as kubectl)")
	set.StringVar(&k.Context, "context", "", "context in that file; its current context where not given")
	set.StringArrayVar(&infrastructure, "infrastructure", nil, "`NAME[:VERSION]` of an infrastructure provider that is to be there; may be given several times")
	format.Add(cmd, "format", "how to print it; yaml for the Cluster API Operator")
	return cmd
}

// printProviders prints a plan. Its notes are on standard error beside manifests.
func (a Commands) printProviders(plan pivot.ProviderPlan, format string) error {
	if format == "yaml" {
		for _, note := range plan.Notes {
			a.Note("note: %s\n", note)
		}
		text, err := plan.YAML()
		if err != nil {
			return err
		}
		return a.Print(string(text))
	}
	rows := [][]string{{"KIND", "NAME", "NAMESPACE", "INSTALLED", "PLAN", "VERSION", "NOTE"}}
	for _, s := range plan.Steps {
		rows = append(rows, []string{s.Kind, s.Name, s.Namespace, cmp.Or(s.Installed, "-"), s.Action, cmp.Or(s.Version, "-"), s.Note})
	}
	var b strings.Builder
	b.WriteString(command.Table(rows))
	for _, note := range plan.Notes {
		b.WriteString("\nnote: " + command.OneLine(note) + "\n")
	}
	return a.Outcome(format, plan, b.String())
}
