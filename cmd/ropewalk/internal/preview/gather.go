// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	utilversion "k8s.io/apimachinery/pkg/util/version"

	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/emit"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/order"
)

// Side is one side of an environment.
type Side struct {
	// Outline is nil where the side does not render.
	Outline *Outline
	// Findings are its warnings, or the mistakes that keep it from being rendered.
	Findings object.Errors
	// Policies are the names of those that apply to its specs.
	Policies []string
	// Picture is the graph as SVG, nil where there is none.
	Picture []byte
}

// NewSide returns a side that renders to a snapshot, with the plan of its waves if that is known.
func NewSide(snapshot diff.Snapshot, plan order.Document) Side {
	waves := plan.Waves
	for _, i := range snapshot.Items { // those of an artifact
		waves = max(waves, i.Wave+1)
	}
	return Side{Outline: &Outline{Waves: waves, Path: longest(plan), Totals: snapshot.Totals()}}
}

// Result is what became of one environment. Both sides are nil where it is unaffected.
type Result struct {
	Project, Path, Name string
	// Unit is set for a unit of Argo CD or Flux.
	Unit          bool
	Before, After *Side
	// Changes is the comparison of both sides, traced.
	Changes diff.Report
}

// Gather makes a report of the results of all environments.
func Gather(version string, base, head Revision, results []Result) Report {
	// Sort the environments, so that the report is the same in each run.
	out := Report{APIVersion: APIVersion, Kind: Kind, Ropewalk: version, Base: base, Head: head, Environments: []Environment{}, Objects: []Object{}, Images: []Image{}}
	slices.SortStableFunc(results, func(a, b Result) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Name, b.Name))
	})

	// Add each environment with its changes and findings.
	g := gathering{rows: map[string][]int{}, variants: map[string]int{}}
	for i, r := range results {
		e := Environment{Project: r.Project, Path: r.Path, Name: r.Name, Unit: r.Unit, Before: outline(r.Before), After: outline(r.After), Findings: findings(r)}
		for _, c := range r.changes(&e) {
			e.Counts.add(c.Kind)
			e.Counts.Dangers += len(c.Dangers)
			g.add(&out, i, r, c)
		}
		for _, f := range e.Findings {
			if f.Policy != "" && f.State == FindingNew && f.Severity != object.SeverityNote {
				e.Counts.Violations++
			}
		}
		out.Counts.Violations += e.Counts.Violations
		out.Environments = append(out.Environments, e)
		out.pictures = append(out.pictures, r.picture())
	}

	// Count objects, of which several environments may have the same change.
	for _, o := range out.Objects {
		out.Counts.add(o.kind())
		for _, v := range o.Variants {
			out.Counts.Dangers += len(v.Dangers)
		}
	}

	// Sort the objects, and summarize the report.
	slices.SortStableFunc(out.Objects, func(a, b Object) int {
		return cmp.Or(strings.Compare(a.Project, b.Project), strings.Compare(a.Node.Spec(), b.Node.Spec()))
	})
	out.Images = out.images()
	out.Notes = out.notes()
	out.Summary = out.summary()
	return out
}

// changes returns what is different in an environment, and sets its state.
func (r Result) changes(e *Environment) []diff.Change {
	// The state depends on which sides were rendered.
	switch {
	case r.Before == nil && r.After == nil:
		e.State = Unaffected
		return nil
	case r.After != nil && r.After.Outline == nil:
		e.State = Failed
		return nil
	case r.Before == nil:
		e.State = Created
	case r.After == nil:
		e.State = Deleted
	case r.Before.Outline == nil:
		e.State = Alone
	case len(r.Changes.Changes) == 0:
		e.State = Unchanged
	default:
		e.State = Changed
	}
	if r.After == nil && r.Before.Outline == nil {
		return nil // What cannot be rendered is gone.
	}

	// A head without a base is shown as it is.
	changes := r.Changes.Changes
	e.Unchanged = r.Changes.Unchanged
	if e.State == Alone {
		changes = slices.Clone(changes)
		for i := range changes {
			changes[i].Kind = Present
			changes[i].Dangers = nil
		}
	}
	return changes
}

// picture returns the picture of the head, or that of the base if there is no head.
func (r Result) picture() []byte {
	switch {
	case r.After != nil:
		return r.After.Picture
	case r.Before != nil:
		return r.Before.Picture
	}
	return nil
}

