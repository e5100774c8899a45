// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"

	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/object"
)

// The type of a [Report] as JSON. A field is only ever added to a version.
const (
	APIVersion = "ropewalk.dev/v1alpha1"
	Kind       = "Preview"
)

// Report is what a change does to all environments of all projects.
type Report struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Ropewalk is the version that rendered both sides.
	Ropewalk string   `json:"ropewalk"`
	Base     Revision `json:"base"`
	Head     Revision `json:"head"`
	// Summary is one sentence.
	Summary string `json:"summary"`
	// Notes are what a reader must know of how the report was made.
	Notes []string `json:"notes,omitempty"`
	// Counts are those of Objects: one that changes in three environments counts once.
	Counts Counts `json:"counts"`
	// Environments are in the order of their projects and names.
	Environments []Environment `json:"environments"`
	// Objects are in the order of their projects and specs.
	Objects []Object `json:"objects"`
	// Images are those that come, go or move to another tag, by their names.
	Images []Image `json:"images"`
	// pictures are those of Environments.
	pictures [][]byte
}

// Image is an image that containers use in other versions than before.
type Image struct {
	// Name is without tag and digest.
	Name string `json:"name"`
	// Before and After are the tags and digests on both sides, sorted: ":1.2" or
	// "@sha256:…".
	Before []string `json:"before"`
	After  []string `json:"after"`
	// Major is whether its major version differs.
	Major bool `json:"major,omitempty"`
	// Environments are those with these sides.
	Environments []int `json:"environments"`
}

// Revision is one of the two sides.
type Revision struct {
	// Name is what the user called it, or "working tree".
	Name string `json:"name"`
	// Commit is the hash of what was rendered, "" for a working tree and an artifact.
	Commit string `json:"commit,omitempty"`
	// Tip is the hash that Name leads to, where Commit is not that but the merge base.
	Tip string `json:"tip,omitempty"`
	// Ropewalk is the version that rendered an artifact, "" where this one did.
	Ropewalk string `json:"ropewalk,omitempty"`
	// Problem is why there is nothing to compare with, "" where there is.
	Problem string `json:"problem,omitempty"`
	// Notes are sentences for those of the report.
	Notes []string `json:"-"`
}

// title returns the name, with the merge base if it is one.
func (r Revision) title() string {
	const short = 10
	if r.Tip == "" {
		return r.Name
	}
	return fmt.Sprintf("%s at the merge base %.*s", r.Name, short, r.Commit)
}

// State is what became of an environment.
type State string

// The states of an environment.
const (
	// Changed has objects that change, and Unchanged has none of them although the change
	// touches what the environment is rendered from.
	Changed   State = "changed"
	Unchanged State = "unchanged"
	// Unaffected is rendered from the same files, modules and locks on both sides, and was
	// not rendered.
	Unaffected State = "unaffected"
	// Created and Deleted are in one of the sides only.
	Created State = "created"
	Deleted State = "deleted"
	// Alone is shown without a comparison: there is no base, or it does not render.
	Alone State = "alone"
	// Failed does not render.
	Failed State = "failed"
)

// Present is the kind of the objects of an environment that is [Alone].
const Present diff.Kind = "present"

// Environment is one environment of one project.
type Environment struct {
	Project string `json:"project"`
	// Path is the folder of the project in the repository.
	Path string `json:"path"`
	// Name is "" where the project has no environments.
	Name string `json:"name,omitempty"`
	// Unit is set for what Argo CD or Flux apply at once: Project is its name, Path its file and Name
	// its cluster.
	Unit   bool   `json:"unit,omitempty"`
	State  State  `json:"state"`
	Counts Counts `json:"counts"`
	// Unchanged is how many objects are the same on both sides.
	Unchanged int `json:"unchanged"`
	// Before and After are nil where that side was not rendered.
	Before *Outline `json:"before,omitempty"`
	After  *Outline `json:"after,omitempty"`
	// Findings are the results of policies and checks, and why a side does not render.
	Findings []Finding `json:"findings,omitempty"`
}

