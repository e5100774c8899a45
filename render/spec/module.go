// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ropewalk/ropewalk/render/dialect"
	"github.com/ropewalk/ropewalk/render/object"
)

// Case is an input of a module, and what the module must make of it.
type Case struct {
	// Name is "" where the document has none.
	Name string
	// Pos is the place of the document, and NamePos that of the name.
	Pos, NamePos object.Pos
	// Input is what a user of the module writes; KindNone where there is none.
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
	// Count is the number of objects; KindNone where it is not given.
	Count object.Value
	// Waves are the names of all objects, by wave.
	Waves [][]object.Value
	// Errors must be all that the render fails with, and Warnings all that it warns of;
	// Warnings that are empty and not nil want none.
	Errors, Warnings []ExpectedError
	// Golden names the file with the whole output; KindNone where it is not given.
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
		c := decoder{errs: d.errs}
		if len(d.errs) == 0 {
			one := c.testCase(d.value)
			one.Blocks = d.blocks
			out = append(out, one)
		}
		errs = append(errs, c.errs...)
	}
	return out, errs.Sorted().Err()
}

// testCase decodes one document.
func (d *decoder) testCase(v object.Value) Case {
	f := d.fields(v, nil)
	out := Case{Pos: v.Pos}
	if name, path, ok := f.get("name"); ok && d.kind(name, path, object.KindString) {
		if out.Name, out.NamePos = name.Text, name.Pos; strings.TrimSpace(name.Text) == "" {
			d.fail(name.Pos, path, "", "must not be empty")
		}
	}
	out.Input = f.optionalMap("input")
	out.Subject = f.optionalMap("subject")
	if c, ok := f.child("context"); ok {
		out.Context.Context = c.contextFields()
		out.Context.Name, out.Context.Environment = c.label("name"), c.label("environment")
		c.done()
	}
	out.AllowSecrets, _ = f.allowSecrets()
	if e, path, ok := f.need("expect"); ok {
		out.Expect = d.expectation(d.fields(e, path))
	}
	f.done()
	return out
}

// optionalMap is a map as it was written.
func (f *fields) optionalMap(name string) object.Value {
	v, path, ok := f.get(name)
	if !ok || !f.kind(v, path, object.KindMap) {
		return object.Value{}
	}
	return v
}

// expectation decodes what a case wants. A case that wants nothing passes whatever its
// module makes, so that it is refused.
func (d *decoder) expectation(f *fields) Expectation {
	out := Expectation{Pos: f.value.Pos}
	out.Objects = f.identified("objects", true)
	out.Absent = f.identified("absent", false)
	out.Count = f.count("count")
	out.Waves = f.waves("waves")
	out.Errors = f.expectedErrors("errors")
	out.Warnings = f.expectedErrors("warnings")
	out.Golden = f.golden("golden")
	f.done()
	f.some()
	return out
}

// some refuses an expectation that asserts nothing, or what excludes each other.
func (f *fields) some() {
	given := func(name string) bool {
		v, ok := f.value.Get(name)
		return ok && v.Kind != object.KindNull
	}
	asserts := []string{"objects", "absent", "count", "waves", "golden"}
	failing := given("errors")
	any := failing || given("warnings")
	for _, name := range asserts {
		any = any || given(name)
		if v, _ := f.value.Get(name); failing && given(name) {
			f.fail(v.Pos, f.path.Append(object.Field(name)), "make two cases of it", "a render that fails makes nothing: errors and %s exclude each other", name)
		}
	}
	for _, name := range []string{"objects", "absent", "waves", "errors"} {
		if v, _ := f.value.Get(name); v.Kind == object.KindList && len(v.Items) == 0 {
			f.fail(v.Pos, f.path.Append(object.Field(name)), "leave it out, or write what it must hold", "it is empty, and asserts nothing")
		}
	}
	if f.value.Kind == object.KindMap && !any && len(f.errs) == 0 {
		f.fail(f.value.Pos, f.path, "write one of "+strings.Join(asserts, ", ")+", errors, warnings", "the case asserts nothing, and would always pass")
	}
}

// identified are the items of a list of objects, each with what tells it from others.
func (f *fields) identified(name string, version bool) []object.Value {
	items, path := f.list(name)
	for i, v := range items {
		o := f.fields(v, path.Append(object.Index(i)))
		if version {
			o.needText("apiVersion")
		} else {
			o.text("apiVersion")
		}
		o.needText("kind")
		meta := o.needChild("metadata")
		meta.needText("name")
		meta.text("namespace")
		if !version {
			meta.done()
			o.done()
			continue
		}
		o.missing()
		meta.missing()
	}
	return items
}

