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

// maxResults limits the results in a file for code scanning: GitHub rejects a file with more
// than 25,000 and shows 5,000.
const maxResults = 5000

// Result is one line of a file of results.
type Result struct {
	// Rule is the rule of the result, such as check or policy/NAME.
	Rule string
	// Level is error, warning or note.
	Level string
	// Subject names the object of the text; "" if the text names it.
	Subject, Text string
	// Hint is advice for the user; "" if the text has it.
	Hint string
	// Reason is the reason for loosening the policy; "" for a policy that holds as it is.
	Reason string
	Pos    object.Pos
	// Folder is the folder of the project. It replaces a position outside of the
	// repository.
	Folder string
}

// Of returns mistakes as results of a project in a folder, each as [object.Shown] shows it.
func Of(mistakes object.Errors, folder string) []Result {
	out := make([]Result, len(mistakes))
	for i, mistake := range mistakes {
		e := object.Shown(mistake)
		out[i] = Result{
			Rule:   RuleOf(e.Policy),
			Level:  e.Severity.String(),
			Text:   e.Sentence(),
			Hint:   e.Hint,
			Reason: e.Reason,
			Pos:    e.Pos,
			Folder: folder,
		}
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
	// suppression marks a result that a spec ignores, with the reason.
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

// SARIF returns results of a version of Ropewalk as SARIF 2.1.0: at most 5,000 of them, and the number
// of the others. The texts of rules come from describe.
func SARIF(version string, findings []Result, describe func(rule string) string) ([]byte, error) {
	results := []sarifResult{}
	for _, r := range findings[:min(len(findings), maxResults)] {
		subject := printable.Line(r.Subject)
		text := printable.Line(r.Text)
		sum := sha256.Sum256([]byte(strings.Join([]string{r.Rule, subject, text}, "\x00")))
		result := sarifResult{
			RuleID:              r.Rule,
			Level:               r.Level,
			Message:             sarifText{Text: r.line()},
			Locations:           []sarifLocation{location(r.Pos, r.Folder)},
			PartialFingerprints: map[string]string{"ropewalk/v1": hex.EncodeToString(sum[:])},
		}
		if r.Reason != "" && r.Level == object.SeverityNote.String() {
			result.Suppressions = []suppression{{Kind: "inSource", Justification: printable.Line(r.Reason)}}
		}
		results = append(results, result)
	}
	driver := sarifDriver{Name: "Ropewalk", Version: version, Rules: rulesOf(results, describe)}
	run := sarifRun{Tool: sarifTool{Driver: driver}, Results: results}
	if left := len(findings) - len(results); left > 0 {
		run.Properties = map[string]any{"resultsLeftOut": left}
	}
	report := sarif{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
	data, err := json.MarshalIndent(report, "", "  ")
	return append(data, '\n'), err
}

// location returns a line of a file. A result without a file is about the project in a folder.
func location(pos object.Pos, folder string) sarifLocation {
	if !InFile(pos) {
		pos = object.Pos{File: path.Join(folder, spec.ProjectFile)}
	}
	file := sarifArtifact{URI: (&url.URL{Path: path.Clean(pos.File)}).EscapedPath(), URIBaseID: "%SRCROOT%"}
	if path.IsAbs(pos.File) {
		file = sarifArtifact{URI: (&url.URL{Scheme: "file", Path: path.Clean(pos.File)}).String()}
	}
	return sarifLocation{sarifPhysical{ArtifactLocation: file, Region: sarifRegion{StartLine: max(1, pos.Line)}}}
}

// InFile reports whether a position is in a file below the folder in which the command runs, or
// in a file with an absolute path. It is false for modules of other sources and for flags.
func InFile(pos object.Pos) bool {
	file := path.Clean(pos.File)
	isFlag := strings.HasPrefix(file, "-") || strings.HasPrefix(file, ".given/")
	local := filepath.IsLocal(file) && !isFlag && !strings.Contains(file, ":")
	return pos.IsValid() && (local || path.IsAbs(file))
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

// RuleOf returns the rule for the results of a policy, or the rule of the checks of Ropewalk itself if
// policy is "".
func RuleOf(policy string) string {
	if policy == "" {
		return "check"
	}
	return "policy/" + printable.Line(policy)
}

// Describe describes a rule of [Of].
func Describe(rule string) string {
	if name, ok := strings.CutPrefix(rule, "policy/"); ok {
		return "Policy " + name
	}
	return "Checks of specs and of objects"
}
