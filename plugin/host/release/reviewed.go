// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/object"
)

// PreviewPlan is what a preview showed: the manifests of each project and environment at the head
// of a change.
type PreviewPlan struct {
	Header   `yaml:",inline"`
	Spec     PreviewPlanSpec `yaml:"spec"`
	Checksum string          `yaml:"checksum"`
}

// PreviewPlanSpec is the content of a PreviewPlan.
type PreviewPlanSpec struct {
	Ropewalk string `yaml:"ropewalk"`
	// Base and Head are the sides of the change, as provenance: they are not compared, because a
	// change that is merged has another commit than the head that was reviewed.
	Base Revision `yaml:"base"`
	Head Revision `yaml:"head"`
	// Summary is the first sentence of the report.
	Summary string     `yaml:"summary"`
	Renders []Reviewed `yaml:"renders"`
}

// Revision is a side of a change.
type Revision struct {
	Name   string `yaml:"name"`
	Commit string `yaml:"commit,omitempty"`
}

// Reviewed is one render.
type Reviewed struct {
	Project     string `yaml:"project"`
	Environment string `yaml:"environment,omitempty"`
	Dialect     string `yaml:"dialect"`
	// Tree is the digest of all manifests, as "ropewalk build" prints it.
	Tree string `yaml:"tree"`
	// Objects are the digests of the manifests by the names of their objects. They tell which of
	// them differ where the tree does.
	Objects map[string]string `yaml:"objects,omitempty"`
}

// Seal sets the checksum, and returns the document as YAML.
func (p *PreviewPlan) Seal() ([]byte, error) { return seal(p, &p.Checksum) }

// Title returns the name of a render, such as shop prod.
func (r Reviewed) Title() string { return strings.TrimSuffix(r.Project+" "+r.Environment, " ") }

// mostDifferent is how many objects a message names.
const mostDifferent = 5

// Mismatch returns why a render is not one of the plan, or "" if it is. A render without a project,
// such as an artifact without provenance, may be any of them.
func (p *PreviewPlan) Mismatch(got Reviewed) string {
	// Find the render in the plan.
	var titles []string
	var found []Reviewed
	for _, r := range p.Spec.Renders {
		titles = append(titles, r.Title())
		isSame := r.Project == got.Project && r.Environment == got.Environment
		if got.Project == "" || isSame {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		slices.Sort(titles)
		return fmt.Sprintf("%s was not reviewed: the plan has %s", got.Title(), cmp.Or(printable.List(slices.Compact(titles), mostDifferent), "nothing"))
	}
	if slices.ContainsFunc(found, func(r Reviewed) bool { return r.Tree == got.Tree }) {
		return ""
	}

	// Tell what is different from the render that is nearest to it.
	nearest := slices.MinFunc(found, func(a, b Reviewed) int { return cmp.Compare(len(a.differences(got)), len(b.differences(got))) })
	what := printable.List(nearest.differences(got), mostDifferent)
	switch {
	case got.Dialect != "" && got.Dialect != nearest.Dialect:
		what = fmt.Sprintf("it was reviewed in the dialect %s, and this is %s", nearest.Dialect, got.Dialect)
	case what == "":
		what = "its objects are the same, in other files"
	}
	at := p.Spec.Head.Name
	if p.Spec.Head.Commit != "" {
		at = printable.Revision("sha1:" + p.Spec.Head.Commit)
	}
	return fmt.Sprintf("%s is not what was reviewed at %s: %s", nearest.Title(), strings.TrimPrefix(at, "sha1:"), what)
}

// differences returns what is different in the objects of another render, sorted by their names.
func (r Reviewed) differences(got Reviewed) (out []string) {
	all := map[string]bool{}
	for name := range r.Objects {
		all[name] = true
	}
	for name := range got.Objects {
		all[name] = true
	}
	for _, name := range object.SortedKeys(all) {
		before, was := r.Objects[name]
		after, is := got.Objects[name]
		switch {
		case !was:
			out = append(out, name+" is new")
		case !is:
			out = append(out, name+" is gone")
		case before != after:
			out = append(out, name+" differs")
		}
	}
	return out
}

// previewPlan returns the fields of a PreviewPlan.
func previewPlan() []field {
	revision := func(name, doc string) field {
		return field{Name: name, Kind: fields, Need: true, Doc: doc, Fields: []field{{Name: "name", Kind: text, Need: true, Full: true}, {Name: "commit", Kind: text, Full: true}}}
	}
	return []field{
		wrote(),
		revision("base", "What the change was compared with."),
		revision("head", "What was reviewed. It is not compared: the same manifests may come of another commit."),
		{Name: "summary", Kind: text, Need: true, Doc: "The first sentence of the report."},
		{Name: "renders", Kind: list, Need: true, Fields: []field{
			{Name: "project", Kind: text, Need: true, Full: true},
			{Name: "environment", Kind: text, Full: true},
			{Name: "dialect", Kind: text, Need: true, Full: true},
			{Name: "tree", Kind: text, Need: true, Rule: digest(), Doc: "The digest of all manifests, as \"ropewalk build\" prints it."},
			{Name: "objects", Kind: fields, Each: &field{Kind: text, Rule: digest()}, Doc: "The digests of the manifests by the names of their objects: they tell what differs where the tree does."},
		}},
	}
}
