// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/ropewalk/ropewalk/cue"
	"github.com/ropewalk/ropewalk/internal/memfs"
	"github.com/ropewalk/ropewalk/internal/reftype"
	"github.com/ropewalk/ropewalk/render"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload"
	"github.com/ropewalk/ropewalk/render/workload/score"
	"github.com/ropewalk/ropewalk/source"
)

// ModuleName is the name of a module of provisioners that cases are of.
const ModuleName = "module"

// subjectFile is the one file of the module that makes the objects of a subject.
const subjectFile = "subject.cue"

// setPolicy makes the module of the case the policy of the spec. Another module makes the objects
// of the subject.
func (c Case) setPolicy(one *render.Spec) error {
	if c.Subject.Kind == object.KindNone {
		return object.Errors{mistake(c.Pos, "write subject: {objects: {NAME: {apiVersion: …, kind: …}}}", "a case of a policy needs the subject that it judges")}
	}

	// Write a module with the objects of the subject.
	var text bytes.Buffer
	var input object.Value
	line := c.Subject.Pos.Line
	text.WriteString(`ropewalk: apiVersion: "v1alpha1", input: {...}, graph: nodes: {`)
	for _, part := range c.Subject.Members {
		switch part.Name {
		case "input":
			input = part.Value
		case "objects":
			for _, o := range part.Value.Members {
				// Every object is on the line that it was written on.
				text.WriteString(strings.Repeat("\n", max(0, o.Pos.Line-line)))
				line = max(line, o.Pos.Line)
				fmt.Fprintf(&text, "%q: object: %s,", o.Name, o.Value.JSON())
			}
		default:
			return object.Errors{mistake(part.Pos, object.Suggest(part.Name, []string{"input", "objects"}), "unknown field %q in subject", part.Name)}
		}
	}
	text.WriteString("}\n")
	files, err := memfs.New(map[string][]byte{subjectFile: text.Bytes()})
	if err != nil {
		return err
	}

	// Make this module that of the spec, and the module of the case its policy.
	policy := one.Evaluate.Module
	one.Evaluate.Module = evaluate.Module{
		// The lines of the subject are the author's own, also where the file is of an embedded policy.
		FS: files, Label: "subject", Digest: "subject:" + text.String(),
		Sources: map[string]evaluate.Source{subjectFile: {Pos: object.Pos{File: c.Pos.File, Line: c.Subject.Pos.Line, Column: 1}}},
	}
	one.Evaluate.Input = input
	one.Evaluate.InputPath = object.Fields("subject", "input")
	one.Evaluate.Policies = []evaluate.Policy{{Name: "policy", Module: policy, Input: c.Input, Pos: c.Pos}}
	return nil
}

// setWorkload makes the spec a workload that the module of workloads makes. The module of the case
// provisions for it before the embedded module.
func (c Case) setWorkload(req *render.Request, one *render.Spec) error {
	// Write the document of the workload around the input.
	text := func(name, value string) object.Member {
		return object.Member{Name: name, Pos: c.Pos, Value: object.TextAt(value, c.Pos)}
	}
	named := object.Value{Kind: object.KindMap, Pos: c.Pos, Members: []object.Member{text("name", one.Evaluate.Context.Name)}}
	body := c.Input
	if body.Kind == object.KindNone {
		body = object.Value{Kind: object.KindMap, Pos: c.Pos}
	}
	document := object.Value{Kind: object.KindMap, Pos: c.Pos, Members: []object.Member{
		text("apiVersion", spec.APIVersion), text("kind", "Workload"),
		{Name: "metadata", Pos: c.Pos, Value: named}, {Name: "spec", Pos: body.Pos, Value: body},
	}}
	decoded, errs := score.Decode(score.Document{Value: document, Blocks: c.Blocks})
	if errs.Err() != nil {
		return asInput(errs.Sorted())
	}

	// Provision with the module of the case, and with the embedded one after it.
	config, err := spec.Project{}.Workloads("")
	if err != nil {
		return err
	}
	req.Workloads = render.Workloads{Config: config, Provisioners: []render.Provisioners{{Name: ModuleName, Module: one.Evaluate.Module, Pos: c.Pos}}}
	embedded, err := embeddedModule(spec.DefaultProvisioners)
	if err != nil {
		return err
	}
	req.Workloads.Provisioners = append(req.Workloads.Provisioners, render.Provisioners{Name: spec.DefaultProvisioners, Module: embedded})

	// Render the workload with the embedded module.
	one.Evaluate.Module, err = embeddedModule(spec.DefaultWorkloadModule)
	if err != nil {
		return err
	}
	one.Evaluate.Input = document
	one.Workload = &workload.Source{Spec: decoded, Context: one.Evaluate.Context}
	one.Written = asInput
	return nil
}

// asInput returns errors on the spec of a workload as errors on the input of a case.
func asInput(errs object.Errors) object.Errors {
	out := make(object.Errors, len(errs))
	for i, e := range errs {
		one := *e
		if below, ok := strings.CutPrefix(one.Path, "spec."); ok {
			one.Path = "input." + below
		}
		out[i] = &one
	}
	return out
}

// embeddedModule returns a module in this program.
func embeddedModule(name string) (evaluate.Module, error) {
	tree, err := source.Embedded(cue.Module, source.Limits{}).Fetch(context.Background(), source.Ref{Type: reftype.Embedded, Ref: name})
	return evaluate.Module{FS: tree.FS, Digest: tree.Digest, Label: tree.Origin}, err
}
