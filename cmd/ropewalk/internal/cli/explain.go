// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

func (a commands) explainCommand() *cobra.Command {
	var flags command.ProjectFlags
	var format command.Choice
	var path string
	cmd := &cobra.Command{
		Use:   "explain OBJECT [PATH...|-]",
		Short: "Say why an object is here, and why in that wave",
		Long: `Say of one object which line of which spec and which line of which module made it, what
it needs and what needs it, in which wave it is and which of its edges put it there.
With --path, say where a value in it comes from.

OBJECT is the id of a node (api/deployment), the part of it after the slash, or an
object: Deployment/api, Deployment.apps/api or Deployment/shop/api with a namespace.
` + command.ProjectHelp + `

` + command.ExitCodes,
		Example: `  ropewalk explain api/deployment shop
  ropewalk explain Deployment/api shop --dialect argocd
  ropewalk explain Deployment/api shop --path spec.replicas
  ropewalk explain api/deployment shop --format json | jq '.needs[].id'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("name an object, such as web/deployment; \"ropewalk graph\" lists all of them")
			}
			return nil
		},
		RunE: a.Run(func(ctx context.Context, args []string) error {
			flags.SkipSchemas = true
			return a.runExplain(ctx, &flags, format.Value, path, args)
		}),
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		var ids []cobra.Completion
		for _, n := range a.ObjectsHere(cmd.Context(), &flags, nil) {
			ids = append(ids, cobra.CompletionWithDesc(string(n.ID), n.Object.Kind()+" "+n.Object.Name()))
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
	format = command.NewChoice("text", "json")
	format.Add(cmd, "format", "how to print it")
	cmd.Flags().StringVar(&path, "path", "", "field of the object to explain, such as spec.replicas, or the end of its path:\ncontainers.0.image, containers.api.image")
	flags.Add(cmd)
	flags.AddLocalSources(cmd)
	return cmd
}

func (a commands) runExplain(ctx context.Context, flags *command.ProjectFlags, format, path string, args []string) error {
	r, err := a.Render(ctx, flags, args[1:])
	if err != nil {
		return err
	}
	defer r.Close()
	node, err := findNode(r.Plan.Graph.Nodes, args[0])
	if err != nil {
		return err
	}
	e := explain(r.Plan, node)
	module := r.Source(node.ID)
	e.Origin, e.Digest = module.Origin, module.Digest
	for _, s := range r.Request.Specs {
		for _, o := range s.Loosened {
			if s.Evaluate.Spec == node.ID.Spec() {
				reason := (*object.Secrets)(nil).Hide(o.Reason)
				e.Loosened = append(e.Loosened, loosened{Policy: o.Policy, Action: o.Action, Reason: reason, Pos: r.Place(o.Pos)})
			}
		}
	}
	if path != "" {
		e.Value, err = traceValue(ctx, r, node, path)
		if err != nil {
			return err
		}
	}
	return a.Outcome(format, e, e.text())
}

// traceValue finds the origins of the part of n at path.
func traceValue(ctx context.Context, r command.Rendered, n *object.Node, path string) (*valueOrigin, error) {
	fieldPath, value, err := findValue(n, path)
	if err != nil {
		return nil, err
	}
	out := &valueOrigin{Path: fieldPath.String(), Value: value}
	origins, err := render.Renderer{Evaluator: r.Evaluator}.Trace(ctx, r.Request, []evaluate.Query{{Node: n.ID, Path: fieldPath}})
	if err != nil {
		return nil, err
	}
	out.Input, out.Module = r.Place(origins[0].Input), r.Place(origins[0].Module)
	for _, s := range r.Request.Specs {
		if s.Evaluate.Spec == n.ID.Spec() {
			out.From, out.Values = madeBy(s.Evaluate.Component)
		}
		// Users of a workload do not know the input of its module.
		if s.Evaluate.Spec == n.ID.Spec() && out.Input.IsValid() && s.Workload == nil {
			out.InputPath = s.Evaluate.InputPath.Append(origins[0].InputPath...).String()
		}
	}
	return out, nil
}

// madeBy names the source that makes the objects of a component, and returns the positions of values
// of its chart. Only Helm knows which of these values a template reads.
func madeBy(c *spec.Component) (maker string, values []object.Pos) {
	switch {
	case c == nil:
		return "", nil
	case c.Kustomize != nil:
		return "kustomization", nil
	case c.Helm == nil:
		return "manifests", nil
	}
	for _, file := range c.Helm.ValuesFiles {
		values = append(values, object.Pos{File: file.Text})
	}
	for _, m := range c.Helm.Values.Members { // Overlays are merged: the first line of each file.
		if !slices.ContainsFunc(values, func(p object.Pos) bool { return p.File == m.Pos.File }) {
			values = append(values, m.Pos)
		}
	}
	for _, set := range c.Helm.Sets {
		values = append(values, set.Pos)
	}
	return "chart", values
}

// findValue returns the field that text means. The text is a whole path, or the end of a path if no
// other field ends so. An item of a list has its number, as [0] or .0, or its name.
func findValue(n *object.Node, text string) (object.Path, any, error) {
	want := object.ParsePath(text)
	root := map[string]any(n.Object)
	if path, value, ok := valueAt(root, want); ok {
		return path, value, nil
	}
	var found []object.Path
	eachField(root, nil, func(branch object.Path, v any) {
		if rest, _, ok := valueAt(v, want); ok {
			found = append(found, slices.Concat(branch, rest))
		}
	})
	switch len(found) {
	case 1:
		path, value, _ := valueAt(root, found[0])
		return path, value, nil
	case 0:
		return nil, nil, command.Usagef(fieldsBeside(root, want), "--path %s: %s has no such field", text, n.ID)
	}
	const most = 5
	names := make([]string, 0, most)
	for _, path := range found[:min(most, len(found))] {
		names = append(names, path.String())
	}
	hint := "write one of them whole: " + strings.Join(names, ", ")
	return nil, nil, command.Usagef(hint, "--path %s: %s has %d such fields", text, n.ID, len(found))
}

// eachField calls do with each map and list below v, in the order of their paths.
func eachField(v any, path object.Path, do func(object.Path, any)) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range object.SortedKeys(v) {
			if below := path.Append(object.Field(name)); isBranch(v[name]) {
				do(below, v[name])
				eachField(v[name], below, do)
			}
		}
	case []any:
		for i, item := range v {
			if below := path.Append(object.Index(i)); isBranch(item) {
				do(below, item)
				eachField(item, below, do)
			}
		}
	}
}

func isBranch(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// fieldsBeside names the fields beside the first step of a path that does not exist.
func fieldsBeside(root map[string]any, path object.Path) string {
	for n := len(path) - 1; n >= 0; n-- {
		reached, v, ok := valueAt(root, path[:n])
		if fields, isMap := v.(map[string]any); ok && isMap {
			hint := object.Suggest(path[n].Name, object.SortedKeys(fields))
			if n > 0 {
				hint += " (of " + reached.String() + ")"
			}
			return hint
		}
	}
	return ""
}

// valueAt follows path into a value. The path that it returns has numbers in place of the names of
// items. The last result is false if the path leads nowhere.
func valueAt(v any, path object.Path) (object.Path, any, bool) {
	var out object.Path
	for _, s := range path {
		switch branch := v.(type) {
		case map[string]any:
			next, ok := branch[s.Name]
			if !ok || s.IsIndex {
				return nil, nil, false
			}
			v = next
			out = append(out, s)
		case []any:
			i := itemOf(branch, s)
			if i < 0 || i >= len(branch) {
				return nil, nil, false
			}
			v = branch[i]
			out = append(out, object.Index(i))
		default:
			return nil, nil, false
		}
	}
	return out, v, true
}

// itemOf returns the index of the item of a list that a step means, or -1 if the list has no such
// item.
func itemOf(list []any, s object.Step) int {
	if s.IsIndex {
		return s.Index
	}
	if i, err := strconv.Atoi(s.Name); err == nil {
		return i
	}
	return slices.IndexFunc(list, func(item any) bool {
		fields, ok := item.(map[string]any)
		return ok && fields["name"] == s.Name
	})
}

// findNode returns the node that name means: its id, the part of an id after the slash, or
// Kind/name, Kind.group/name and Kind/namespace/name of its object, with the kind as kubectl takes
// it: deploy, deployments.
func findNode(nodes []*object.Node, name string) (*object.Node, error) {
	var found []*object.Node
	for _, n := range nodes {
		if string(n.ID) == name {
			return n, nil
		}
		if n.ID.Node() == name || isCalled(n.Object.Ref(), name) || isOfSpec(n, name) {
			found = append(found, n)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, command.Usagef(nearest(nodes, name), "no object %q in this render", name)
	}
	ids := make([]string, len(found))
	for i, n := range found {
		ids[i] = string(n.ID)
	}
	return nil, command.Usagef("name it by its id: "+strings.Join(ids, ", "), "%q means %d objects", name, len(found))
}

// isCalled reports whether name is one of the names of the object at ref.
func isCalled(ref object.Ref, name string) bool {
	parts := strings.Split(name, "/")
	kind, last := parts[0], parts[len(parts)-1]
	if !isKind(kind, ref.Kind) && !strings.EqualFold(kind, ref.GroupKind()) {
		return false
	}
	switch len(parts) {
	case 2:
		return last == ref.Name
	case 3:
		return parts[1] == ref.Namespace && last == ref.Name
	}
	return false
}

// isOfSpec reports whether name is the spec of a node and its kind: api/deploy.
func isOfSpec(n *object.Node, name string) bool {
	spec, kind, _ := strings.Cut(name, "/")
	return n.ID.Spec() == spec && isKind(kind, n.Object.Kind())
}

// isKind reports whether name is one of kubectl's names for kind: the kind itself, its plural, or
// its short name.
func isKind(name, kind string) bool {
	name, kind = strings.ToLower(name), strings.ToLower(kind)
	if shortName(name) == kind {
		return true
	}
	plurals := []string{kind, kind + "s", kind + "es"}
	if stem, ok := strings.CutSuffix(kind, "y"); ok {
		plurals = append(plurals, stem+"ies")
	}
	return slices.Contains(plurals, name)
}

// shortName returns the kind that a short name of kubectl stands for, in lower case, or "" for an
// unknown name. Source: kubectl api-resources of Kubernetes 1.36 with the engines.
func shortName(name string) string {
	switch name {
	case "cj":
		return "cronjob"
	case "cm":
		return "configmap"
	case "crd", "crds":
		return "customresourcedefinition"
	case "deploy":
		return "deployment"
	case "ds":
		return "daemonset"
	case "es":
		return "externalsecret"
	case "hpa":
		return "horizontalpodautoscaler"
	case "ing":
		return "ingress"
	case "netpol":
		return "networkpolicy"
	case "ns":
		return "namespace"
	case "pc":
		return "priorityclass"
	case "pdb":
		return "poddisruptionbudget"
	case "po":
		return "pod"
	case "pv":
		return "persistentvolume"
	case "pvc":
		return "persistentvolumeclaim"
	case "rs":
		return "replicaset"
	case "sa":
		return "serviceaccount"
	case "sc":
		return "storageclass"
	case "sts":
		return "statefulset"
	case "svc":
		return "service"
	}
	return ""
}

// nearest returns a hint for a name that no node has: the id that it may mean, and the command that
// lists all ids.
func nearest(nodes []*object.Node, name string) string {
	// Gather the names that the user may have meant. A pod is made by the cluster alone.
	var known, beside []string
	spec, kind, _ := strings.Cut(name, "/")
	last := name[strings.LastIndex(name, "/")+1:]
	for _, n := range nodes {
		ref := n.Object.Ref()
		known = append(known, string(n.ID), ref.Kind+"/"+ref.Name)
		if isKind(spec, ref.Kind) { // As it was written: deploy/aip for deploy/api.
			known = append(known, spec+"/"+ref.Name)
		}
		if n.ID.Spec() == spec {
			beside = append(beside, string(n.ID))
		}
		podOfSpec := isKind(kind, "Pod") && n.ID.Spec() == spec
		podOfObject := isKind(spec, "Pod") && ref.Name == last
		if (podOfSpec || podOfObject) && len(n.Object.Map("spec", "template", "spec")) > 0 {
			return fmt.Sprintf("the cluster makes its pods: name %s, which they come from", n.ID)
		}
	}

	// Prefer a similar name, then the objects of the spec.
	const most = 12
	near := object.DidYouMean(name, known)
	if n := len(beside); near == "" && n > 0 && n <= most {
		return fmt.Sprintf("spec %s has %s", spec, strings.Join(beside, ", "))
	}
	return strings.TrimSpace(near + " \"ropewalk graph\" lists every object")
}
