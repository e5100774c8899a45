// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package provision

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	cueerrors "cuelang.org/go/cue/errors"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/evaluate/module"
	"github.com/ropewalk/ropewalk/render/object"
)

// listProvisioners is the definition that holds the list of a module of
// provisioners.
const listProvisioners = "#Provisioners"

// Provisioners are the provisioners of a module, in the order of its list.
type Provisioners struct {
	list []provisioner
	// catalog is made when it is first asked for.
	catalog func() []evaluate.Provisioner
}

// provisioner is one entry of the list. Its value is filled by itself: whatever
// else the module holds is evaluated once, when the module is compiled.
type provisioner struct {
	value cue.Value
	// skip counts the labels of CUE's paths that lead to value.
	skip int
	// takes holds the filled-in fields that the entry has.
	takes map[string]bool
	// params says that the entry declares its params. Where it accepts others
	// too, but no pattern says which, known holds the names that it declares.
	params bool
	known  []string
	evaluate.Provisioner
}

// ReadProvisioners reads the list of c, which was compiled of m, and what tells its
// entries apart.
func ReadProvisioners(c *module.Compiled, m evaluate.Module) (*Provisioners, error) {
	v := c.Value.LookupPath(cue.MakePath(cue.Def(listProvisioners)))

	// A mistake without a place gets the place of the module's mark.
	mistake := func(value cue.Value, path, format string, args ...any) *object.Error {
		pos := object.FirstValid(c.Tree.At(m, value), c.Tree.At(m, c.Value.LookupPath(cue.ParsePath("ropewalk"))))
		return &object.Error{Stage: object.StageEvaluate, Pos: pos, Path: path, Err: fmt.Errorf(format, args...)}
	}

	// The list must exist and be valid.
	if !v.Exists() {
		e := mistake(v, listProvisioners, "is missing: a module of provisioners has a list of them")
		e.Hint = listProvisioners + ": [#Postgres, #Redis]"
		return nil, e
	}
	if err := cmp.Or(v.Validate(), v.Err()); err != nil {
		s := module.NewSession(evaluate.Request{}, m, c)
		return nil, nameFields(s.ErrorsOf(diagnose.Filled{}, listProvisioners, err))
	}
	items, err := v.List()
	if err != nil {
		return nil, mistake(v, listProvisioners, "must be a list of provisioners, got %s", diagnose.Given(v))
	}

	// Each entry is read by itself.
	provisioners := &Provisioners{}
	var errs object.Errors
	for i := 0; items.Next(); i++ {
		p := provisioner{value: items.Value(), Provisioner: evaluate.Provisioner{Index: i}}
		p.read(func(value cue.Value, field, message string) {
			e := mistake(value, fmt.Sprintf("%s[%d]%s", listProvisioners, i, field), "%s", message)
			// Entries that are made of the same parts have the same mistakes.
			if !slices.ContainsFunc(errs, func(o *object.Error) bool { return o.Pos == e.Pos && o.Err.Error() == message }) {
				errs = append(errs, e)
			}
		})
		provisioners.list = append(provisioners.list, p)
	}
	provisioners.catalog = onceCatalog(provisioners.list)
	return provisioners, errs.Err()
}

