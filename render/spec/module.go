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

// Case is an input of a module, and what the module must make of it.
type Case struct {
	// Name is "" if the document has none.
	Name string
	// Pos is the place of the document, and NamePos that of the name.
	Pos, NamePos object.Pos
	// Input is what a user of the module writes; KindNone if there is none.
	Input object.Value
	// Subject is what a policy judges, in the form of #Subject of the schema; KindNone for
	// other modules.
	Subject object.Value
	Context CaseContext
	// AllowSecrets names the Secrets that may be rendered with data, as in a Transform.
	AllowSecrets []string
	Expect       Expectation
	// Blocks are those of the document, see [Manifest].
	Blocks map[object.Pos]Block
}

// CaseContext is the context of a case; "" means not given.
type CaseContext struct {
	Context
	// Name is that of the spec.
	Name        string
	Environment string
}

// Expectation is what a case wants of a render. A part that is nil wants nothing.
type Expectation struct {
	Pos object.Pos
	// Objects are parts of objects that must be there; each has apiVersion, kind and
	// metadata.name.
	Objects []object.Value
	// Absent are objects that must not be there, by kind, metadata.name and, where they are
	// given, apiVersion and metadata.namespace.
	Absent []object.Value
	// Count is the number of objects; KindNone if it is not given.
	Count object.Value
	// Waves are the names of all objects, by wave.
	Waves [][]object.Value
	// Errors must be all that the render fails with, and Warnings all that it warns of;
	// Warnings that are empty and not nil want none.
	Errors, Warnings []ExpectedError
	// Golden names the file with the whole output; KindNone if it is not given.
	Golden object.Value
}

// ExpectedError is an error or a warning that a case wants.
type ExpectedError struct {
	Pos object.Pos
	// Message is a part of its text, "" any.
	Message string
	// At is its path, such as input.replicas, and Line its line in the file of the case; ""
	// and 0 are any.
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
	p := d.hold(kinds.Case(), v, nil)
	about := p.at("context")
	out := Case{
		Pos: v.Pos, Blocks: d.blocks, Input: p.Field("input"), Subject: p.Field("subject"), AllowSecrets: p.Words("allowSecrets"),
		Context: CaseContext{Context: about.context(), Name: about.at("name").Text, Environment: about.at("environment").Text},
	}
	if name := p.at("name"); name.Given() {
		out.Name = name.Text
		out.NamePos = name.Pos
		if strings.TrimSpace(name.Text) == "" {
			name.Fail("", "must not be empty")
		}
	}
	if e := p.at("expect"); e.Given() {
		out.Expect = e.expectation()
	}
	return out
}

// expectation returns what a case expects. A case that expects nothing passes whatever its module
// makes, so it is refused.
func (p part) expectation() Expectation {
	out := Expectation{
		Pos: p.Pos, Objects: p.at("objects").Items, Absent: p.at("absent").Items, Count: p.Field("count"),
		Errors: p.expectedErrors("errors"), Warnings: p.expectedErrors("warnings"), Golden: p.at("golden").golden(),
	}
	for _, wave := range p.items("waves") {
		out.Waves = append(out.Waves, wave.Items)
	}
	p.requireAssertion()
	return out
}

// requireAssertion refuses an expectation that asserts nothing, or whose assertions exclude each
// other.
func (p part) requireAssertion() {
	asserts := []string{"objects", "absent", "count", "waves", "golden"}
	failing := p.at("errors").Given()
	any := failing || p.at("warnings").Given()
	for _, name := range asserts {
		v := p.at(name)
		any = any || v.Given()
		if failing && v.Given() {
			v.Fail("make two cases of it", "a render that fails makes nothing: errors and %s exclude each other", name)
		}
	}
	for _, name := range []string{"objects", "absent", "waves", "errors"} {
		if v := p.at(name); v.Given() && len(v.Items) == 0 {
			v.Fail("leave it out, or write what it must hold", "it is empty, and asserts nothing")
		}
	}
	if !any {
		p.Fail("write one of "+strings.Join(asserts, ", ")+", errors, warnings", "the case asserts nothing, and would always pass")
	}
}

// expectedErrors returns the errors or warnings that a case expects. A list that is given is not
// nil.
func (p part) expectedErrors(name string) []ExpectedError {
	if !p.at(name).Given() {
		return nil
	}
	out := []ExpectedError{}
	for _, item := range p.items(name) {
		line, _ := strconv.Atoi(item.at("line").Text) // 0 where there is none
		one := ExpectedError{Pos: item.Pos, Message: item.at("message").Text, At: item.at("at").Text, Line: line}
		if one.Message == "" && one.At == "" && one.Line == 0 {
			item.Fail("write a part of its message, and at: with its path or line: with its line here", "it says nothing of the error")
		}
		out = append(out, one)
	}
	return out
}

// GoldenSuffix ends the names of the files that hold the whole output of a case.
const GoldenSuffix = ".golden.yaml"

// golden returns the name of a golden file.
func (p part) golden() object.Value {
	if p.Given() && (!strings.HasSuffix(p.Text, GoldenSuffix) || strings.ContainsAny(p.Text, `/\`)) {
		p.Fail("it is a file beside the case, such as small"+GoldenSuffix, "%q does not end in %s, or has a folder", p.Text, GoldenSuffix)
	}
	return p.Value
}

// Mark is what a native module says of itself in its field ropewalk.
type Mark struct {
	// Kind is "" for a module of specs.
	Kind string
	// Kubernetes are the versions of Kubernetes that its objects are for.
	Kubernetes []Version
	// Images says how the images that the module chooses are pinned; "" if it is not given.
	Images string
	// CPU and Memory are what a render may cost, with Memory in bytes; 0 if it is not
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

// DecodeMark decodes the mark of a module. Its apiVersion and its kind are judged by
// the evaluation.
func DecodeMark(v object.Value, at object.Path) (Mark, object.Errors) {
	d := &decoder{}
	p := d.hold(kinds.Mark(), v, at)
	out := Mark{Kind: p.at("kind").Text, Images: p.at("vet", "images").Text}
	for _, item := range p.List("kubernetes") {
		version, _ := ParseKubeVersion(item.Text)
		out.Kubernetes = append(out.Kubernetes, Version{Text: version, Pos: item.Pos})
	}
	budget := p.at("vet", "budget")
	if cpu, pos := budget.text("cpu"); pos.IsValid() {
		out.CPUPos = pos
		out.CPU, _ = time.ParseDuration(cpu) // what is none is reported
	}
	if memory, pos := budget.text("memory"); pos.IsValid() {
		q, _ := resource.ParseQuantity(memory)
		out.Memory = q.Value()
		out.MemoryPos = pos
	}
	return out, d.Errs.Sorted()
}
