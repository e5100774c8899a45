// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/command"
	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/draw"
	"github.com/ropewalk/ropewalk/render/graph"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
	"github.com/ropewalk/ropewalk/render/spec"
)

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
	return name == kind || name == kind+"s" || name == kind+"es" || strings.HasSuffix(kind, "y") && name == kind[:len(kind)-1]+"ies" || shortName(name) == kind
}

// shortName returns the kind that a short name of kubectl stands for, in lower case. It returns ""
// if there is none. Source: kubectl api-resources of Kubernetes 1.36, and of the engines.
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

// nearest returns a hint for a name that no node has: the id that it may mean, and where all of
// them are.
func nearest(nodes []*object.Node, name string) string {
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
		pods := isKind(kind, "Pod") && n.ID.Spec() == spec || isKind(spec, "Pod") && ref.Name == last
		if pods && len(n.Object.Map("spec", "template", "spec")) > 0 {
			return fmt.Sprintf("the cluster makes its pods: name %s, which they come from", n.ID)
		}
	}
	const most = 12
	near := object.DidYouMean(name, known)
	if n := len(beside); near == "" && n > 0 && n <= most {
		return fmt.Sprintf("spec %s has %s", spec, strings.Join(beside, ", "))
	}
	return strings.TrimSpace(near + " \"ropewalk graph\" lists every object")
}

// explanation says of one object why it is here and where it is.
type explanation struct {
	ID        object.ID      `json:"id"`
	Object    object.Ref     `json:"object"`
	Spec      object.Pos     `json:"spec,omitzero"`
	Module    object.Pos     `json:"module,omitzero"`
	Origin    string         `json:"origin,omitempty"`
	Digest    string         `json:"digest,omitempty"`
	Wave      int            `json:"wave"`
	Waves     int            `json:"waves"`
	Reason    string         `json:"reason"`
	Needs     []edge         `json:"needs"`
	NeededBy  []edge         `json:"neededBy"`
	ReadyWhen []object.Ready `json:"readyWhen,omitempty"`
	// Outside are objects that are not part of the render and must be there first.
	Outside []object.Need `json:"outside,omitempty"`
	Apply   object.Apply  `json:"apply"`
	// Loosened are the policies of the project that hold less for the spec.
	Loosened []loosened   `json:"loosened,omitempty"`
	Value    *valueOrigin `json:"value,omitempty"`
}

// loosened is a policy that holds less, by the choice of the spec.
type loosened struct {
	Policy string     `json:"policy"`
	Action string     `json:"action"`
	Reason string     `json:"reason"`
	Pos    object.Pos `json:"pos,omitzero"`
}

