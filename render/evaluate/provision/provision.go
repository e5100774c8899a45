// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package provision

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/evaluate/module"
	"github.com/ropewalk/ropewalk/render/evaluate/trace"
	"github.com/ropewalk/ropewalk/render/object"
)

// Entries returns the catalog, with positions as the session knows them.
func (p *Provisioners) Entries(s *module.Session) []evaluate.Provisioner {
	entries := slices.Clone(p.catalog())
	for i, listed := range p.list {
		entries[i].Pos = s.Module.Position(listed.value.LookupPath(cue.MakePath(cue.Str("type"))).Pos())
	}
	return entries
}

// Make makes every resource of the input, with warnings of params that no provisioner
// reads.
func (p *Provisioners) Make(s *module.Session) (map[string]evaluate.Provisioned, object.Errors, error) {
	resources, err := p.resources(s)
	if err != nil {
		return nil, nil, err
	}
	provisioned := make(map[string]evaluate.Provisioned, len(resources))
	var errs, warnings object.Errors
	total := module.Budget{}
	for _, r := range resources {
		result, err := r.make(&total)
		if err != nil {
			mistakes, _ := diagnose.Fail(s.Req, err).(object.Errors) //nolint:errorlint // fail gives no other type
			errs = append(appendNew(errs, mistakes), r.unknownParams()...)
			continue
		}
		if err := total.Err(); err != nil {
			return nil, nil, err
		}
		provisioned[r.session.Resource] = result
		unknown := r.unknownParams()
		errs = append(errs, unknown.Failures()...)
		warnings = append(warnings, unknown.Warnings()...)
	}
	return provisioned, warnings, errs.Err()
}

// appendNew adds the errors that are not there yet: resources share the config.
func appendNew(errs, further object.Errors) object.Errors {
	for _, e := range further {
		same := func(o *object.Error) bool {
			return o.Pos == e.Pos && o.Path == e.Path && o.Err.Error() == e.Err.Error()
		}
		if !slices.ContainsFunc(errs, same) {
			errs = append(errs, e)
		}
	}
	return errs
}

// request is a request for a resource.
type request struct {
	// session evaluates the resource: its input is the entry of the resource,
	// without fields that the provisioner does not take.
	session     *module.Session
	provisioner *provisioner
	config      object.Value
}

// resources returns the resources of the input, in the order of their keys.
func (p *Provisioners) resources(s *module.Session) ([]request, error) {
	list := p.list
	resources, ok := s.Req.Input.Get("resources")
	if !ok || resources.Kind != object.KindMap {
		e := diagnose.AtSpec(s.Req, fmt.Errorf("module %q makes resources of workloads, and not the objects of a spec", s.Module.Name()))
		e.Hint = "name it under spec.workloads.provisioners of the project"
		return nil, e
	}
	config, _ := s.Req.Input.Get(diagnose.FieldConfig)
	requests := make([]request, 0, len(resources.Members))
	for _, m := range diagnose.Sorted(resources.Members) {
		path := s.InputPath.Append(object.Fields("resources", m.Name)...)
		number, _ := m.Value.Get("provisioner")
		i, err := strconv.Atoi(number.Text)
		if err != nil || i < 0 || i >= len(list) {
			e := diagnose.AtSpec(s.Req, fmt.Errorf("module %q has %d provisioners, and none is number %q", s.Module.Name(), len(list), number.Text))
			e.Path = path.String()
			return nil, e
		}
		if document.BadLabel(m.Name) != "" {
			err := fmt.Errorf("the key of a resource must be a DNS label of lower-case letters, digits and dashes, got %q", m.Name)
			e := diagnose.AtSpec(s.Req, err)
			e.Path, e.Pos = path.String(), object.FirstValid(m.Pos, s.Pos)
			return nil, e
		}
		requests = append(requests, newRequest(s, &list[i], m, config, path))
	}
	return requests, nil
}

// newRequest returns the request for member m of the resources, which stands at path.
func newRequest(s *module.Session, p *provisioner, m object.Member, config object.Value, path object.Path) request {
	session := *s
	session.Resource = m.Name
	session.Skip = p.skip
	session.InputPath = path
	session.Pos = object.FirstValid(object.FirstValid(m.Pos, m.Value.Pos), s.Pos)

	// The entry keeps the fields that the provisioner takes.
	entry := object.Value{Kind: object.KindMap, Pos: object.FirstValid(m.Value.Pos, m.Pos)}
	for _, part := range m.Value.Members {
		switch part.Name {
		case diagnose.FieldResource:
			if !p.takes[diagnose.FieldResource] {
				continue
			}
		case diagnose.FieldParams:
			// Nothing behind the name is no params.
			if part.Value.Kind == object.KindNone || part.Value.Kind == object.KindNull {
				part.Value = object.Value{Kind: object.KindMap, Pos: part.Value.Pos}
			}
		default:
			continue
		}
		entry.Members = append(entry.Members, part)
	}
	session.Input, session.Written = entry, entry
	if config.Kind == object.KindNone {
		config.Kind = object.KindMap
	}
	return request{session: &session, provisioner: p, config: config}
}

