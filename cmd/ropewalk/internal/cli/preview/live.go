// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/preview"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/plugin/cluster"
	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// The ways of a comparison with a cluster.
const (
	liveRead   = "read"
	liveDryRun = "dry-run"
)

// live is a cluster as the base.
type live struct {
	// mode is "" where the base is none.
	mode, kubeconfig, context string

	reader *cluster.Reader
	// rights are those that are missing, in all environments.
	rights cluster.Rights
	// unserved are the kinds of the head that the cluster does not serve, and undeleted what has
	// objects in the cluster that are not known.
	unserved, undeleted map[string]bool
}

func (l *live) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&l.mode, "live", "", "compare with a cluster: `MODE` is read where none is given, for what the head sets, or\ndry-run, for what its API server makes of the head")
	f.Lookup("live").NoOptDefVal = liveRead
	f.StringVar(&l.kubeconfig, "kubeconfig", "", "kubeconfig `FILE` of the cluster of --live (default as kubectl)")
	f.StringVar(&l.context, "context", "", "context in that file; its current context where not given")
}

// checkLive refuses flags that have no meaning with a cluster as the base, or without one.
func (o *options) checkLive() error {
	switch l := o.live; {
	case l.mode == "" && (l.kubeconfig != "" || l.context != ""):
		return command.Usagef("add --live", "--kubeconfig and --context name the cluster of --live")
	case l.mode == "":
		return nil
	case l.mode != liveRead && l.mode != liveDryRun:
		return command.Usagef("write --live or --live=dry-run", "--live=%s is not known", l.mode)
	case o.exact:
		return command.Usagef("leave --exact out", "--live and --exact exclude each other: a cluster has no merge base")
	case o.untrusted:
		return command.Usagef("compare with a revision", "--live and --untrusted-head exclude each other: a cluster has no ropewalk.lock to fetch by")
	}
	return nil
}

// openLive opens the cluster as the base.
func (p *previewing) openLive(ctx context.Context) error {
	c, err := cluster.Open(p.live.kubeconfig, p.live.context)
	if err != nil {
		return &command.EnvironmentError{Err: err, Hint: "give --kubeconfig and --context, or set KUBECONFIG"}
	}
	p.live.reader, err = c.Reader(ctx)
	if err != nil {
		return &command.EnvironmentError{Err: err}
	}
	p.live.unserved, p.live.undeleted = map[string]bool{}, map[string]bool{}
	p.base.Name = "the cluster " + c.Context
	if c.Context == "" {
		p.base.Name = "the cluster"
	}
	return nil
}

// checkOneCluster refuses a preview of several environments against one cluster.
func (p *previewing) checkOneCluster() error {
	names := map[string]bool{}
	for _, c := range p.cells {
		if name := cmp.Or(c.environment, c.unit.Cluster); name != "" {
			names[name] = true
		}
	}
	if p.live.mode != "" && len(names) > 1 {
		return command.Usagef("name one with --env", "the base is one cluster, and %s are to be previewed: %s",
			printable.Count(len(names), "environment"), printable.List(object.SortedKeys(names), most))
	}
	return nil
}

// manager returns the field manager of the engine that applies a unit, or a render of a dialect.
func (c cell) manager(of dialect.Name) string {
	switch {
	case c.unit.Kind == "HelmRelease":
		return "helm-controller"
	case c.unit.Kind == "Kustomization", of == dialect.Flux:
		return "kustomize-controller"
	case c.unit.Kind == "Application", of == dialect.ArgoCD:
		return "argocd-controller"
	}
	return "kubectl"
}

// readLive reads what the cluster has of an environment as the base. What the API server refuses is
// a mistake of the head.
func (p *previewing) readLive(ctx context.Context, c cell, after *rendered) (*rendered, error) {
	if after == nil || after.Outline == nil {
		return &rendered{}, nil
	}
	items := after.snapshot.Items
	objects := make([]object.Object, len(items))
	for i, item := range items {
		objects[i] = item.Object
	}
	manager := ""
	if p.live.mode == liveDryRun {
		manager = c.manager(after.snapshot.Dialect)
	}
	bar := command.NewProgress(p.Streams, "reading")
	defer bar.Clear()
	bar.Say(printable.Count(len(items), "object") + " of " + p.base.Name)
	found, err := p.live.reader.Read(ctx, objects, manager)
	if err != nil {
		return &rendered{}, p.keepRights(err)
	}

	// What the head sets is compared, or all that a dry run gives. The base has the waves of the
	// head, since a cluster has none.
	before := diff.Snapshot{Name: p.base.Name, Dialect: after.snapshot.Dialect, Rendered: true}
	for i, is := range found {
		item := items[i]
		if is.Unserved {
			p.keep(p.live.unserved, item.Object.APIVersion()+" "+item.Object.Kind())
		}
		if is.Refused != nil {
			after.Findings = append(after.Findings, &object.Error{
				Stage: object.StageCheck, Pos: item.Pos, Node: item.Node, Err: fmt.Errorf("%s does not accept it: %w", p.base.Name, is.Refused),
			})
		}
		switch {
		case is.Applied != nil:
			items[i].Object, item.Object = withoutServer(is.Applied), withoutServer(is.Object)
		case is.Object != nil:
			item.Object = diff.Owned(is.Object, item.Object)
		}
		if is.Object != nil {
			before.Items = append(before.Items, item)
		}
	}

	// What the engine would delete is in the inventory of a unit.
	gone, err := p.readDeleted(ctx, c, objects)
	if err != nil {
		return &rendered{}, p.keepRights(err)
	}
	before.Items = append(before.Items, gone...)
	return &rendered{Side: preview.NewSide(before, order.Document{}), snapshot: before}, nil
}

