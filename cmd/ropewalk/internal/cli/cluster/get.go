// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/cluster"
	"github.com/ropewalk/ropewalk/render/object"
)

func (a Commands) get() *cobra.Command {
	cmd := &cobra.Command{
		Use: "get", Short: "Show the Transforms of a cluster, what they made, and where an object comes from",
		Example: `  ropewalk get transforms -A
  ropewalk get tree shop -n apps
  ropewalk get trace deploy/api -n apps`,
	}
	cmd.AddCommand(a.transforms(), a.tree(), a.trace())
	return cmd
}

func (a Commands) transforms() *cobra.Command {
	var f flags
	var all bool
	cmd := &cobra.Command{
		Use: "transforms [NAME]", Aliases: []string{"transform", "rwt"}, Short: "List the Transforms of a cluster",
		Long: `List Transforms, or print one: whether it is Ready, what it delivers and how many of its layers
are Ready. --format json prints the history too, whose digests a rollback takes.

` + exitCodes,
		Example: `  ropewalk get transforms -A
  ropewalk get transforms shop -n apps --format json`,
		Args: cobra.MaximumNArgs(1),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			if all && (len(args) > 0 || f.namespace != "") {
				return command.Usagef("leave -A away", "-A means all namespaces, beside a name or -n")
			}
			c, namespace, err := a.open(&f)
			if err != nil {
				return err
			}
			if len(args) > 0 {
				t, err := c.Get(ctx, namespace, args[0])
				if err != nil {
					return mistake(err)
				}
				return a.Outcome(f.format.Value, t, table([]*cluster.Transform{t}, false))
			}
			if all {
				namespace = ""
			}
			list, err := c.List(ctx, namespace)
			if err != nil {
				return mistake(err)
			}
			if len(list) == 0 && !a.JSON {
				a.Note("ropewalk: no Transforms in %s\n", cmp.Or(namespace, "any namespace"))
				return nil
			}
			return a.Outcome(f.format.Value, list, table(list, all))
		}),
	}
	f.add(cmd).Flags().BoolVarP(&all, "all-namespaces", "A", false, "all namespaces")
	return cmd
}

// table returns a row for each Transform.
func table(list []*cluster.Transform, namespaces bool) string {
	rows := [][]string{{"NAMESPACE", "NAME", "READY", "SUSPENDED", "LAYERS", "REVISION", "DIGEST", "MESSAGE"}}
	for _, t := range list {
		delivered := cmp.Or(t.Artifact, &cluster.Artifact{})
		rows = append(rows, []string{
			t.Namespace, t.Name, t.Ready, fmt.Sprint(t.Suspended), t.Layers,
			printable.Revision(delivered.Revision), printable.Revision(delivered.Digest), command.OneLine(t.Message),
		})
	}
	if !namespaces {
		for i := range rows {
			rows[i] = rows[i][1:]
		}
	}
	return command.Table(rows)
}

func (a Commands) tree() *cobra.Command {
	var f flags
	return f.add(&cobra.Command{
		Use: "tree NAME", Short: "Show what a Transform reads and what was made of it",
		Long: `Show a Transform with its source and modules, and its Kustomizations in the order of the layers:
each with the source that it applies from and the objects that it has applied. What Argo CD
delivers is shown by Argo CD.

` + exitCodes,
		Example: `  ropewalk get tree shop -n apps
  ropewalk get tree shop -n apps --format json`,
		Args: cobra.ExactArgs(1),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			c, namespace, err := a.open(&f)
			if err != nil {
				return err
			}
			root, err := c.Tree(ctx, namespace, args[0])
			if err != nil {
				return mistake(err)
			}
			var text strings.Builder
			draw(&text, root, "", "")
			return a.Outcome(f.format.Value, root, text.String())
		}),
	})
}

// draw writes a node after head, and those below it after indent.
func draw(out *strings.Builder, n *cluster.Node, head, indent string) {
	fmt.Fprintf(out, "%s%s\n", head, command.OneLine(describe(n)))
	for i, below := range n.Nodes {
		if i+1 == len(n.Nodes) {
			draw(out, below, indent+"└─ ", indent+"   ")
			continue
		}
		draw(out, below, indent+"├─ ", indent+"│  ")
	}
}

// describe returns a node in a line: what is wrong with it, and otherwise what it delivers.
func describe(n *cluster.Node) string {
	text := n.String()
	state := n.Ready
	more := printable.Revision(n.Revision)
	switch n.Ready {
	case "True":
		state = "Ready"
	case "False", "Unknown":
		state = "not Ready"
		more = n.Message
	}
	if n.Suspended {
		state += ", suspended"
	}
	if state != "" {
		text += "  " + state
	}
	if more != "" {
		text += "  " + more
	}
	return text
}

func (a Commands) trace() *cobra.Command {
	var f flags
	return f.add(&cobra.Command{
		Use: "trace KIND/NAME", Short: "Show which Transform and revision an object comes from",
		Long: `Follow an object back: to its owners, the Kustomization that applied it, the artifact that this
holds, the Transform, and the source and revision that were rendered. Where
the object does not come from a Transform, the chain is printed as far as it goes, and the exit
code is 1. KIND is written as for kubectl. Of the object only its metadata is read.

` + exitCodes,
		Example: `  ropewalk get trace deploy/api -n apps
  ropewalk get trace pod/api-7d4b9c-x2x8z -n apps --format json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: a.Run(func(ctx context.Context, args []string) error {
			words := strings.Split(strings.Join(args, "/"), "/")
			if len(words) != 2 || words[0] == "" || words[1] == "" {
				return command.Usagef("write it as deploy/api", "%q is not KIND/NAME of an object", strings.Join(args, " "))
			}
			c, namespace, err := a.open(&f)
			if err != nil {
				return err
			}
			trace, err := c.Trace(ctx, namespace, words[0], words[1])
			if err != nil {
				return mistake(err)
			}
			var text strings.Builder
			for i, n := range trace.Chain {
				head := ""
				if i > 0 {
					head = strings.Repeat("   ", i-1) + "└─ "
				}
				fmt.Fprintf(&text, "%s%s\n", head, command.OneLine(describe(n)))
			}
			if err := a.Outcome(f.format.Value, trace, text.String()); err != nil || trace.End == "" {
				return err
			}
			if a.JSON {
				return command.ErrFoundReported()
			}
			return object.Errors{{Err: errors.New(trace.End)}}
		}),
	})
}
