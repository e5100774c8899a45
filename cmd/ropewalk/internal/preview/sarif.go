// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/diff"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// maxResults is how many results a file for code scanning has: GitHub rejects one with
// more than 25,000 and shows 5,000.
const maxResults = 5000

// The parts of SARIF 2.1.0 that a report needs.
// Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
type (
	sarif struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool      `json:"tool"`
		Results    []sarifResult  `json:"results"`
		Properties map[string]any `json:"properties,omitempty"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string    `json:"id"`
		ShortDescription sarifText `json:"shortDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID              string            `json:"ruleId"`
		Level               string            `json:"level"`
		Message             sarifText         `json:"message"`
		Locations           []sarifLocation   `json:"locations"`
		PartialFingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		PhysicalLocation sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		ArtifactLocation sarifArtifact `json:"artifactLocation"`
		Region           sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI       string `json:"uri"`
		URIBaseID string `json:"uriBaseId"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
)

// SARIF is the dangers and the findings of the head as SARIF 2.1.0, for code scanning.
func (r Report) SARIF() ([]byte, error) {
	results := []sarifResult{}
	left := 0
	add := func(rule, level, subject, text string, at object.Pos, fallback string) {
		if len(results) >= maxResults {
			left++
			return
		}
		subject, text = printable.Line(subject), printable.Line(text)
		sum := sha256.Sum256([]byte(strings.Join([]string{rule, subject, text}, "\x00")))
		results = append(results, sarifResult{
			RuleID: rule, Level: level, Message: sarifText{Text: strings.TrimPrefix(subject+": "+text, ": ")}, Locations: []sarifLocation{location(at, fallback)},
			PartialFingerprints: map[string]string{"ropewalk/v1": hex.EncodeToString(sum[:])},
		})
	}
	for _, o := range r.Objects {
		for _, v := range o.Variants {
			e := r.Environments[v.Environments[0]]
			for _, d := range v.Dangers {
				add("danger/"+d.Code, "warning", v.Title()+" ("+r.names(v.Environments)+")", d.Message, v.Pos, e.Path)
			}
		}
	}
	seen := map[string]bool{}
	for _, e := range r.Environments {
		for _, f := range e.Findings {
			rule := "check"
			if f.Policy != "" {
				rule = "policy/" + printable.Line(f.Policy)
			}
			key := strings.Join([]string{rule, string(f.Node), f.At, f.Message}, "\x00")
			if f.State == FindingGone || f.Side == "base" || seen[key] {
				continue
			}
			seen[key] = true
			add(rule, f.Severity.String(), string(f.Node), f.Message, f.Pos, e.Path)
		}
	}
	run := sarifRun{Tool: sarifTool{Driver: sarifDriver{Name: "Ropewalk", Version: r.Ropewalk, Rules: rulesOf(results)}}, Results: results}
	if left > 0 {
		run.Properties = map[string]any{"resultsLeftOut": left}
	}
	data, err := json.MarshalIndent(sarif{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}, "", "  ")
	return append(data, '\n'), err
}

// names are environments by their titles.
func (r Report) names(environments []int) string {
	names := make([]string, len(environments))
	for i, e := range environments {
		names[i] = r.label(r.Environments[e])
	}
	if more := len(names) - mostNames; more > 0 {
		names = append(names[:mostNames], count(more, "more environment"))
	}
	return and(names)
}

// label is the name of an environment, with its project where there are several.
func (r Report) label(e Environment) string {
	several := slices.ContainsFunc(r.touched(), func(other Environment) bool { return other.Path != e.Path })
	if several || e.Name == "" {
		return e.Title()
	}
	return e.Name
}

// location is a line of a file of the repository; a result without one is about the
// project in a folder.
func location(at object.Pos, folder string) sarifLocation {
	if !inRepository(at) {
		at = object.Pos{File: path.Join(folder, spec.ProjectFile)}
	}
	return sarifLocation{sarifPhysical{
		ArtifactLocation: sarifArtifact{URI: (&url.URL{Path: path.Clean(at.File)}).EscapedPath(), URIBaseID: "%SRCROOT%"},
		Region:           sarifRegion{StartLine: max(1, at.Line)},
	}}
}

// inRepository reports whether a position is in a file of the repository, and not in a
// module of another source or on the command line.
func inRepository(at object.Pos) bool {
	file := path.Clean(at.File)
	return at.IsValid() && filepath.IsLocal(file) && !strings.HasPrefix(file, "-") && !strings.HasPrefix(file, ".given/") && !strings.Contains(file, ":")
}

// rulesOf are the rules of results, sorted.
func rulesOf(results []sarifResult) []sarifRule {
	rules := []sarifRule{}
	for _, r := range results {
		if !slices.ContainsFunc(rules, func(known sarifRule) bool { return known.ID == r.RuleID }) {
			rules = append(rules, sarifRule{ID: r.RuleID, ShortDescription: sarifText{Text: describe(r.RuleID)}})
		}
	}
	slices.SortFunc(rules, func(a, b sarifRule) int { return strings.Compare(a.ID, b.ID) })
	return rules
}

// describe is what a rule is about.
func describe(rule string) string {
	kind, name, _ := strings.Cut(rule, "/")
	switch kind {
	case "danger":
		return cmp.Or(dangerTitles()[name], name)
	case "policy":
		return "Policy " + name
	}
	return "Checks of specs and of objects"
}

// dangerTitles are the kinds of dangers in words.
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
