// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"cmp"
	"fmt"
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"

	"github.com/ropewalk/ropewalk/render/object"
)

// listProvisioners is the definition that holds the list of a module of
// provisioners.
const listProvisioners = "#Provisioners"

// Fields of a provisioner: what Ropewalk fills, beside context, and what it
// gives, beside graph.
const (
	fieldResource  = "resource"
	fieldParams    = "params"
	fieldConfig    = "config"
	fieldOutputs   = "outputs"
	fieldSensitive = "sensitive"
)

// provisioners are those of a module, in the order of its list.
type provisioners struct {
	list []provisioner
	// catalog is made when it is first asked for.
	catalog func() []Provisioner
}

// provisioner is one entry of the list. Its value is filled by itself: whatever
// else the module holds is evaluated once, when the module is compiled.
type provisioner struct {
	value cue.Value
	// skip is how many labels of CUE's paths lead to value.
	skip int
	// takes are the fields that the entry has, out of those that are filled.
	takes map[string]bool
	// params says that the entry declares what params there are.
	params bool
	// declared is where the text declares the nodes: see compiled.
	declared map[string]token.Pos
	Provisioner
}

// readProvisioners reads the list and what tells its entries apart.
func (c *compiled) readProvisioners(m Module, lists []map[string]token.Pos) error {
	v := c.value.LookupPath(cue.MakePath(cue.Def(listProvisioners)))
	mistake := func(at cue.Value, path, format string, args ...any) *object.Error {
		pos := or(c.tree.at(m, at), c.tree.at(m, c.value.LookupPath(cue.ParsePath("ropewalk"))))
		return &object.Error{Stage: object.StageEvaluate, Pos: pos, Path: path, Err: fmt.Errorf(format, args...)}
	}
	if !v.Exists() {
		e := mistake(v, listProvisioners, "is missing: a module of provisioners has a list of them")
		e.Hint = listProvisioners + ": [#Postgres, #Redis]"
		return e
	}
	if err := cmp.Or(v.Validate(), v.Err()); err != nil {
		s := &session{source: m, module: c}
		return s.errorsOf(filled{}, listProvisioners, err)
	}
	items, err := v.List()
	if err != nil {
		return mistake(v, listProvisioners, "must be a list of provisioners, got %s", given(v))
	}
	out := &provisioners{}
	var errs object.Errors
	for i := 0; items.Next(); i++ {
		p := provisioner{value: items.Value(), Provisioner: Provisioner{Index: i}}
		if len(lists) > i {
			p.declared = lists[i]
		}
		p.read(func(at cue.Value, field, message string) {
			e := mistake(at, fmt.Sprintf("%s[%d]%s", listProvisioners, i, field), "%s", message)
			// Entries that are made of the same parts have the same mistakes.
			if !slices.ContainsFunc(errs, func(o *object.Error) bool { return o.Pos == e.Pos && o.Err.Error() == message }) {
				errs = append(errs, e)
			}
		})
		out.list = append(out.list, p)
	}
	c.provisioners = out
	out.catalog = onceCatalog(out.list)
	return errs.Err()
}

// read finds out what the entry is for and what it takes. A field that nobody
// knows is a mistake of the author, who would wait in vain for what it does.
func (p *provisioner) read(mistake func(at cue.Value, field, message string)) {
	p.skip = len(p.value.Path().Selectors())
	p.takes = map[string]bool{}
	texts := map[string]*string{"type": &p.Type, "class": &p.Class, "id": &p.ID, "description": &p.Description}
	fields, err := p.value.Fields()
	for err == nil && fields.Next() {
		name, v := fields.Selector().Unquoted(), fields.Value()
		switch text := texts[name]; {
		case text != nil:
			if *text, err = v.String(); err != nil {
				mistake(v, "."+name, "must be text that is the same for every resource, got "+given(v))
			}
			err = nil
		case slices.Contains(filledFields(), name):
			p.takes[name] = true
			if name == fieldParams {
				p.params = v.IncompleteKind() != cue.TopKind
				refuseClosed(v, mistake)
			}
		case !slices.Contains(provisionerFields(), name):
			mistake(v, "."+name, unknownField(name, provisionerFields())+"; hide what only the module itself needs: _"+name)
		}
	}
	switch {
	case err != nil:
		mistake(p.value, "", "must be a provisioner")
	case !p.value.LookupPath(cue.MakePath(cue.Str("type"))).Exists():
		mistake(p.value, ".type", "is missing, expected the type of the resources that it is for")
	}
}

// refuseClosed refuses params that another definition does not allow. CUE says
// nothing of fields that may be absent until somebody gives one.
func refuseClosed(params cue.Value, mistake func(at cue.Value, field, message string)) {
	fields, err := params.Fields(cue.Optional(true))
	for err == nil && fields.Next() {
		v := fields.Value()
		if e, ok := v.Err().(cueerrors.Error); ok { //nolint:errorlint // CUE gives no other type, and wraps none
			if format, _ := e.Msg(); format == formatUnknown {
				mistake(v, "."+fieldParams+"."+fields.Selector().Unquoted(), "is not allowed by a definition that the provisioner is made of: "+
					"what provisioners share must be no definition, such as _shared: {...}")
			}
		}
	}
}

// provisionerFields are all that a provisioner may have.
func provisionerFields() []string {
	return slices.Concat([]string{"type", "class", "id", "description", fieldGraph}, filledFields(), resultFields())
}

// filledFields are those that Ropewalk fills.
func filledFields() []string {
	return []string{fieldResource, fieldParams, fieldConfig, fieldContext}
}

// resultFields are those that a provisioner may give, beside graph.
func resultFields() []string {
	return []string{"after", "claim", fieldOutputs, fieldSensitive, "volume", "workload"}
}

// declaredInLists is where the text declares the nodes of each entry of the
// list; it knows of entries that are written there or named there.
func declaredInLists(files []*ast.File) (out []map[string]token.Pos) {
	for _, f := range files {
		for _, v := range values(f.Decls, listProvisioners) {
			list, ok := v.(*ast.ListLit)
			if !ok || out != nil {
				return nil
			}
			for _, e := range list.Elts {
				out = append(out, declaredIn(files, e))
			}
		}
	}
	return out
}

// declaredIn is where e, or what it names at the root of files, declares nodes.
func declaredIn(files []*ast.File, e ast.Expr) map[string]token.Pos {
	from := []ast.Expr{e}
	if id, ok := e.(*ast.Ident); ok {
		from = nil
		for _, f := range files {
			from = append(from, values(f.Decls, id.Name)...)
		}
	}
	out := map[string]token.Pos{}
	for _, e := range from {
		for _, graph := range values(elements(e), fieldGraph) {
			for _, nodes := range values(elements(graph), fieldNodes) {
				collect(elements(nodes), out)
			}
		}
	}
	return out
}