// fill unifies the provisioner with an entry and a config, in one step.
func (a request) fill(entry, config object.Value) diagnose.Filled {
	if !a.provisioner.takes[diagnose.FieldParams] {
		entry = entry.Without(object.Fields(diagnose.FieldParams))
	}
	parts := []diagnose.Part{{Field: diagnose.FieldInput, Value: entry}}
	if a.provisioner.takes[diagnose.FieldConfig] {
		parts = append(parts, diagnose.Part{Field: diagnose.FieldConfig, At: []string{diagnose.FieldConfig}, Value: config})
	}
	if a.provisioner.takes[diagnose.FieldContext] {
		value := diagnose.ContextValue(a.session.Req.Context)
		parts = append(parts, diagnose.Part{Field: diagnose.FieldContext, At: []string{diagnose.FieldContext}, Value: value})
	}
	with := diagnose.Fill(parts...)
	return diagnose.Filled{Root: a.provisioner.value.Unify(with.Value), With: with}
}

// make makes the resource.
func (a request) make(total *module.Budget) (evaluate.Provisioned, error) {
	s := a.session
	if err := a.refuseParams(); err != nil {
		return evaluate.Provisioned{}, err
	}
	f := a.fill(s.Input, a.config)
	if err := f.Root.Validate(cue.Concrete(true), cue.Final()); err != nil {
		return evaluate.Provisioned{}, a.explain(f, err)
	}
	return a.read(f, total)
}

// refuseParams refuses params if the provisioner has no params. An entry that does not declare its
// params takes every param.
func (a request) refuseParams() error {
	if a.provisioner.params {
		return nil
	}
	s := a.session
	params, _ := s.Input.Get(diagnose.FieldParams)
	var errs object.Errors
	for _, m := range params.Members {
		message := fmt.Sprintf("unknown field %q: the provisioner of type %q takes no params", m.Name, a.provisioner.Type)
		e := s.Report(diagnose.Mistake{Path: object.Fields(diagnose.FieldParams, m.Name), Key: true, Message: message})
		e.Notes = append(e.Notes, s.Notes([]token.Pos{a.provisioner.value.LookupPath(cue.ParsePath("type")).Pos()}, "required here")...)
		errs = append(errs, e)
	}
	return errs.Err()
}

// unknownParams returns a warning for each param that the provisioner accepts and does not declare:
// files for other tools have some. A param that is a declared param with a slip is a mistake.
func (a request) unknownParams() object.Errors {
	if len(a.provisioner.known) == 0 {
		return nil
	}
	s := a.session
	params, _ := s.Input.Get(diagnose.FieldParams)
	var errs object.Errors
	for _, m := range params.Members {
		if slices.Contains(a.provisioner.known, m.Name) {
			continue
		}
		e := s.Report(diagnose.Mistake{
			Path: object.Fields(diagnose.FieldParams, m.Name), Key: true,
			Message: fmt.Sprintf("unknown param %q: the provisioner of type %q declares no such param", m.Name, a.provisioner.Type),
		})
		slip := slices.ContainsFunc(a.provisioner.known, func(name string) bool {
			_, given := params.Get(name)
			return !given && object.Distance(strings.ToLower(m.Name), strings.ToLower(name)) == 1
		})
		e.Hint = object.Suggest(m.Name, a.provisioner.known)
		if !slip {
			e.Severity = object.SeverityWarning
		}
		errs = append(errs, e)
	}
	return errs
}

