// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/plugin/cluster"
	"github.com/ropewalk/ropewalk/plugin/cluster/quota"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload"
)

// need is what a render needs of a cluster: a kind where it has no name.
type need struct {
	cluster.Wanted
	// By is an object that needs it, at Path.
	By   object.ID `json:"by"`
	Path string    `json:"path,omitempty"`
	// Presence is "" where no cluster was asked.
	Presence cluster.Presence `json:"presence,omitempty"`
}

// String returns a need as in "ClusterSecretStore vault" or "kind ExternalSecret
// external-secrets.io/v1".
func (n need) String() string {
	if n.Name == "" {
		return fmt.Sprintf("kind %s %s/%s", n.Kind, n.Group, n.Version)
	}
	return n.Wanted.String()
}

// host is a name that a render serves.
type host struct {
	Name string    `json:"name"`
	By   object.ID `json:"by"`
}

// needs are what a project needs that it does not make.
type needs struct {
	Needs []need `json:"needs"`
	// Servers are what workloads rely on outside of the render, with the keys of their secrets.
	Servers []server `json:"servers"`
	Hosts   []host   `json:"hosts"`
	// OverQuota is what the namespaces of the cluster do not allow the pods of the project, in
	// the words of the controller.
	OverQuota []string `json:"overQuota,omitempty"`
}

type server struct {
	By      string   `json:"by"`
	Type    string   `json:"type"`
	Address string   `json:"address,omitempty"`
	Keys    []string `json:"keys,omitempty"`
}

func (a Commands) doctor() *cobra.Command {
	var project command.ProjectFlags
	var f flags
	cmd := &cobra.Command{
		Use: "doctor [PATH...|-]", Short: "List what a project needs in a cluster, and whether it is there",
		Long: `List what a project needs and does not make: kinds of operators, namespaces, Secrets, stores,
classes and other objects that its own name; servers and the keys of their secrets in the store;
and the hosts that it serves, whose DNS names must lead to the cluster.

With --context or --kubeconfig it is looked up in that cluster, and the exit code is 1 where
something is not there. Of objects only the metadata is read: no Secret's values. References
that are optional are left out, and so is what every cluster has. ResourceQuotas and
LimitRanges of the namespaces are compared with what the pods of the project ask for: what
they do not allow is a warning, since others may make room.
` + command.ProjectHelp + `

Exit codes:
  0    good: listed, or all of it is in the cluster
  1    findings: mistakes in the project, or something is not in the cluster
  2    usage: a mistake on the command line
  3    environment: a kubeconfig cannot be read, or an API server gives no answer
  130  interrupted`,
		Example: `  ropewalk doctor shop
  ropewalk doctor shop --env prod --context prod
  ropewalk doctor shop --format json | jq '.needs[] | select(.kind == "Secret")'`,
	}
	set := cmd.Flags()
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig `FILE` of the cluster to look in")
	set.StringVar(&f.context, "context", "", "context of the cluster to look in")
	f.format = command.NewChoice("text", "json")
	f.format.Add(cmd, "format", "how to print it")
	project.Add(cmd)
	project.AddLocalSources(cmd)
	cmd.RunE = a.Run(func(ctx context.Context, args []string) error {
		var c *cluster.Cluster
		if set.Changed("kubeconfig") || set.Changed("context") {
			var err error
			c, _, err = a.open(&f)
			if err != nil {
				return err
			}
		}
		a.JSON = f.format.Value == "json"
		return a.examine(ctx, &project, c, f.format.Value, args)
	})
	return cmd
}

// examine prints what a project needs, and whether it exists in the cluster if c is not nil.
func (a Commands) examine(ctx context.Context, flags *command.ProjectFlags, c *cluster.Cluster, format string, paths []string) error {
	// Render the project.
	r, err := a.Render(ctx, flags, paths)
	if err != nil {
		return err
	}
	defer r.Close()
	out := needsOf(r.Plan.Graph, r.Existing)

	// Look for its needs in the cluster.
	absent := 0
	if c != nil {
		wanted := make([]cluster.Wanted, len(out.Needs))
		for i, n := range out.Needs {
			wanted[i] = n.Wanted
		}
		found, err := c.Find(ctx, wanted)
		if err != nil {
			return mistake(err)
		}
		for i, p := range found {
			out.Needs[i].Presence = p
			if p != cluster.There {
				absent++
			}
		}
		if err := a.compareQuotas(ctx, c, r.Plan.Graph, &out); err != nil {
			return err
		}
	}

	// Print them, and fail if one is missing.
	if err := a.Outcome(format, out, out.text(c != nil)); err != nil || absent == 0 {
		return err
	}
	if !a.JSON {
		a.Note("ropewalk: %d of %d needs are not in the cluster, or not seen\n", absent, len(out.Needs))
	}
	return command.ErrFoundReported()
}

