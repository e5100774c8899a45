// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/ropewalk/ropewalk/cmd/ropewalk/internal/cli/module/cases"
	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/object"
)

// tested holds the outcomes of the cases of a module.
type tested struct {
	Module   string
	Coverage *coverage
	outcomes []cases.Outcome
}

// failed counts the cases that failed.
func (t tested) failed() (n int) {
	for _, o := range t.outcomes {
		if len(o.Failures) > 0 {
			n++
		}
	}
	return n
}

// failures returns the failures of all cases.
func (t tested) failures() (failures object.Errors) {
	for _, o := range t.outcomes {
		failures = append(failures, o.Failures...)
	}
	return failures
}

// testedData is tested as data.
type testedData struct {
	Module   string       `json:"module"`
	Failed   int          `json:"failed"`
	Cases    []testedCase `json:"cases"`
	Coverage *coverage    `json:"coverage,omitempty"`
}

type testedCase struct {
	Name string `json:"name"`
	// At is the place of the case, as FILE:LINE:COLUMN.
	At      string        `json:"at"`
	Passed  bool          `json:"passed"`
	Seconds float64       `json:"seconds"`
	Errors  object.Errors `json:"errors,omitempty"`
}

func (t tested) data() testedData {
	out := testedData{Module: t.Module, Failed: t.failed(), Cases: []testedCase{}, Coverage: t.Coverage}
	for _, o := range t.outcomes {
		out.Cases = append(out.Cases, testedCase{
			Name:    o.Name,
			At:      o.Pos.String(),
			Passed:  len(o.Failures) == 0,
			Seconds: o.Elapsed.Seconds(),
			Errors:  shownAll(o.Failures),
		})
	}
	return out
}

// shownAll returns errors as messages show them.
func shownAll(errs object.Errors) (out object.Errors) {
	for _, e := range errs {
		out = append(out, object.Shown(e))
	}
	return out
}

// The elements of a JUnit report that CI systems read.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		File    string        `xml:"file,attr"`
		Line    int           `xml:"line,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitFailure `xml:"failure"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// junit returns the results as a JUnit report.
func (t tested) junit() ([]byte, error) {
	suite := junitSuite{Name: t.Module, Tests: len(t.outcomes), Failures: t.failed()}
	total := 0.0
	for _, o := range t.outcomes {
		total += o.Elapsed.Seconds()
		junit := junitCase{
			Name:  printable.Line(o.Name),
			Class: t.Module,
			File:  o.Pos.File,
			Line:  o.Pos.Line,
			Time:  seconds(o.Elapsed.Seconds()),
		}
		if len(o.Failures) > 0 {
			shown := shownAll(o.Failures)
			firstLine, _, _ := strings.Cut(shown[0].Sentence(), "\n")
			junit.Failure = &junitFailure{Message: printable.Line(firstLine), Text: printable.Text(shown.Error())}
		}
		suite.Cases = append(suite.Cases, junit)
	}
	suite.Time = seconds(total)
	data, err := xml.MarshalIndent(junitSuites{Suites: []junitSuite{suite}}, "", "  ")
	return append([]byte(xml.Header), append(data, '\n')...), err
}

func seconds(n float64) string { return fmt.Sprintf("%.3f", n) }