// outline returns a side in short, or nil if it was not rendered.
func outline(s *Side) *Outline {
	if s == nil {
		return nil
	}
	return s.Outline
}

// longest returns the longest path of a plan: from a node of the last wave that waits for another
// one back to one that waits for none.
func longest(plan order.Document) []Step {
	byID := make(map[object.ID]order.NodeDocument, len(plan.Nodes))
	for _, n := range plan.Nodes {
		byID[n.ID] = n
	}
	var at *order.NodeDocument
	for i := range plan.Nodes {
		n := &plan.Nodes[i]
		if n.After != "" && (at == nil || n.Wave > at.Wave || n.Wave == at.Wave && runs(n.Object) && !runs(at.Object)) {
			at = n
		}
	}
	var out []Step
	for at != nil && len(out) <= len(plan.Nodes) {
		out = append(out, Step{Node: at.ID, Object: at.Object, Wave: at.Wave, Reason: at.Reason})
		next, ok := byID[at.After]
		if !ok {
			break
		}
		at = &next
	}
	slices.Reverse(out)
	return out
}

// runs reports whether an object has pods, so that it is healthy later than others.
func runs(r object.Ref) bool {
	switch r.GroupKind() {
	case "Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "Job.batch", "Pod":
		return true
	}
	return false
}

// findings returns the findings of both sides, sorted: new ones first, then errors before warnings.
func findings(r Result) []Finding {
	// Two findings are the same if they have the same text about the same node.
	sides := func(s *Side) object.Errors {
		if s == nil {
			return nil
		}
		return s.Findings
	}
	key := func(e *object.Error) string {
		return fmt.Sprint(e.Severity, "\x00", e.Policy, "\x00", e.Node, "\x00", e.Sentence())
	}

	// A finding of the head is new if the base does not have it.
	old := map[string]bool{}
	for _, e := range sides(r.Before) {
		old[key(e)] = true
	}
	var out []Finding
	now := map[string]bool{}
	for _, e := range sides(r.After) {
		state := FindingNew
		if old[key(e)] {
			state = FindingKnown
		}
		now[key(e)] = true
		out = append(out, finding(e, state, "head", r.After))
	}

	// A finding of the base alone is gone.
	for _, e := range sides(r.Before) {
		if !now[key(e)] && r.After != nil {
			out = append(out, finding(e, FindingGone, "base", r.Before))
		}
	}

	// A policy that applies no more finds nothing, which is a finding.
	if r.Before != nil && r.After != nil && r.Before.Outline != nil && r.After.Outline != nil {
		for _, name := range r.Before.Policies {
			if !slices.Contains(r.After.Policies, name) {
				out = append(out, Finding{Severity: object.SeverityWarning, State: FindingNew, Policy: name, Message: "the policy applies to no spec any more"})
			}
		}
	}

	// New findings come first.
	rank := map[string]int{FindingNew: 0, FindingKnown: 1, FindingGone: 2}
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(rank[a.State], rank[b.State]), cmp.Compare(a.Severity, b.Severity))
	})
	return out
}

func finding(e *object.Error, state, side string, of *Side) Finding {
	e = object.Shown(e)
	out := Finding{Severity: e.Severity, State: state, Policy: e.Policy, Node: e.Node, Hint: e.Hint, Reason: e.Reason, Pos: e.Pos, At: e.Pos.String()}
	unnamed := *e
	unnamed.Policy = ""
	unnamed.Node = ""
	out.Message = unnamed.Sentence()
	if of.Outline == nil {
		out.Side = side
	}
	return out
}

// gathering joins the changes of environments.
type gathering struct {
	// rows are the indices of objects by project, kind and name, and variants those of
	// variants by row and content.
	rows     map[string][]int
	variants map[string]int
}

