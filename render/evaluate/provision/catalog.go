// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package provision

import (
	"slices"
	"strings"
	"sync"

	"cuelang.org/go/cue"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/object"
)

// onceCatalog makes the catalog of a list when it is first asked for.
func onceCatalog(list []provisioner) func() []evaluate.Provisioner {
	return sync.OnceValue(func() []evaluate.Provisioner {
		catalog := make([]evaluate.Provisioner, len(list))
		for i, p := range list {
			catalog[i] = p.Provisioner
			catalog[i].Params = p.paramList()
			catalog[i].Config = p.names(diagnose.FieldConfig)
			catalog[i].AnyConfig = p.takes[diagnose.FieldConfig] && len(catalog[i].Config) == 0
			catalog[i].Outputs = p.names(diagnose.FieldOutputs)
			catalog[i].Sensitive = p.names(diagnose.FieldSensitive)
		}
		return catalog
	})
}

// names returns the sorted names of the fields of a field that exist for every input.
func (p *provisioner) names(field string) (names []string) {
	fields, err := p.value.LookupPath(cue.MakePath(cue.Str(field))).Fields(cue.Optional(true))
	for err == nil && fields.Next() {
		if sel := fields.Selector(); sel.LabelType() == cue.StringLabel {
			names = append(names, sel.Unquoted())
		}
	}
	slices.Sort(names)
	return names
}

// paramList returns the params that the entry declares, sorted by name.
func (p *provisioner) paramList() (params []evaluate.Param) {
	if !p.params {
		return nil
	}
	fields, err := p.value.LookupPath(cue.MakePath(cue.Str(diagnose.FieldParams))).Fields(cue.Optional(true))
	for err == nil && fields.Next() {
		sel := fields.Selector()
		if sel.LabelType() != cue.StringLabel {
			continue
		}
		v := fields.Value()
		param := evaluate.Param{Name: sel.Unquoted(), Type: diagnose.Expected(v), Default: diagnose.DefaultOf(v), Doc: diagnose.DocOf(v)}
		switch sel.ConstraintType() {
		case cue.RequiredConstraint:
			param.Required = true
		case cue.OptionalConstraint:
		default:
			param.Required = param.Default == "" && !p.hasValue(sel)
		}
		params = append(params, param)
	}
	slices.SortFunc(params, func(a, b evaluate.Param) int { return strings.Compare(a.Name, b.Name) })
	return params
}

// hasValue reports whether a param that is not set has a value. The value may
// depend on the resource, so a sample resource is filled in.
func (p *provisioner) hasValue(sel cue.Selector) bool {
	param := cue.MakePath(cue.Str(diagnose.FieldParams), sel)
	if p.value.LookupPath(param).Validate(cue.Concrete(true), cue.Final()) == nil {
		return true
	}
	if !p.takes[diagnose.FieldResource] {
		return false
	}
	with := diagnose.Fill(diagnose.Part{Field: diagnose.FieldInput, At: []string{diagnose.FieldResource}, Value: sample(p.Provisioner)})
	v := p.value.Unify(with.Value).LookupPath(param)
	return v.Validate(cue.Concrete(true), cue.Final()) == nil
}

// sample returns a resource that a provisioner could be asked for.
func sample(p evaluate.Provisioner) object.Value {
	text := func(s string) object.Value { return object.Value{Kind: object.KindString, Text: s} }
	isFalse := object.Value{Kind: object.KindBool, Text: "false"}
	class, id := p.Class, p.ID
	if class == "" {
		class = "default"
	}
	if id == "" {
		id = "workload-name"
	}
	return object.Value{Kind: object.KindMap, Members: []object.Member{
		{Name: "name", Value: text("name")},
		{Name: "type", Value: text(p.Type)},
		{Name: "class", Value: text(class)},
		{Name: "id", Value: text(id)},
		{Name: "uid", Value: text(p.Type + "." + class + "#workload.name")},
		{Name: "shared", Value: isFalse},
		{Name: "workload", Value: text("workload")},
		{Name: "namespace", Value: text("namespace")},
		{Name: "secrets", Value: text("external-secrets")},
		{Name: "target", Value: object.Value{Kind: object.KindMap, Members: []object.Member{
			{Name: "name", Value: text("name")},
			{Name: "namespace", Value: text("namespace")},
			{Name: "known", Value: isFalse},
		}}},
	}}
}
