// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package ci

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
)

// maxResults is how many results a file for code scanning has: GitHub rejects one with
// more than 25,000 and shows 5,000.
const maxResults = 5000

// Result is one line of a file of results.
type Result struct {
	// Rule is what was found, such as check or policy/NAME.
	Rule string
	// Level is error, warning or note.
	Level string
	// Subject is what the text is about, "" where the text says it.
	Subject, Text string
	// Hint is what to do, "" where the text says it.
	Hint string
	// Reason is why the author loosened the policy, "" where the policy holds as it is.
	Reason string
	Pos    object.Pos
	// Folder is that of the project, which stands in for a position outside of the
	// repository.
	Folder string
}

// Of returns mistakes as results of a project in a folder, each as [object.Shown] shows it.
func Of(mistakes object.Errors, folder string) []Result {
	out := make([]Result, len(mistakes))
	for i, mistake := range mistakes {
		e := object.Shown(mistake)
		out[i] = Result{Rule: RuleOf(e.Policy), Level: e.Severity.String(), Text: e.Sentence(), Hint: e.Hint, Reason: e.Reason, Pos: e.Pos, Folder: folder}
	}
	return out
}

// line returns all of a result, as one line.
func (r Result) line() string {
	text := strings.TrimPrefix(printable.Line(r.Subject)+": "+printable.Line(r.Text), ": ")
	if r.Hint != "" {
		text += " (" + printable.Line(r.Hint) + ")"
	}
	return text
}

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
		Suppressions        []suppression     `json:"suppressions,omitempty"`
	}
	// suppression is why a result asks for nothing: what a spec ignores, with its reason.
	suppression struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification"`
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
		URIBaseID string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
)

// SARIF returns results of a version of Ropewalk as SARIF 2.1.0, at most 5,000 of them. How many
// are left out stands in it. The texts of rules come from describe.
func SARIF(version string, all []Result, describe func(rule string) string) ([]byte, error) {
	results := []sarifResult{}
	for _, r := range all[:min(len(all), maxResults)] {
		subject := printable.Line(r.Subject)
		text := printable.Line(r.Text)
		sum := sha256.Sum256([]byte(strings.Join([]string{r.Rule, subject, text}, "\x00")))
		one := sarifResult{
			RuleID: r.Rule, Level: r.Level, Message: sarifText{Text: r.line()}, Locations: []sarifLocation{location(r.Pos, r.Folder)},
			PartialFingerprints: map[string]string{"ropewalk/v1": hex.EncodeToString(sum[:])},
		}
		if r.Reason != "" && r.Level == object.SeverityNote.String() {
			one.Suppressions = []suppression{{Kind: "inSource", Justification: printable.Line(r.Reason)}}
		}
		results = append(results, one)
	}
	run := sarifRun{Tool: sarifTool{Driver: sarifDriver{Name: "Ropewalk", Version: version, Rules: rulesOf(results, describe)}}, Results: results}
	if left := len(all) - len(results); left > 0 {
		run.Properties = map[string]any{"resultsLeftOut": left}
	}
	data, err := json.MarshalIndent(sarif{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}, "", "  ")
	return append(data, '\n'), err
}

// location returns a line of a file. A result without a file is about the project in a folder.
func location(at object.Pos, folder string) sarifLocation {
	if !InFile(at) {
		at = object.Pos{File: path.Join(folder, spec.ProjectFile)}
	}
	file := sarifArtifact{URI: (&url.URL{Path: path.Clean(at.File)}).EscapedPath(), URIBaseID: "%SRCROOT%"}
	if path.IsAbs(at.File) {
		file = sarifArtifact{URI: (&url.URL{Scheme: "file", Path: path.Clean(at.File)}).String()}
	}
	return sarifLocation{sarifPhysical{ArtifactLocation: file, Region: sarifRegion{StartLine: max(1, at.Line)}}}
}

// InFile reports whether a position is in a file below the folder in which the command runs,
// or in one with its whole path, and not in a module of another source or on the command line.
func InFile(at object.Pos) bool {
	file := path.Clean(at.File)
	local := filepath.IsLocal(file) && !strings.HasPrefix(file, "-") && !strings.HasPrefix(file, ".given/") && !strings.Contains(file, ":")
	return at.IsValid() && (local || path.IsAbs(file))
}

// rulesOf returns the rules of results, sorted.
func rulesOf(results []sarifResult, describe func(string) string) []sarifRule {
	rules := []sarifRule{}
	for _, r := range results {
		if !slices.ContainsFunc(rules, func(known sarifRule) bool { return known.ID == r.RuleID }) {
			rules = append(rules, sarifRule{ID: r.RuleID, ShortDescription: sarifText{Text: describe(r.RuleID)}})
		}
	}
	slices.SortFunc(rules, func(a, b sarifRule) int { return strings.Compare(a.ID, b.ID) })
	return rules
}

// RuleOf returns the rule for the results of a policy, or that of the checks of Ropewalk itself if
// policy is "".
func RuleOf(policy string) string {
	if policy == "" {
		return "check"
	}
	return "policy/" + printable.Line(policy)
}

// Describe returns what a rule of [Of] is about.
func Describe(rule string) string {
	if name, ok := strings.CutPrefix(rule, "policy/"); ok {
		return "Policy " + name
	}
	return "Checks of specs and of objects"
}
