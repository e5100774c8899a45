// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ropewalk/ropewalk/render/document/kinds"
	"github.com/ropewalk/ropewalk/render/object"
)

// Case is an input of a module with the expected result.
type Case struct {
	// Name is "" if the document has no name.
	Name string
	// Pos is the position of the document, and NamePos the position of the name.
	Pos, NamePos object.Pos
	// Input is the input that a user of the module writes, or KindNone.
	Input object.Value
	// Subject is the object that a policy checks, in the form of #Subject of the schema; KindNone for
	// other modules.
	Subject object.Value
	Context CaseContext
	// AllowSecrets names the Secrets that may be rendered with data, as in a Transform.
	AllowSecrets []string
	Expect       Expectation
	// Blocks are the block scalars of the document, see [Manifest].
	Blocks map[object.Pos]Block
}

// CaseContext is the context of a case; "" means not given.
type CaseContext struct {
	Context
	// Name is the name of the spec.
	Name        string
	Environment string
}

// Expectation is the expected result of a render. A part that is nil expects nothing.
type Expectation struct {
	Pos object.Pos
	// Objects are parts of objects that must be there; each has apiVersion, kind and
	// metadata.name.
	Objects []object.Value
	// Absent are objects that must not be there, by kind, metadata.name and, if given,
	// apiVersion and metadata.namespace.
	Absent []object.Value
	// Count is the number of objects; KindNone if it is not given.
	Count object.Value
	// Waves are the names of all objects, by wave.
	Waves [][]object.Value
	// Errors must be all errors of the render, and Warnings all its warnings. A list that is
	// empty and not nil expects none of them.
	Errors, Warnings []ExpectedError
	// Golden names the file with the complete output; KindNone if it is not given.
	Golden object.Value
}

// ExpectedError is an error or a warning that a case expects.
type ExpectedError struct {
	Pos object.Pos
	// Message is a part of its text; "" matches any text.
	Message string
	// At is its path, such as input.replicas, and Line its line in the file of the case; ""
	// and 0 match any.
	At   string
	Line int
}

// ParseCases reads the cases of a module in one file. The error is an object.Errors with
// every mistake.
func ParseCases(f File) ([]Case, error) {
	docs, errs := f.documents(MaxFile)
	var out []Case
	for _, d := range docs {
		c := decoder{blocks: d.blocks}
		c.Errs = d.errs
		if len(d.errs) == 0 {
			out = append(out, c.decodeCase(d.value))
		}
		errs = append(errs, c.Errs...)
	}
	return out, errs.Sorted().Err()
}

// decodeCase decodes one document.
func (d *decoder) decodeCase(v object.Value) Case {
	p := d.check(kinds.Case(), v, nil)
	context := p.child("context")
	out := Case{
		Pos: v.Pos, Blocks: d.blocks, Input: p.Field("input"), Subject: p.Field("subject"), AllowSecrets: p.Words("allowSecrets"),
		Context: CaseContext{Context: context.context(), Name: context.child("name").Text, Environment: context.child("environment").Text},
	}
	if name := p.child("name"); name.Given() {
		out.Name = name.Text
		out.NamePos = name.Pos
		if strings.TrimSpace(name.Text) == "" {
			name.Fail("", "must not be empty")
		}
	}
	if e := p.child("expect"); e.Given() {
		out.Expect = e.expectation()
	}
	return out
}

// expectation returns the expectation of a case. A case without assertions would pass with any
// result, so it is rejected.
func (p part) expectation() Expectation {
	out := Expectation{
		Pos: p.Pos, Objects: p.child("objects").Items, Absent: p.child("absent").Items, Count: p.Field("count"),
		Errors: p.expectedErrors("errors"), Warnings: p.expectedErrors("warnings"), Golden: p.child("golden").golden(),
	}
	for _, wave := range p.children("waves") {
		out.Waves = append(out.Waves, wave.Items)
	}
	p.checkAssertions()
	return out
}