// edge is one dependency, seen from the object that is explained.
type edge struct {
	// Name is the id of the other object, or what people call the other side
	// of a join: spec cart, apply set cart[2].
	Name string `json:"name"`
	// Join marks a dependency on or of a whole spec or apply set.
	Join     bool       `json:"join,omitempty"`
	Rule     graph.Rule `json:"rule"`
	Explicit bool       `json:"explicit"`
	Path     string     `json:"path,omitempty"`
	Pos      object.Pos `json:"pos,omitzero"`
	Gating   bool       `json:"gating"`
	// Loose edges do not bind the order: the cluster settles them by itself.
	Loose  bool   `json:"loose,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// valueOrigin says where a part of an object comes from.
type valueOrigin struct {
	Path      string     `json:"path"`
	Value     any        `json:"value"`
	Input     object.Pos `json:"input,omitzero"`
	InputPath string     `json:"inputPath,omitempty"`
	Module    object.Pos `json:"module,omitzero"`
	// From is what made the object where that is no module, and Values are where the user
	// wrote values for it.
	From   string       `json:"from,omitempty"`
	Values []object.Pos `json:"values,omitempty"`
}

// explain gathers what plan knows of n.
func explain(plan *order.Plan, n *object.Node) explanation {
	placement := plan.Placements[n.ID]
	e := explanation{
		ID: n.ID, Object: n.Object.Ref(), Spec: n.SpecPos, Module: n.Pos,
		Wave: placement.Wave, Waves: len(plan.Waves), Reason: placement.Reason,
		Needs: []edge{}, NeededBy: []edge{},
		ReadyWhen: n.ReadyWhen, Apply: n.Apply.WithDefaults(n.Object.Ref()),
	}

	for _, need := range n.Needs {
		e.Outside = append(e.Outside, need.In(n.Object.Namespace()))
	}

	// An edge of the node itself.
	for i, g := range plan.Graph.Edges {
		seen := edge{Rule: g.Rule, Explicit: g.Explicit, Path: g.Path.String(), Pos: g.Pos}
		seen.judge(plan.Gates[i])
		switch n.ID {
		case g.From:
			seen.Name = string(g.To)
			e.Needs = append(e.Needs, seen)
		case g.To:
			seen.Name = string(g.From)
			e.NeededBy = append(e.NeededBy, seen)
		}
	}

	// A join of its spec or its set.
	for i, j := range plan.Graph.Joins {
		seen := edge{Join: true, Rule: j.Rule, Explicit: true, Pos: j.Pos}
		seen.judge(plan.JoinGates[i])
		if slices.Contains(j.From, n.ID) {
			seen.Name = draw.SideName(j.Rule, j.ToName)
			e.Needs = append(e.Needs, seen)
		}
		if slices.Contains(j.To, n.ID) {
			seen.Name = draw.SideName(j.Rule, j.FromName)
			e.NeededBy = append(e.NeededBy, seen)
		}
	}
	return e
}

// judge copies the result of the order for the edge.
func (e *edge) judge(g order.Gate) { e.Gating, e.Loose, e.Reason = g.Gating, g.Loose, g.Reason }

// text returns e as people read it.
func (e explanation) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", string(e.ID), e.Object)
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-9s  %s\n", name, text)
		}
	}
	row("spec", e.Spec.String())
	row("module", e.module())
	because := strings.TrimPrefix(e.Reason, fmt.Sprintf("wave %d ", e.Wave))
	row("wave", fmt.Sprintf("%d of %s, %s", e.Wave, waveNumbers(e.Waves), because))
	for _, r := range e.ReadyWhen {
		text := readiness(r)
		if r.Timeout != "" {
			text += " within " + r.Timeout
		}
		row("ready", text)
	}
	for _, n := range e.Outside {
		text := n.String()
		if n.Ready != "" {
			text += " with condition " + n.Ready
		}
		row("waits for", text)
	}
	row("apply", policies(e.Apply))
	for _, l := range e.Loosened {
		row("policy", l.text())
	}
	if e.Value != nil {
		b.WriteString(e.Value.text())
	}
	writeEdges(&b, "needs", e.Needs)
	writeEdges(&b, "needed by", e.NeededBy)
	return b.String()
}

// waveNumbers returns the range of n waves.
func waveNumbers(n int) string {
	if n <= 1 {
		return "0"
	}
	return fmt.Sprintf("0-%d", n-1)
}

func (e explanation) module() string {
	text := e.Module.String()
	if e.Origin != "" {
		text += " (" + e.Origin + ", " + shortDigest(e.Digest) + ")"
	}
	return text
}

// text returns which policy is loosened to what, by which line, and why.
func (l loosened) text() string {
	what := "loosened to a warning"
	if l.Action == spec.ActionIgnore {
		what = "ignored"
	}
	return fmt.Sprintf("%s is %s by %s: %s", l.Policy, what, l.Pos, l.Reason)
}

// shortDigest returns as much of a digest as people need to distinguish two.
func shortDigest(digest string) string {
	if i := strings.IndexByte(digest, ':'); i >= 0 && len(digest) > i+13 {
		return digest[:i+13]
	}
	return digest
}

func readiness(r object.Ready) string {
	switch r.Type {
	case object.ReadyConditionMatch:
		status := r.Status
		if status == "" {
			status = "True"
		}
		return r.Type + " " + r.Condition + "=" + status
	case object.ReadyCEL:
		return r.Type + " " + r.Expr
	}
	return r.Type
}

func policies(a object.Apply) string {
	parts := []string{"mode " + a.Mode, "conflict " + a.Conflict, "adopt " + a.Adopt, "deletion " + a.Deletion}
	if a.Prune != nil {
		parts = append(parts, fmt.Sprintf("prune %t", *a.Prune))
	}
	return strings.Join(parts, ", ")
}

func (v *valueOrigin) text() string {
	var b strings.Builder
	value, _ := command.Encode(v.Value)
	fmt.Fprintf(&b, "\n%s = %s\n", v.Path, command.Lines(string(value), "  "))
	switch {
	case v.Input.IsValid():
		fmt.Fprintf(&b, "  comes from %s", v.Input)
		if v.InputPath != "" {
			fmt.Fprintf(&b, " (%s)", v.InputPath)
		}
		b.WriteByte('\n')
	case v.From != "":
		fmt.Fprintf(&b, "  comes from the %s", v.From)
		for i, pos := range v.Values {
			b.WriteString([]string{", with values at ", ", "}[min(i, 1)] + pos.String())
		}
		b.WriteByte('\n')
	default:
		b.WriteString("  comes from the module alone\n")
	}
	if v.Module.IsValid() {
		fmt.Fprintf(&b, "  written by %s\n", v.Module)
	}
	return b.String()
}

// mostEdges is how many edges are written for people: half the objects of a
// project may need its Namespace.
const mostEdges = 20

// writeEdges writes one line for each edge, gating ones first.
func writeEdges(b *strings.Builder, title string, edges []edge) {
	if len(edges) == 0 {
		return
	}
	edges = slices.Clone(edges)
	slices.SortStableFunc(edges, func(x, y edge) int { return y.weight() - x.weight() })
	fmt.Fprintf(b, "\n%s\n", title)
	more := max(0, len(edges)-mostEdges)
	edges = edges[:len(edges)-more]
	width := 0
	for _, e := range edges {
		width = max(width, len(e.Name))
	}
	for _, e := range edges {
		fmt.Fprintf(b, "  %-*s  %s: %s\n", width, e.Name, e.why(), e.effect())
	}
	if more > 0 {
		fmt.Fprintf(b, "  and %d more; --format json has all of them\n", more)
	}
}

// weight returns how much the edge affects the order: 2 for one that opens a wave, 0 for one in
// either order.
func (e edge) weight() int {
	switch {
	case e.Gating:
		return 2
	case e.Loose:
		return 0
	}
	return 1
}

// why returns what requires the edge.
func (e edge) why() string {
	text := string(e.Rule)
	if e.Rule == graph.RuleSpec {
		text = string(graph.RuleDependsOn)
	}
	if e.Path != "" {
		text += " at " + e.Path
	}
	if e.Pos.IsValid() {
		text += " (" + e.Pos.String() + ")"
	}
	return text
}

// effect returns how the edge affects the order. Only the data has the reason of an edge that opens
// no wave: it is nearly always the same.
func (e edge) effect() string {
	switch {
	case e.Gating:
		return "opens a new wave: " + e.Reason
	case e.Loose:
		return "in either order"
	}
	return "needs no new wave"
}