// compareQuotas adds what the namespaces of a cluster do not allow the pods of a render, and notes
// which namespaces it cannot judge.
func (a Commands) compareQuotas(ctx context.Context, c *cluster.Cluster, g *graph.Graph, out *needs) error {
	files := make([]emit.File, len(g.Nodes))
	for i, n := range g.Nodes {
		o := n.Object.Clone()
		if meta := o.Map("metadata"); o.Namespace() == "" && meta != nil {
			meta["namespace"] = c.Namespace // That of the context, as kubectl applies it.
		}
		files[i] = emit.File{Node: n.ID, Data: emit.YAML(o)}
	}
	found, err := quota.Warn(ctx, c.Quotas, files)
	if err != nil {
		return mistake(err)
	}
	out.OverQuota = found.Over
	if len(found.Hidden) > 0 && !a.JSON {
		a.Note("ropewalk: quotas are not compared in full: the user of the kubeconfig may not list ResourceQuotas or LimitRanges in %s\n", strings.Join(found.Hidden, ", "))
	}
	return nil
}

// needsOf returns the needs of a render.
func needsOf(g *graph.Graph, existing []workload.Existing) needs {
	// What the project makes itself is no need.
	out := needs{Needs: []need{}, Servers: []server{}, Hosts: []host{}}
	type kind struct{ group, kind string }
	defined := map[kind]bool{}
	namespaces := map[string]bool{}
	for _, n := range g.Nodes {
		switch r := n.Object.Ref(); r.GroupKind() {
		case "CustomResourceDefinition.apiextensions.k8s.io":
			defined[kind{n.Object.Text("spec", "group"), n.Object.Text("spec", "names", "kind")}] = true
		case "Namespace":
			namespaces[r.Name] = true
		}
	}

	// Collect each need once.
	known := map[cluster.Wanted]bool{}
	served := map[string]bool{}
	add := func(w cluster.Wanted, by object.ID, path object.Path) {
		if !known[w] {
			known[w] = true
			out.Needs = append(out.Needs, need{Wanted: w, By: by, Path: path.String()})
		}
	}
	for _, n := range g.Nodes {
		r := n.Object.Ref()
		if object.IsCustom(r.Group) && !defined[kind{r.Group, r.Kind}] {
			add(cluster.Wanted{Ref: cluster.Ref{Group: r.Group, Kind: r.Kind}, Version: n.Object.Version()}, n.ID, nil)
		}
		for _, name := range diff.Hosts(n.Object) {
			if !served[name] {
				served[name] = true
				out.Hosts = append(out.Hosts, host{name, n.ID})
			}
		}
	}

	// Add what specs and objects refer to.
	for _, n := range g.Needs {
		add(cluster.Wanted{Ref: cluster.Ref{Group: n.Ref.Group, Kind: n.Ref.Kind, Namespace: n.Ref.Namespace, Name: n.Ref.Name}}, n.From, n.Path)
	}
	for _, e := range existing {
		out.Servers = append(out.Servers, server{By: e.Workload + "/" + e.Name, Type: e.Type, Address: e.Address, Keys: e.Keys()})
	}

	// Sort the needs, so that the output is the same in each run.
	rank := func(n need) int { // What others are of comes first.
		switch {
		case n.Name == "":
			return 0
		case n.Kind == "Namespace":
			return 1
		}
		return 2
	}
	slices.SortStableFunc(out.Needs, func(a, b need) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(out.Hosts, func(a, b host) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// text returns the needs as tables. The argument looked is true if a cluster was asked.
func (n needs) text(looked bool) string {
	if len(n.Needs)+len(n.Servers)+len(n.Hosts)+len(n.OverQuota) == 0 {
		return "the project needs nothing but Kubernetes\n"
	}

	// Every table without rows is left out.
	var parts []string
	table := func(rows [][]string) {
		if len(rows) < 2 {
			return
		}
		for _, row := range rows {
			for i, cell := range row {
				row[i] = command.OneLine(cell)
			}
		}
		parts = append(parts, command.Table(rows))
	}

	// First the needs, with their presence in the cluster.
	rows := [][]string{{"NEEDED", "BY"}}
	if looked {
		rows[0] = append([]string{"CLUSTER"}, rows[0]...)
	}
	for _, e := range n.Needs {
		by := string(e.By)
		if e.Path != "" {
			by += " at " + e.Path
		}
		row := []string{e.String(), by}
		if looked {
			row = append([]string{string(e.Presence)}, row...)
		}
		rows = append(rows, row)
	}
	table(rows)

	// Then servers and hosts.
	rows = [][]string{{"SERVER", "TYPE", "BY", "KEYS OF ITS SECRETS"}}
	for _, s := range n.Servers {
		rows = append(rows, []string{cmp.Or(s.Address, "-"), s.Type, s.By, cmp.Or(strings.Join(s.Keys, ", "), "-")})
	}
	table(rows)
	rows = [][]string{{"HOST", "SERVED BY"}}
	for _, h := range n.Hosts {
		rows = append(rows, []string{h.Name, string(h.By)})
	}
	table(rows)

	// Last the warnings.
	rows = [][]string{{"OVER QUOTA"}}
	for _, warning := range n.OverQuota {
		rows = append(rows, []string{warning})
	}
	table(rows)
	return strings.Join(parts, "\n")
}