// add adds a change of an environment.
func (g *gathering) add(out *Report, environment int, r Result, c diff.Change) {
	// Find the row of the object, or add one.
	key := strings.Join([]string{r.Path, c.Ref.GroupKind(), c.Ref.Name}, "\x00")
	row := -1
	for _, i := range g.rows[key] {
		// Two objects of one environment are two rows.
		used := slices.ContainsFunc(out.Objects[i].Variants, func(v Variant) bool { return slices.Contains(v.Environments, environment) })
		if !used {
			row = i
			break
		}
	}
	if row < 0 {
		row = len(out.Objects)
		out.Objects = append(out.Objects, Object{Project: r.Project, Node: c.Node, Group: c.Ref.Group, Kind: c.Ref.Kind, Name: c.Ref.Name})
		g.rows[key] = append(g.rows[key], row)
	}

	// Changes that differ only in the namespace of the environment are the same.
	v := Variant{Environments: []int{environment}, Change: c}
	content := c
	content.Ref.Namespace = "" // that of the environment
	data, err := json.Marshal(content)
	same := fmt.Sprint(row, "\x00", string(data))
	if c.Object != nil {
		v.Manifest = string(emit.YAML(c.Object))
		same += "\x00" + strings.Replace(v.Manifest, "\n  namespace: "+c.Ref.Namespace+"\n", "\n", 1)
	}

	// Join environments with the same change.
	o := &out.Objects[row]
	if i, known := g.variants[same]; known && err == nil {
		o.Variants[i].join(environment, c.Ref.Namespace)
		return
	}
	g.variants[same] = len(o.Variants)
	o.Variants = append(o.Variants, v)
}

// join adds an environment with the namespace of the object there.
func (v *Variant) join(environment int, namespace string) {
	if v.Namespaces == nil && namespace != v.Ref.Namespace {
		for range v.Environments {
			v.Namespaces = append(v.Namespaces, v.Ref.Namespace)
		}
	}
	if v.Namespaces != nil {
		v.Namespaces = append(v.Namespaces, namespace)
	}
	v.Environments = append(v.Environments, environment)
}

// kind returns what happens to an object, the worst if environments differ.
func (o Object) kind() diff.Kind {
	worst := []diff.Kind{diff.Deleted, diff.Recreated, diff.Changed, diff.Created, diff.Moved, Present}
	for _, k := range worst {
		if slices.ContainsFunc(o.Variants, func(v Variant) bool { return v.Kind == k }) {
			return k
		}
	}
	return Present
}

// images returns the images that differ, joined over the environments.
func (r Report) images() []Image {
	out := []Image{}
	rows := map[string]int{}
	for i, e := range r.Environments {
		before, after := tags(e.Before), tags(e.After)
		if e.State == Alone || e.State == Failed {
			continue
		}
		names := maps.Clone(before)
		maps.Copy(names, after)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if slices.Equal(before[name], after[name]) {
				continue
			}
			key := fmt.Sprint(name, "\x00", before[name], "\x00", after[name])
			at, known := rows[key]
			if !known {
				at = len(out)
				rows[key] = at
				out = append(out, Image{Name: name, Before: append([]string{}, before[name]...), After: append([]string{}, after[name]...), Major: major(before[name], after[name])})
			}
			out[at].Environments = append(out[at].Environments, i)
		}
	}
	slices.SortStableFunc(out, func(a, b Image) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// major reports whether an image goes from one version to another major one.
func major(before, after []string) bool {
	if len(before) != 1 || len(after) != 1 {
		return false
	}
	version := func(of string) (uint, bool) {
		tag, _, _ := strings.Cut(strings.TrimPrefix(of, ":"), "@")
		v, err := utilversion.ParseGeneric(tag)
		if err != nil || v.Major() >= 1000 { // A date.
			return 0, false
		}
		return v.Major(), true
	}
	was, known := version(before[0])
	is, ok := version(after[0])
	return known && ok && was != is
}

// onlyImages reports whether nothing changes but the images of containers, and the
// versions in labels that go with them.
func (r Report) onlyImages() bool {
	for _, o := range r.Objects {
		for _, v := range o.Variants {
			if v.Kind != diff.Changed || v.Wave != nil || v.Layer != nil || len(v.Dangers) > 0 {
				return false
			}
			for _, f := range v.Fields {
				version := strings.HasSuffix(f.Path, `labels."app.kubernetes.io/version"`) || strings.HasSuffix(f.Path, `labels."helm.sh/chart"`)
				image := strings.HasSuffix(f.Path, ".image") && strings.Contains(f.Path, "ontainers[")
				if !version && !image {
					return false
				}
			}
		}
	}
	return len(r.Objects) > 0
}

// tags returns the tags and digests of the images of a side, sorted, by their names.
func tags(o *Outline) map[string][]string {
	out := map[string][]string{}
	if o == nil {
		return out
	}
	for _, image := range slices.Sorted(maps.Keys(o.Totals.Images)) {
		name, digest, pinned := strings.Cut(image, "@")
		version := ""
		if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
			version = name[i:]
			name = name[:i]
		}
		if pinned {
			version += "@" + digest
		}
		out[name] = append(out[name], version)
	}
	return out
}
