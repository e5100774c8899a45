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

// explanation describes the origin of one object and its place in the order.
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
	// Outside lists the objects that the render does not make and that must exist first.
	Outside []object.Need `json:"outside,omitempty"`
	Apply   object.Apply  `json:"apply"`
	// Loosened lists the policies of the project that hold less for the spec.
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
	// Name is the id of the other object, or the name of the other side of a
	// join for people: spec cart, apply set cart[2].
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

// valueOrigin describes the origin of a part of an object.
type valueOrigin struct {
	Path      string     `json:"path"`
	Value     any        `json:"value"`
	Input     object.Pos `json:"input,omitzero"`
	InputPath string     `json:"inputPath,omitempty"`
	Module    object.Pos `json:"module,omitzero"`
	// From names the maker of an object that no module made: a chart, a kustomization or manifests.
	From string `json:"from,omitempty"`
	// Values lists the positions of values that the user wrote for the chart.
	Values []object.Pos `json:"values,omitempty"`
}

// explain describes n by its place in plan.
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
	// Write the origin and the wave.
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

	// Write the conditions and policies of the object.
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

	// Write the origin of a value, and the edges.
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

// text describes a loosened policy: its effect, the line that loosens it, and the reason.
func (l loosened) text() string {
	effect := "loosened to a warning"
	if l.Action == spec.ActionIgnore {
		effect = "ignored"
	}
	return fmt.Sprintf("%s is %s by %s: %s", l.Policy, effect, l.Pos, l.Reason)
}

// shortDigest shortens a digest to 12 characters after its algorithm, enough for people to
// distinguish two.
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

// mostEdges limits the edges that are written for people: half the objects of
// a project may need its Namespace.
const mostEdges = 20

// writeEdges writes one line for each edge, gating ones first.
func writeEdges(b *strings.Builder, title string, edges []edge) {
	if len(edges) == 0 {
		return
	}
	edges = slices.Clone(edges)
	slices.SortStableFunc(edges, func(x, y edge) int { return y.weight() - x.weight() })
	fmt.Fprintf(b, "\n%s\n", title)
	hidden := max(0, len(edges)-mostEdges)
	edges = edges[:len(edges)-hidden]
	width := 0
	for _, e := range edges {
		width = max(width, len(e.Name))
	}
	for _, e := range edges {
		fmt.Fprintf(b, "  %-*s  %s: %s\n", width, e.Name, e.why(), e.effect())
	}
	if hidden > 0 {
		fmt.Fprintf(b, "  and %d more; --format json has all of them\n", hidden)
	}
}

// weight returns how much the edge affects the order: 2 if it opens a wave, 0 if its objects may come
// in either order, and 1 otherwise.
func (e edge) weight() int {
	switch {
	case e.Gating:
		return 2
	case e.Loose:
		return 0
	}
	return 1
}

// why returns the rule, the field and the line that require the edge.
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

// effect describes how the edge affects the order. An edge that opens no wave has its reason in the
// data only: the reason is nearly always the same.
func (e edge) effect() string {
	switch {
	case e.Gating:
		return "opens a new wave: " + e.Reason
	case e.Loose:
		return "in either order"
	}
	return "needs no new wave"
}
