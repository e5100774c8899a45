// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package pivot

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/plugin/pivot"
)

func (a Commands) plan() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use: "plan NAMESPACE/CLUSTER --from KUBECONFIG --to KUBECONFIG", Short: "Print what would move, and what stands in the way",
		Long: `Print which objects belong to a cluster, and what stands in the way of a pivot. Objects of a
level are created on the target at once, after those of the level before, which own them.
Nothing is changed.

` + exitCodes,
		Example: `  ropewalk pivot plan apps/blue --from management.yaml --to blue.yaml
  ropewalk pivot plan apps/blue --from management.yaml --to blue.yaml --format json`,
		Args: cobra.ExactArgs(1),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			o, err := f.options(args[0])
			if err != nil {
				return err
			}
			a.JSON = f.format.Value == "json"
			plan, err := pivot.Look(ctx, o)
			if err != nil {
				return a.reportPivot(ctx, nil, err)
			}
			if err := a.Outcome(f.format.Value, plan, text(plan)); err != nil || len(plan.Findings) == 0 {
				return err
			}
			if a.JSON {
				return command.ErrFoundReported()
			}
			return mistakes(plan.Findings)
		}),
	}
	f.add(cmd, source, target)
	cmd.Flags().StringArrayVar(&f.copied, "copy", nil, copyHelp)
	return markRequired(cmd, "from", "to")
}

// text returns a plan as people read it. Its findings are reported apart from it.
func text(p pivot.Plan) string {
	if p.Objects == 0 {
		return ""
	}

	// The objects, in the order in which they are created.
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d objects, %s\n\n", p.Cluster, p.Objects, command.BytesText(int64(p.Bytes)))
	rows := [][]string{{"LEVEL", "OBJECT", "NAME"}}
	stays := map[pivot.Ref]bool{}
	for _, r := range p.Copied {
		stays[r] = true
	}
	for i, level := range p.Levels {
		number := strconv.Itoa(i)
		for _, r := range level {
			name := r.Name
			if stays[r] {
				name += "  (copied, and stays on the source)"
			}
			rows = append(rows, []string{number, r.GroupKind().String(), name})
			number = ""
		}
	}
	b.WriteString(command.Table(rows))

	// What the user must know before a run.
	for _, r := range p.Waits {
		fmt.Fprintf(&b, "\n%s must not be moved yet, says its controller: a run waits for it once it is paused\n", r)
	}
	b.WriteString(left(p.Left))
	for _, note := range p.Notes {
		fmt.Fprintf(&b, "\nnote: %s\n", command.OneLine(note))
	}
	if len(p.Findings) == 0 {
		b.WriteString("\nnothing stands in the way\n")
	}
	return b.String()
}

// leftLines bounds how many objects that are not moved a plan prints.
const leftLines = 20

// left names the objects that stay on the source.
func left(refs []pivot.Ref) string {
	if len(refs) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nnot moved, as they belong to no Cluster; label what is needed clusterctl.cluster.x-k8s.io/move:\n")
	for _, r := range refs[:min(len(refs), leftLines)] {
		fmt.Fprintf(&b, "  %s\n", r)
	}
	if more := len(refs) - leftLines; more > 0 {
		fmt.Fprintf(&b, "  and %d more\n", more)
	}
	return b.String()
}
