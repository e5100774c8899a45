// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"

	"github.com/ropewalk/ropewalk/render/object"
)

// maxNodeName is how many characters the name of a node has at most.
const maxNodeName = 63

// provision asks a module of provisioners for its catalog, or for resources.
func (p *InProcess) provision(req Request, s *session) (Result, error) {
	if s.module.kind != kindProvisioners {
		return Result{}, fmt.Errorf("module %q is no module of provisioners: it lacks ropewalk.kind %q", req.Module.name(), kindProvisioners)
	}
	result := Result{Flavour: s.module.flavour}
	if req.Catalog {
		result.Catalog = slices.Clone(s.module.provisioners.catalog())
		for i, p := range s.module.provisioners.list {
			result.Catalog[i].Pos = s.module.tree.at(s.source, p.value.LookupPath(cue.MakePath(cue.Str("type"))))
		}
		return result, nil
	}
	made, err := s.provisioned()
	if err != nil {
		return Result{}, err
	}
	result.Provisioned = made
	if len(req.Policies) == 0 {
		return result, nil
	}
	var nodes []*object.Node
	for _, key := range object.SortedKeys(made) {
		nodes = append(nodes, made[key].Nodes...)
	}
	result.Violations, err = p.judge(req, nodes)
	if err != nil {
		return Result{}, err
	}
	return result, nil
}

// provisioned makes every resource of the input.
func (s *session) provisioned() (map[string]Provisioned, error) {
	resources, err := s.resources()
	if err != nil {
		return nil, err
	}
	out := make(map[string]Provisioned, len(resources))
	var errs object.Errors
	total := budget{}
	for _, r := range resources {
		made, err := r.make(&total)
		if err != nil {
			many, _ := s.req.fail(err).(object.Errors) //nolint:errorlint // fail gives no other type
			errs = appendNew(errs, many)
			continue
		}
		if err := total.err(); err != nil {
			return nil, err
		}
		out[r.session.resource] = made
	}
	return out, errs.Err()
}

// appendNew adds what is not said yet: resources share the config.
func appendNew(errs, more object.Errors) object.Errors {
	for _, e := range more {
		same := func(o *object.Error) bool {
			return o.Pos == e.Pos && o.Path == e.Path && o.Err.Error() == e.Err.Error()
		}
		if !slices.ContainsFunc(errs, same) {
			errs = append(errs, e)
		}
	}
	return errs
}

// asked is a resource that is asked for.
type asked struct {
	// session is that of the resource: its input is the entry of the resource,
	// without what it does not take.
	session     *session
	provisioner *provisioner
	config      object.Value
}

// resources are those of the input, in the order of their keys.
func (s *session) resources() ([]asked, error) {
	list := s.module.provisioners.list
	resources, ok := s.req.Input.Get("resources")
	if !ok || resources.Kind != object.KindMap {
		e := s.req.error(fmt.Errorf("module %q makes resources of workloads, and not the objects of a spec", s.source.name()))
		e.Hint = "name it under spec.workloads.provisioners of the project"
		return nil, e
	}
	config, _ := s.req.Input.Get(fieldConfig)
	out := make([]asked, 0, len(resources.Members))
	for _, m := range sorted(resources.Members) {
		at := s.inputPath.Append(object.Fields("resources", m.Name)...)
		number, _ := m.Value.Get("provisioner")
		i, err := strconv.Atoi(number.Text)
		if err != nil || i < 0 || i >= len(list) {
			e := s.req.error(fmt.Errorf("module %q has %d provisioners, and none is number %q", s.source.name(), len(list), number.Text))
			e.Path = at.String()
			return nil, e
		}
		if !validNodeName(m.Name) {
			e := s.req.error(fmt.Errorf("the key of a resource must be a DNS label of lower-case letters, digits and dashes, got %q", m.Name))
			e.Path, e.Pos = at.String(), or(m.Pos, s.pos)
			return nil, e
		}
		out = append(out, s.ask(&list[i], m, config, at))
	}
	return out, nil
}

// ask is one resource: member m of the resources, which stands at at.
func (s *session) ask(p *provisioner, m object.Member, config object.Value, at object.Path) asked {
	one := *s
	one.resource, one.skip, one.declared = m.Name, p.skip, p.declared
	one.inputPath, one.pos = at, or(or(m.Pos, m.Value.Pos), s.pos)
	entry := object.Value{Kind: object.KindMap, Pos: or(m.Value.Pos, m.Pos)}
	for _, part := range m.Value.Members {
		switch part.Name {
		case fieldResource:
			if !p.takes[fieldResource] {
				continue
			}
		case fieldParams:
			// Nothing behind the name is no params.
			if part.Value.Kind == object.KindNone || part.Value.Kind == object.KindNull {
				part.Value = object.Value{Kind: object.KindMap, Pos: part.Value.Pos}
			}
		default:
			continue
		}
		entry.Members = append(entry.Members, part)
	}
	one.input, one.written = entry, entry
	if config.Kind == object.KindNone {
		config.Kind = object.KindMap
	}
	return asked{session: &one, provisioner: p, config: config}
}

// fill unifies the provisioner with an entry and a config, in one step.
func (a asked) fill(entry, config object.Value) filled {
	if !a.provisioner.takes[fieldParams] {
		entry = entry.Without(object.Fields(fieldParams))
	}
	parts := []part{{field: fieldInput, value: entry}}
	if a.provisioner.takes[fieldConfig] {
		parts = append(parts, part{field: fieldConfig, at: []string{fieldConfig}, value: config})
	}
	if a.provisioner.takes[fieldContext] {
		parts = append(parts, part{field: fieldContext, at: []string{fieldContext}, value: contextValue(a.session.req.Context)})
	}
	with := fill(parts...)
	return filled{root: a.provisioner.value.Unify(with.value), with: with}
}

