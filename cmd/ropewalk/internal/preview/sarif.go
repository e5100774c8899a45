// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/ci"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/object"
)

// SARIF returns the dangers and the findings of the head as SARIF 2.1.0, for code scanning.
func (r Report) SARIF() ([]byte, error) {
	var results []ci.Result
	add := func(one ci.Result) {
		if !inRepository(one.Pos) {
			one.Pos = object.Pos{}
		}
		results = append(results, one)
	}
	for _, o := range r.Objects {
		for _, v := range o.Variants {
			e := r.Environments[v.Environments[0]]
			for _, d := range v.Dangers {
				add(ci.Result{Rule: "danger/" + d.Code, Level: "warning", Subject: v.Title() + " (" + r.names(v.Environments) + ")", Text: d.Message, Pos: v.Pos, Folder: e.Path})
			}
		}
	}
	seen := map[string]bool{}
	for _, e := range r.Environments {
		for _, f := range e.Findings {
			rule := ci.RuleOf(f.Policy)
			key := strings.Join([]string{rule, string(f.Node), f.At, f.Message}, "\x00")
			if f.State == FindingGone || f.Side == "base" || seen[key] {
				continue
			}
			seen[key] = true
			add(ci.Result{Rule: rule, Level: f.Severity.String(), Subject: string(f.Node), Text: f.Message, Reason: f.Reason, Pos: f.Pos, Folder: e.Path})
		}
	}
	return ci.SARIF(r.Ropewalk, results, describe)
}

// names returns environments by their titles.
func (r Report) names(environments []int) string {
	names := make([]string, len(environments))
	for i, e := range environments {
		names[i] = r.label(r.Environments[e])
	}
	if more := len(names) - mostNames; more > 0 {
		names = append(names[:mostNames], printable.Count(more, "more "+noun(r.Environments)))
	}
	return and(names)
}

// label returns the name of an environment, with its project if there are several.
func (r Report) label(e Environment) string {
	several := slices.ContainsFunc(r.touched(), func(other Environment) bool { return other.Path != e.Path })
	if several || e.Name == "" {
		return e.Title()
	}
	return e.Name
}

// describe returns what a rule is about.
func describe(rule string) string {
	if name, ok := strings.CutPrefix(rule, "danger/"); ok {
		return cmp.Or(dangerTitles()[name], name)
	}
	return ci.Describe(rule)
}

// dangerTitles returns the kinds of dangers in words.
func dangerTitles() map[string]string {
	return map[string]string{
		diff.DangerData: "Data can be lost", diff.DangerOrphan: "Stays in the cluster unmanaged", diff.DangerPrune: "Is pruned from now on",
		diff.DangerRecreate: "Must be recreated", diff.DangerHandover: "Changes its owner", diff.DangerCRD: "A definition changes",
		diff.DangerRBAC: "Rights are widened", diff.DangerExposure: "Becomes reachable", diff.DangerUnreachable: "Is no longer reachable",
		diff.DangerHost: "Access to the node", diff.DangerStopped: "Is stopped", diff.DangerDeleted: "Is deleted",
		diff.DangerSelector: "Selects other pods", diff.DangerImage: "An image that may change or goes back",
		diff.DangerPolicy: "A restriction is removed or loosened", diff.DangerSecret: "A reference to a Secret is removed",
	}
}

// dangerOrder returns the kinds of dangers, the worst first.
func dangerOrder() []string {
	return []string{
		diff.DangerData, diff.DangerRecreate, diff.DangerDeleted, diff.DangerUnreachable, diff.DangerStopped, diff.DangerCRD, diff.DangerSecret,
		diff.DangerPolicy, diff.DangerRBAC, diff.DangerHost, diff.DangerExposure, diff.DangerSelector, diff.DangerImage,
		diff.DangerHandover, diff.DangerPrune, diff.DangerOrphan,
	}
}

// inRepository reports whether a position is in a file of the repository, and not in a
// module of another source or on the command line.
func inRepository(at object.Pos) bool { return ci.InFile(at) && !path.IsAbs(at.File) }