// checkAssertions rejects an expectation that asserts nothing, or whose assertions exclude each
// other.
func (p part) checkAssertions() {
	asserts := []string{"objects", "absent", "count", "waves", "golden"}
	failing := p.child("errors").Given()
	asserted := failing || p.child("warnings").Given()
	for _, name := range asserts {
		v := p.child(name)
		asserted = asserted || v.Given()
		if failing && v.Given() {
			v.Fail("make two cases of it", "a render that fails makes nothing: errors and %s exclude each other", name)
		}
	}
	for _, name := range []string{"objects", "absent", "waves", "errors"} {
		if v := p.child(name); v.Given() && len(v.Items) == 0 {
			v.Fail("leave it out, or write what it must hold", "it is empty, and asserts nothing")
		}
	}
	if !asserted {
		p.Fail("write one of "+strings.Join(asserts, ", ")+", errors, warnings", "the case asserts nothing, and would always pass")
	}
}

// expectedErrors returns the errors or warnings that a case expects. A list that is given is not
// nil.
func (p part) expectedErrors(name string) []ExpectedError {
	if !p.child(name).Given() {
		return nil
	}
	out := []ExpectedError{}
	for _, item := range p.children(name) {
		line, _ := strconv.Atoi(item.child("line").Text) // 0 if it is not given
		expected := ExpectedError{Pos: item.Pos, Message: item.child("message").Text, At: item.child("at").Text, Line: line}
		if expected.Message == "" && expected.At == "" && expected.Line == 0 {
			item.Fail("write a part of its message, and at: with its path or line: with its line here", "it says nothing of the error")
		}
		out = append(out, expected)
	}
	return out
}

// GoldenSuffix ends the names of the files with the complete output of a case.
const GoldenSuffix = ".golden.yaml"

// golden returns the name of a golden file.
func (p part) golden() object.Value {
	if p.Given() && (!strings.HasSuffix(p.Text, GoldenSuffix) || strings.ContainsAny(p.Text, `/\`)) {
		p.Fail("it is a file beside the case, such as small"+GoldenSuffix, "%q does not end in %s, or has a folder", p.Text, GoldenSuffix)
	}
	return p.Value
}

// Mark is the field ropewalk by which a native module describes itself.
type Mark struct {
	// Kind is "" for a module of specs.
	Kind string
	// Kubernetes are the versions of Kubernetes that its objects support.
	Kubernetes []Version
	// Images is the way in which the images of the module are pinned; "" if not given.
	Images string
	// CPU and Memory limit the cost of a render, with Memory in bytes; 0 if not
	// given.
	CPU               time.Duration
	Memory            int64
	CPUPos, MemoryPos object.Pos
}

// Version is a version of Kubernetes, without its v.
type Version struct {
	Text string
	Pos  object.Pos
}

// Values of vet.images of a mark.
const (
	ImagesByDigest = "digest"
	ImagesByTag    = "tag"
	ImagesOff      = "off"
)

// DecodeMark decodes the mark of a module. The evaluation checks its apiVersion and its kind.
func DecodeMark(v object.Value, path object.Path) (Mark, object.Errors) {
	d := &decoder{}
	p := d.check(kinds.Mark(), v, path)
	out := Mark{Kind: p.child("kind").Text, Images: p.child("vet", "images").Text}
	for _, item := range p.List("kubernetes") {
		version, _ := ParseKubeVersion(item.Text)
		out.Kubernetes = append(out.Kubernetes, Version{Text: version, Pos: item.Pos})
	}
	budget := p.child("vet", "budget")
	if cpu, pos := budget.textAndPos("cpu"); pos.IsValid() {
		out.CPUPos = pos
		out.CPU, _ = time.ParseDuration(cpu) // A mistake is reported by the table.
	}
	if memory, pos := budget.textAndPos("memory"); pos.IsValid() {
		q, _ := resource.ParseQuantity(memory)
		out.Memory = q.Value()
		out.MemoryPos = pos
	}
	return out, d.Errs.Sorted()
}