// count is a number of objects.
func (f *fields) count(name string) object.Value {
	v, path, ok := f.get(name)
	if !ok || !f.kind(v, path, object.KindNumber) {
		return object.Value{}
	}
	if n, err := strconv.Atoi(v.Text); err != nil || n < 0 {
		f.fail(v.Pos, path, "", "expected a number of objects, got %s", v.Written())
	}
	return v
}

// waves are lists of names.
func (f *fields) waves(name string) (out [][]object.Value) {
	items, path := f.list(name)
	for i, wave := range items {
		at := path.Append(object.Index(i))
		if !f.kind(wave, at, object.KindList) {
			continue
		}
		for j, v := range wave.Items {
			f.kind(v, at.Append(object.Index(j)), object.KindString)
		}
		out = append(out, wave.Items)
	}
	return out
}

// expectedErrors are errors or warnings; a list that is there is not nil.
func (f *fields) expectedErrors(name string) []ExpectedError {
	v, path, ok := f.get(name)
	if !ok || !f.kind(v, path, object.KindList) {
		return nil
	}
	out := []ExpectedError{}
	for i, item := range v.Items {
		e := f.fields(item, path.Append(object.Index(i)))
		one := ExpectedError{Pos: item.Pos}
		one.Message, _ = e.text("message")
		one.At, _ = e.text("at")
		if line := e.count("line"); line.Kind == object.KindNumber {
			one.Line, _ = strconv.Atoi(line.Text) // it is reported where it is none
		}
		before := len(e.errs)
		e.done()
		if one.Message == "" && one.At == "" && one.Line == 0 && len(e.errs) == before && item.Kind == object.KindMap {
			f.fail(item.Pos, e.path, "write a part of its message, and at: with its path or line: with its line here", "it says nothing of the error")
		}
		out = append(out, one)
	}
	return out
}

// GoldenSuffix ends the names of the files that hold the whole output of a case.
const GoldenSuffix = ".golden.yaml"

// golden is the name of such a file.
func (f *fields) golden(name string) object.Value {
	v, path, ok := f.get(name)
	if !ok || !f.kind(v, path, object.KindString) {
		return object.Value{}
	}
	if !strings.HasSuffix(v.Text, GoldenSuffix) || strings.ContainsAny(v.Text, `/\`) {
		f.fail(v.Pos, path, "it is a file beside the case, such as small"+GoldenSuffix, "%q does not end in %s, or has a folder", v.Text, GoldenSuffix)
	}
	return v
}

// contextFields decodes what a project and a case have in common.
func (f *fields) contextFields() Context {
	out := Context{Pos: f.value.Pos}
	out.Namespace = f.label("namespace")
	out.Engine = f.enum("engine", dialect.Names()...)
	out.ClusterDomain = f.domain("clusterDomain")
	out.KubeVersion = f.kubeVersion("kubeVersion")
	return out
}

// Mark is what a native module says of itself in its field ropewalk.
type Mark struct {
	// Kind is "" for a module of specs.
	Kind string
	// Kubernetes are the versions of Kubernetes that its objects are for.
	Kubernetes []Version
	// Images says how the images that the module chooses are pinned; "" where it is not given.
	Images string
	// CPU and Memory are what a render may cost, with Memory in bytes; 0 where it is not
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
	f := d.fields(v, at)
	f.text("apiVersion")
	out := Mark{}
	out.Kind, _ = f.text("kind")
	items, path := f.list("kubernetes")
	for i, item := range items {
		at := path.Append(object.Index(i))
		if !f.kind(item, at, object.KindString) {
			continue
		}
		version, ok := ParseKubeVersion(item.Text)
		if !ok {
			f.fail(item.Pos, at, "", "%q is not a version of Kubernetes: expected one such as 1.36", item.Text)
		}
		out.Kubernetes = append(out.Kubernetes, Version{Text: version, Pos: item.Pos})
	}
	if vet, ok := f.child("vet"); ok {
		out.Images = vet.enum("images", ImagesByDigest, ImagesByTag, ImagesOff)
		if budget, ok := vet.child("budget"); ok {
			budget.budget(&out)
		}
		vet.done()
	}
	f.done()
	return out, d.errs.Sorted()
}

// budget decodes what a render may cost.
func (f *fields) budget(m *Mark) {
	text, pos := f.text("cpu")
	if m.CPUPos = pos; text != "" {
		var err error
		if m.CPU, err = time.ParseDuration(text); err != nil || m.CPU <= 0 {
			f.fail(pos, f.path.Append(object.Field("cpu")), "", "expected a time such as 50ms, got %q", text)
		}
	}
	text, pos = f.text("memory")
	if m.MemoryPos = pos; text != "" {
		q, err := resource.ParseQuantity(text)
		if m.Memory = q.Value(); err != nil || m.Memory <= 0 {
			f.fail(pos, f.path.Append(object.Field("memory")), "", "expected a size such as 64Mi, got %q", text)
		}
	}
	f.done()
}
