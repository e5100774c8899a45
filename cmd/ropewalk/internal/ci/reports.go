// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package ci

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/object"
)

// GitHub returns results as commands of a workflow, which GitHub shows beside their lines. Source:
// https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
func GitHub(results []Result) []byte {
	text := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	var b strings.Builder
	for _, r := range results {
		place := ""
		if InFile(r.Pos) {
			place = fmt.Sprintf("file=%s,line=%d,", property.Replace(printable.Line(r.Pos.File)), max(1, r.Pos.Line))
		}
		command := r.Level
		if command == object.SeverityNote.String() {
			command = "notice"
		}
		fmt.Fprintf(&b, "::%s %stitle=ropewalk %s::%s\n", command, place, property.Replace(r.Rule), text.Replace(r.line()))
	}
	return []byte(b.String())
}

// The elements of a JUnit report that CI systems read.
type (
	junitSuites struct {
		XMLName xml.Name   `xml:"testsuites"`
		Suite   junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		File    string        `xml:"file,attr,omitempty"`
		Line    int           `xml:"line,attr,omitempty"`
		Failure *junitFailure `xml:"failure"`
		Output  string        `xml:"system-out,omitempty"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit returns results as a JUnit report: an error is a failed case, and a warning or a note is a
// passed case with an output. Without an error there is a passed case with the name good.
func JUnit(suite, good string, results []Result) ([]byte, error) {
	out := junitSuite{Name: suite}
	for _, r := range results {
		text := printable.Line(r.Text)
		line := r.line()
		testCase := junitCase{Name: text, Class: r.Rule}
		if InFile(r.Pos) {
			testCase.File, testCase.Line = r.Pos.File, r.Pos.Line
			line = r.Pos.String() + ": " + line
		}
		if r.Level == "error" {
			testCase.Failure = &junitFailure{Message: text, Text: line}
			out.Failures++
		} else {
			testCase.Output = line
		}
		out.Cases = append(out.Cases, testCase)
	}
	if out.Failures == 0 {
		out.Cases = append(out.Cases, junitCase{Name: good, Class: "check"})
	}
	out.Tests = len(out.Cases)
	data, err := xml.MarshalIndent(junitSuites{Suite: out}, "", "  ")
	return append([]byte(xml.Header), append(data, '\n')...), err
}