// Title returns the project with the environment.
func (e Environment) Title() string {
	if e.Name == "" {
		return e.Project
	}
	return e.Project + " " + e.Name
}

// Counts are numbers of objects by what happens to them.
type Counts struct {
	Created   int `json:"created,omitempty"`
	Changed   int `json:"changed,omitempty"`
	Recreated int `json:"recreated,omitempty"`
	Moved     int `json:"moved,omitempty"`
	Deleted   int `json:"deleted,omitempty"`
	Present   int `json:"present,omitempty"`
	Dangers   int `json:"dangers,omitempty"`
	// Violations are results of policies that the base does not have, without what a spec ignores.
	Violations int `json:"violations,omitempty"`
}

// total returns how many objects are different.
func (c Counts) total() int { return c.Created + c.Changed + c.Recreated + c.Moved + c.Deleted }

// add counts an object.
func (c *Counts) add(kind diff.Kind) {
	switch kind {
	case diff.Created:
		c.Created++
	case diff.Changed:
		c.Changed++
	case diff.Recreated:
		c.Recreated++
	case diff.Moved:
		c.Moved++
	case diff.Deleted:
		c.Deleted++
	case Present:
		c.Present++
	}
}

// Outline is one side of an environment in short.
type Outline struct {
	Waves int `json:"waves"`
	// Path is the longest chain of objects that wait for one another, first the one that
	// waits for nothing: everything is healthy when the last of them is.
	Path   []Step      `json:"path,omitempty"`
	Totals diff.Totals `json:"totals"`
}

// Step is one object of a path.
type Step struct {
	Node   object.ID  `json:"node"`
	Object object.Ref `json:"object"`
	Wave   int        `json:"wave"`
	// Reason is a sentence on why the object is in its wave.
	Reason string `json:"reason"`
}

// Finding is the result of a policy or of a check.
type Finding struct {
	// Severity is error, warning or note; a note is what a spec ignores, and that it does.
	Severity object.Severity `json:"severity"`
	// State is new where the base does not have it, known where it does, and gone where
	// only the base has it.
	State string `json:"state"`
	// Side is base or head for an error that keeps it from being rendered.
	Side string `json:"side,omitempty"`
	// Policy is its name, "" for what is none.
	Policy  string    `json:"policy,omitempty"`
	Node    object.ID `json:"node,omitempty"`
	Message string    `json:"message"`
	Hint    string    `json:"hint,omitempty"`
	// Reason is why the spec loosens the policy, "" where the policy holds as it is.
	Reason string `json:"reason,omitempty"`
	At     string `json:"at,omitempty"`
	// Pos is At as a position.
	Pos object.Pos `json:"-"`
}

// isProblem reports whether a finding keeps the head from being rendered, and is the fault of the
// change. A head that renders no worse than its base has warnings instead.
func (f Finding) isProblem() bool {
	return f.Side == "head" && f.Severity == object.SeverityError
}

// The states of a finding.
const (
	FindingNew   = "new"
	FindingKnown = "known"
	FindingGone  = "gone"
)

// Object is an object that is different in at least one environment.
type Object struct {
	Project string    `json:"project"`
	Node    object.ID `json:"node,omitempty"`
	Group   string    `json:"group,omitempty"`
	Kind    string    `json:"kind"`
	Name    string    `json:"name"`
	// Variants are the different changes, each with its environments.
	Variants []Variant `json:"variants"`
}

// Variant is a change that is the same in several environments.
type Variant struct {
	// Environments are indices of [Report].Environments.
	Environments []int `json:"environments"`
	// Namespaces are those of the object in each of Environments, where they differ.
	Namespaces []string `json:"namespaces,omitempty"`
	diff.Change
	// Manifest is a created or a deleted object as YAML, "" where there was no room for it.
	Manifest string `json:"manifest,omitempty"`
}

// Title returns the kind of the object with its name, and its namespace if it has one.
func (v Variant) Title() string {
	if len(v.Namespaces) > 0 {
		ref := v.Ref
		ref.Namespace = ""
		return ref.String()
	}
	return v.Ref.String()
}