// make makes the resource.
func (a asked) make(total *budget) (Provisioned, error) {
	s := a.session
	if err := a.refuseParams(); err != nil {
		return Provisioned{}, err
	}
	f := a.fill(s.input, a.config)
	if err := f.root.Validate(cue.Concrete(true), cue.Final()); err != nil {
		return Provisioned{}, a.explain(f, err)
	}
	return a.read(f, total)
}

// refuseParams refuses params where the provisioner has none; an entry that
// does not say which there are takes anything.
func (a asked) refuseParams() error {
	if a.provisioner.params {
		return nil
	}
	s := a.session
	params, _ := s.input.Get(fieldParams)
	var errs object.Errors
	for _, m := range params.Members {
		message := fmt.Sprintf("unknown field %q: the provisioner of type %q takes no params", m.Name, a.provisioner.Type)
		e := s.report(mistake{path: object.Fields(fieldParams, m.Name), key: true, message: message})
		e.Notes = append(e.Notes, s.notes([]token.Pos{a.provisioner.value.LookupPath(cue.ParsePath("type")).Pos()}, "demanded here")...)
		errs = append(errs, e)
	}
	return errs.Err()
}

// explain says what is wrong with f: with what the user wrote first, because
// all else follows from it.
func (a asked) explain(f filled, err error) error {
	s := a.session
	given := func(f filled, names ...string) error {
		var errs cueerrors.Error
		for _, name := range names {
			v := f.root.LookupPath(cue.MakePath(cue.Str(name)))
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
	errs := s.inputErrorsOf(a.provisioner.value, s.skip, func(v object.Value) (*filling, error) {
		f := a.fill(v, a.config)
		return f.with, given(f, fieldResource, fieldParams)
	})
	errs = append(errs, a.configErrors(func(config object.Value) (*filling, error) {
		f := a.fill(s.input, config)
		return f.with, given(f, fieldConfig)
	})...)
	if len(errs) > 0 {
		return errs.Sorted()
	}
	if err := given(f, fieldContext); err != nil {
		return s.errorsOf(f, fieldContext, err)
	}
	return s.outcomeErrors(f, listProvisioners, err, func(entry object.Value) (filled, error) {
		f := a.fill(entry, a.config)
		return f, f.root.Validate(cue.Concrete(true), cue.Final())
	})
}

// configErrors is what the provisioner has against the config of the project.
func (a asked) configErrors(try func(object.Value) (*filling, error)) object.Errors {
	if !a.provisioner.takes[fieldConfig] {
		return nil
	}
	s := *a.session
	s.input, s.written, s.inputPath = a.config, a.config, object.Fields(fieldConfig)
	errs := s.inputErrorsOf(a.provisioner.value.LookupPath(cue.MakePath(cue.Str(fieldConfig))), s.skip+1, try)
	for _, e := range errs {
		e.Hint = fmt.Sprintf("provisioners of module %q read spec.workloads.config of the project", s.source.name())
	}
	return errs
}

// read reads what was made. Fields are asked for by name: to list them costs as
// much as a third of filling them.
func (a asked) read(f filled, total *budget) (Provisioned, error) {
	s := a.session
	if err := a.refuseFields(f); err != nil {
		return Provisioned{}, err
	}
	out, data := Provisioned{}, map[string]json.RawMessage{}
	for _, name := range resultFields() {
		v := f.root.LookupPath(cue.MakePath(cue.Str(name)))
		if !v.Exists() {
			continue
		}
		var err error
		if data[name], err = v.MarshalJSON(); err != nil {
			return Provisioned{}, s.moduleError(v, name, plain(err))
		}
		total.bytes += len(data[name])
	}
	// Through an object, so that names are in order.
	text, err := json.Marshal(data)
	if err != nil {
		return Provisioned{}, err
	}
	made, err := object.Decode(text)
	if err != nil {
		return Provisioned{}, err
	}
	if nodes := f.root.LookupPath(cue.MakePath(cue.Str(fieldGraph), cue.Str(fieldNodes))); nodes.Exists() {
		if out.Nodes, err = s.nodes(nodes, total); err != nil {
			return Provisioned{}, err
		}
	}
	object.SortNodes(out.Nodes)
	out.JSON, err = json.Marshal(made)
	return out, err
}

// refuseFields refuses fields that are there under a condition only, and that
// nobody knows. The schema refuses them as well, and an entry that has all that
// is filled is of the schema.
func (a asked) refuseFields(f filled) error {
	if len(a.provisioner.takes) == len(filledFields()) {
		return nil
	}
	fields, err := f.root.Fields()
	for err == nil && fields.Next() {
		if name := fields.Selector().Unquoted(); !slices.Contains(provisionerFields(), name) {
			return a.session.moduleError(fields.Value(), name, unknownField(name, provisionerFields()))
		}
	}
	return nil
}

// nodeID is the id of a node that the module calls name.
func (s *session) nodeID(name string) object.ID {
	if s.resource != "" {
		name = shortName(fieldResource + "-" + s.resource + "-" + name)
	}
	return object.MakeID(s.req.Spec, name)
}

// shortName is name, cut and with a hash of the whole where it is too long.
func shortName(name string) string {
	if len(name) <= maxNodeName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	hash := hex.EncodeToString(sum[:4])
	return strings.TrimRight(name[:maxNodeName-len(hash)-1], "-") + "-" + hash
}