// readDeleted reads the objects that the engine applied of a unit and the head does not have.
func (p *previewing) readDeleted(ctx context.Context, c cell, head []object.Object) ([]diff.Item, error) {
	// A unit that does not prune leaves them.
	of := cluster.Ref{Kind: c.unit.Kind, Namespace: c.unit.Namespace, Name: c.unit.Name}
	if u, ok := p.head.units[c.unit]; ok && !u.Prunes {
		return nil, nil
	}
	applied, known, err := p.live.reader.Inventory(ctx, of)
	if err != nil {
		return nil, err
	}
	if !known {
		p.keep(p.live.undeleted, cmp.Or(p.head.names[c.dir], of.String()))
	}
	stays := map[object.Ref]bool{}
	for _, o := range head {
		stays[p.live.reader.Key(o)] = true
	}
	applied = slices.DeleteFunc(applied, func(o object.Object) bool { return stays[p.live.reader.Key(o)] })
	found, err := p.live.reader.Read(ctx, applied, "")
	if err != nil {
		return nil, err
	}
	var out []diff.Item
	for _, is := range found {
		if is.Object != nil {
			out = append(out, diff.Item{Object: withoutServer(is.Object), Wave: diff.NoWave})
		}
	}
	return out, nil
}

// keep keeps a name for a note.
func (p *previewing) keep(in map[string]bool, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	in[name] = true
}

// keepRights keeps the rights that are missing, so that they are reported for all environments at
// once. It returns every other error as that of an environment.
func (p *previewing) keepRights(err error) error {
	var rights *cluster.Rights
	if !errors.As(err, &rights) {
		return &command.EnvironmentError{Err: fmt.Errorf("%s: %w", p.base.Name, err)}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live.rights.Missing = append(p.live.rights.Missing, rights.Missing...)
	return nil
}

// missing returns the error for rights that are missing, nil if there are all.
func (l *live) missing() error {
	if len(l.rights.Missing) == 0 {
		return nil
	}
	slices.Sort(l.rights.Missing)
	return &command.EnvironmentError{
		Err:  &cluster.Rights{Missing: slices.Compact(l.rights.Missing)},
		Hint: "grant them, or give --context of another user",
	}
}

// noteLive tells what a comparison with a cluster does not show.
func (p *previewing) noteLive() {
	if kinds := object.SortedKeys(p.live.unserved); len(kinds) > 0 {
		p.base.Notes = append(p.base.Notes, fmt.Sprintf("Not served by %s: %s.", p.base.Name, printable.List(kinds, most)))
	}
	if names := object.SortedKeys(p.live.undeleted); len(names) > 0 {
		p.base.Notes = append(p.base.Notes, fmt.Sprintf("Deletions are not shown: %s has no inventory of %s.", p.base.Name, printable.List(names, most)))
	}
}

// withoutServer returns an object without what the API server writes.
func withoutServer(o object.Object) object.Object {
	if o == nil {
		return nil
	}
	out := maps.Clone(o)
	delete(out, "status")
	meta := maps.Clone(o.Map("metadata"))
	for _, name := range []string{"managedFields", "uid", "resourceVersion", "generation", "creationTimestamp", "selfLink"} {
		delete(meta, name)
	}
	if notes, ok := meta["annotations"].(map[string]any); ok {
		notes = maps.Clone(notes)
		maps.DeleteFunc(notes, func(key string, _ any) bool { return strings.HasPrefix(key, "kubectl.kubernetes.io/last-applied") })
		meta["annotations"] = notes
		if len(notes) == 0 {
			delete(meta, "annotations")
		}
	}
	out["metadata"] = meta
	return out
}