// explain returns what is wrong with f. What the user wrote comes first, because all else follows
// from it.
func (a request) explain(f diagnose.Filled, err error) error {
	s := a.session

	// The fields that were filled in are validated by themselves.
	validate := func(f diagnose.Filled, names ...string) error {
		var errs cueerrors.Error
		for _, name := range names {
			v := f.Root.LookupPath(cue.MakePath(cue.Str(name)))
			if !v.Exists() {
				continue
			}
			if err := v.Validate(cue.Concrete(true), cue.Final()); err != nil {
				errs = cueerrors.Append(errs, cueerrors.Promote(err, ""))
			}
		}
		if errs == nil {
			return nil
		}
		return errs
	}

	// The resource and its params come first, then the config and the context.
	errs := s.InputErrorsOf(a.provisioner.value, s.Skip, func(v object.Value) (diagnose.Filled, error) {
		f := a.fill(v, a.config)
		return f, validate(f, diagnose.FieldResource, diagnose.FieldParams)
	})
	errs = append(errs, a.configErrors(func(config object.Value) (diagnose.Filled, error) {
		f := a.fill(s.Input, config)
		return f, validate(f, diagnose.FieldConfig)
	})...)
	if len(errs) > 0 {
		return errs.Sorted()
	}
	if err := validate(f, diagnose.FieldContext); err != nil {
		return s.ErrorsOf(f, diagnose.FieldContext, err)
	}

	// The rest is wrong with what the provisioner makes of them.
	return s.OutcomeErrors(f, listProvisioners, err, func(entry object.Value) (diagnose.Filled, error) {
		f := a.fill(entry, a.config)
		return f, f.Root.Validate(cue.Concrete(true), cue.Final())
	})
}

// configErrors returns the mistakes of the part of the project's config that the provisioner reads.
func (a request) configErrors(try func(object.Value) (diagnose.Filled, error)) object.Errors {
	if !a.provisioner.takes[diagnose.FieldConfig] {
		return nil
	}
	s := *a.session
	s.Input, s.Written = a.config, a.config
	s.InputPath = object.Fields(diagnose.FieldConfig)
	errs := s.InputErrorsOf(a.provisioner.value.LookupPath(cue.MakePath(cue.Str(diagnose.FieldConfig))), s.Skip+1, try)
	for _, e := range errs {
		e.Hint = fmt.Sprintf("provisioners of module %q read spec.workloads.config of the project", s.Module.Name())
	}
	return errs
}

// read reads what was made. Fields are looked up by name: to list them costs as much as a third of
// filling them.
func (a request) read(f diagnose.Filled, total *module.Budget) (evaluate.Provisioned, error) {
	s := a.session
	if err := a.refuseFields(f); err != nil {
		return evaluate.Provisioned{}, err
	}
	result := evaluate.Provisioned{}
	data := map[string]json.RawMessage{}

	// The results have known names.
	for _, name := range resultFields() {
		v := module.Field(f.Root, name)
		if !v.Exists() {
			continue
		}
		var err error
		data[name], err = v.MarshalJSON()
		if err != nil {
			return evaluate.Provisioned{}, s.ModuleError(v, name, diagnose.Message(err))
		}
		total.Bytes += len(data[name])
	}

	// Through an object, so that names are in order.
	text, err := json.Marshal(data)
	if err != nil {
		return evaluate.Provisioned{}, err
	}
	decoded, err := object.Decode(text)
	if err != nil {
		return evaluate.Provisioned{}, err
	}

	// The objects of the resource are nodes.
	if nodes := module.Field(f.Root, diagnose.FieldGraph, diagnose.FieldNodes); nodes.Exists() {
		result.Nodes, err = s.Nodes(nodes, total)
		if err != nil {
			return evaluate.Provisioned{}, err
		}
	}
	object.SortNodes(result.Nodes)
	result.JSON, err = json.Marshal(decoded)
	return result, err
}

// refuseFields refuses fields that exist only under a condition, and that the contract does not
// have. The schema refuses them as well, and an entry that has all fields that are filled in is of
// the schema.
func (a request) refuseFields(f diagnose.Filled) error {
	if len(a.provisioner.takes) == len(filledFields()) {
		return nil
	}
	fields, err := f.Root.Fields()
	for err == nil && fields.Next() {
		if name := fields.Selector().Unquoted(); !slices.Contains(provisionerFields(), name) {
			return a.session.ModuleError(fields.Value(), name, diagnose.UnknownField(name, provisionerFields()))
		}
	}
	return a.session.RefuseGraph(f.Root)
}

// Trace answers queries for the objects of resources; the origins of other
// objects are zero.
func (p *Provisioners) Trace(s *module.Session, queries []evaluate.Query) ([]evaluate.Origin, error) {
	origins := make([]evaluate.Origin, len(queries))
	resources, err := p.resources(s)
	if err != nil {
		return nil, err
	}
	for _, a := range resources {
		f := a.fill(a.session.Input, a.config)
		nodes, err := module.Field(f.Root, diagnose.FieldGraph, diagnose.FieldNodes).Fields()
		for err == nil && nodes.Next() {
			id := a.session.NodeID(nodes.Selector().Unquoted())
			for i, q := range queries {
				if q.Node == id {
					origins[i] = trace.Origin(a.session, f, module.Field(nodes.Value(), diagnose.FieldObject), q.Path)
				}
			}
		}
	}
	return origins, nil
}