// read reads what the entry is for and what it takes. An unknown field is a mistake of the author.
func (p *provisioner) read(mistake func(value cue.Value, field, message string)) {
	p.skip = len(p.value.Path().Selectors())
	p.takes = map[string]bool{}
	misspelt := false
	hasType := p.value.LookupPath(cue.MakePath(cue.Str("type"))).Exists()
	texts := map[string]*string{"type": &p.Type, "class": &p.Class, "id": &p.ID, "description": &p.Description}

	// A field is a text about the entry, filled in by Ropewalk, a result, or unknown.
	fields, err := p.value.Fields()
	for err == nil && fields.Next() {
		name := fields.Selector().Unquoted()
		v := fields.Value()
		switch text := texts[name]; {
		case name == "type" && !hasType:
			// It is required and has no value, which is reported below.
		case text != nil:
			*text, err = v.String()
			if err != nil {
				mistake(v, "."+name, "must be text that is the same for every resource, got "+diagnose.Given(v))
			}
			err = nil
		case slices.Contains(filledFields(), name):
			p.takes[name] = true
			if name == diagnose.FieldParams {
				p.params = v.IncompleteKind() != cue.TopKind
				refuseClosed(v, mistake)
				p.known = knownParams(v)
			}
		case !slices.Contains(provisionerFields(), name):
			near, _ := object.Nearest(name, provisionerFields())
			misspelt = misspelt || near == "type"
			mistake(v, "."+name, diagnose.UnknownField(name, provisionerFields())+"; hide what only the module itself needs: _"+name)
		}
	}

	// The type is required, whatever else is wrong.
	switch {
	case err != nil:
		mistake(p.value, "", "must be a provisioner")
	case !misspelt && !hasType:
		mistake(p.value, ".type", "is missing, expected the type of the resources that it is for")
	}
}

// refuseClosed refuses params that another definition does not allow. CUE does not report fields
// that may be absent until one is set.
func refuseClosed(params cue.Value, mistake func(value cue.Value, field, message string)) {
	fields, err := params.Fields(cue.Optional(true))
	for err == nil && fields.Next() {
		v := fields.Value()
		if e, ok := v.Err().(cueerrors.Error); ok { //nolint:errorlint // CUE gives no other type, and wraps none
			if format, _ := e.Msg(); format == diagnose.FormatUnknown {
				field := "." + diagnose.FieldParams + "." + fields.Selector().Unquoted()
				mistake(v, field, "is not allowed by a definition that the provisioner is made of: "+
					"what provisioners share must be no definition, such as _shared: {...}")
			}
		}
	}
}

// knownParams returns the names of params that end with "...". It returns nil if they do not, or
// if there are no names before it: such a provisioner reads every param.
func knownParams(params cue.Value) []string {
	open := params.IncompleteKind() == cue.StructKind && params.Allows(cue.AnyString)
	if !open || params.LookupPath(cue.MakePath(cue.AnyString)).IncompleteKind() != cue.TopKind {
		return nil
	}
	var names []string
	fields, err := params.Fields(cue.Optional(true))
	for err == nil && fields.Next() {
		names = append(names, fields.Selector().Unquoted())
	}
	return names
}

// nameFields names the fields of definitions of provisioners that are not known, and what they
// were meant to be: the schema closes an entry before it is read.
func nameFields(err error) error {
	for _, e := range object.AsErrors(err, object.StageEvaluate) {
		path, ok := object.ReadPath(e.Path)
		inDefinition := ok && len(path) > 0 && strings.HasPrefix(path[0].Name, "#")
		if !inDefinition || e.Err.Error() != diagnose.UnknownHere {
			continue
		}
		var knownFields []string
		switch last := len(path) - 1; {
		case last == 1:
			knownFields = provisionerFields()
		case last == 3 && path[1].Name == diagnose.FieldSensitive:
			knownFields = []string{"store", "key", "property", "version", "parts"}
		}
		e.Err = fmt.Errorf("%s", diagnose.UnknownField(path[len(path)-1].Name, knownFields))
		e.Hint = ""
	}
	return err
}

// provisionerFields returns the names of all fields that a provisioner may have.
func provisionerFields() []string {
	return slices.Concat([]string{"type", "class", "id", "description", diagnose.FieldGraph}, filledFields(), resultFields())
}

// filledFields returns the names of the fields that Ropewalk fills in.
func filledFields() []string {
	return []string{diagnose.FieldResource, diagnose.FieldParams, diagnose.FieldConfig, diagnose.FieldContext}
}

// resultFields returns the names of the fields that a provisioner may give, beside graph.
func resultFields() []string {
	return []string{"after", "claim", diagnose.FieldOutputs, diagnose.FieldSensitive, "volume", "workload"}
}
