// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"strconv"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/evaluate/module"
	"github.com/ropewalk/ropewalk/render/object"
)

// maxHops bounds how many names are followed from one expression to the next.
const maxHops = 16

// fromSyntax reads in the module's text what the last value of chain depends
// on: the expression that it was written with, then the for and if clauses
// around it. The chain leads along path.
func (t *tracer) fromSyntax(chain []cue.Value, path object.Path) (object.Path, bool) {
	around := t.session.Compiled.Enclosing(chain[len(chain)-1].Pos())
	r := &reader{session: t.session, module: t.session.Compiled}
	if found, ok := r.value(around); ok {
		return found, true
	}
	found, item, ok := r.clauses(around)
	if ok && item {
		found = t.item(found, chain, path)
	}
	return found, ok
}

// item completes the path of a list that a comprehension runs over by the
// item that made the value: a value beside it was computed from that item.
func (t *tracer) item(source object.Path, chain []cue.Value, path object.Path) object.Path {
	for i := len(chain) - 1; i > 0; i-- {
		if path[i-1].IsIndex {
			if found, ok := t.within(chain[i], source, 0); ok {
				return found
			}
		}
	}
	return source
}

// within returns the entry of source that some leaf of v comes from. It looks at most five levels
// deep.
func (t *tracer) within(v cue.Value, source object.Path, depth int) (object.Path, bool) {
	if depth > 4 {
		return nil, false
	}
	if path, ok := t.follow(v); ok && len(path) > len(source) && diagnose.IsPrefix(source, path) {
		return path[:len(source)+1], true
	}
	fields, err := v.Fields()
	for err == nil && fields.Next() {
		if path, ok := t.within(fields.Value(), source, depth+1); ok {
			return path, true
		}
	}
	return nil, false
}

// reader finds references to the input in syntax.
type reader struct {
	session *module.Session
	module  *module.Compiled
	hops    int
}

// value reads the expression of the innermost field or let.
func (r *reader) value(around []ast.Node) (object.Path, bool) {
	for i := len(around) - 1; i >= 0; i-- {
		switch n := around[i].(type) {
		case *ast.Field:
			if _, isStruct := n.Value.(*ast.StructLit); isStruct {
				return nil, false
			}
			return r.refs(n.Value)
		case *ast.LetClause:
			// CUE gives a value that was named by let the place of the let.
			return r.refs(n.Expr)
		case *ast.Comprehension, *ast.StructLit:
			return nil, false
		}
	}
	return nil, false
}

// clauses reads the for and if clauses around, from the inside out. It
// reports in item whether a for clause runs over the value at the path.
func (r *reader) clauses(around []ast.Node) (path object.Path, item, ok bool) {
	for i := len(around) - 1; i >= 0; i-- {
		c, isComprehension := around[i].(*ast.Comprehension)
		if !isComprehension {
			continue
		}
		for j := len(c.Clauses) - 1; j >= 0; j-- {
			switch clause := c.Clauses[j].(type) {
			case *ast.ForClause:
				if path, ok := r.refs(clause.Source); ok {
					return path, true, true
				}
			case *ast.IfClause:
				if path, ok := r.refs(clause.Condition); ok {
					return path, false, true
				}
			}
		}
	}
	return nil, false, false
}

// refs returns the first reference to the input in an expression, directly or through other names.
func (r *reader) refs(expr ast.Node) (path object.Path, ok bool) {
	r.hops++
	if r.hops > maxHops {
		return nil, false
	}
	ast.Walk(expr, func(n ast.Node) bool {
		if ok {
			return false
		}
		switch n := n.(type) {
		case *ast.SelectorExpr, *ast.IndexExpr, *ast.Ident:
			e, _ := n.(ast.Expr)
			path, ok = r.ref(e)
			if ok {
				return false
			}
			_, isIdent := n.(*ast.Ident)
			return !isIdent
		case *ast.Field:
			// A label is no reference.
			path, ok = r.refs(n.Value)
			return false
		}
		return true
	}, nil)
	return path, ok
}

// ref follows one chain of selectors.
func (r *reader) ref(e ast.Expr) (object.Path, bool) {
	var tail object.Path
	for {
		switch x := e.(type) {
		case *ast.SelectorExpr:
			name, _, err := ast.LabelName(x.Sel)
			if err != nil {
				return nil, false
			}
			tail = append(object.Path{object.Field(name)}, tail...)
			e = x.X
		case *ast.IndexExpr:
			lit, ok := x.Index.(*ast.BasicLit)
			if !ok {
				// A computed index leads to one item of many; only the list is known.
				tail = nil
			} else if n, err := strconv.Atoi(lit.Value); err == nil {
				tail = append(object.Path{object.Index(n)}, tail...)
			} else {
				tail = append(object.Path{object.Field(diagnose.Unquote(lit.Value))}, tail...)
			}
			e = x.X
		case *ast.Ident:
			return r.name(x, tail)
		default:
			return nil, false
		}
	}
}

// name follows what an identifier stands for.
func (r *reader) name(id *ast.Ident, tail object.Path) (object.Path, bool) {
	// A provisioner declares its input itself.
	if found, ok := r.filled(id, tail); ok {
		return found, true
	}

	// CUE links most names to what declares them.
	switch n := id.Node.(type) {
	case *ast.ForClause:
		if path, ok := r.refs(n.Source); ok {
			return path, true
		}
		return nil, false
	case *ast.LetClause:
		return r.refs(n.Expr)
	case *ast.Field:
		if r.isName(id.Name) && r.isInput(n) {
			return tail, len(tail) > 0
		}
		return r.refs(n.Value)
	case ast.Expr:
		if r.isName(id.Name) && r.isInput(n) {
			return tail, len(tail) > 0
		}
		return r.refs(n)
	}

	// Any other name belongs to the input, or to a field in another file.
	if r.isName(id.Name) {
		return tail, len(tail) > 0
	}
	for _, f := range r.module.Files {
		for _, d := range f.Decls {
			if field, ok := d.(*ast.Field); ok && module.LabelIs(field.Label, id.Name) {
				if path, ok := r.refs(field.Value); ok {
					return path, true
				}
			}
		}
	}
	return nil, false
}

// filled returns the path of the input that a name in a provisioner leads to. A provisioner
// declares itself what it is given.
func (r *reader) filled(id *ast.Ident, tail object.Path) (object.Path, bool) {
	if r.session.Resource == "" {
		return nil, false
	}
	switch id.Node.(type) {
	case *ast.ForClause, *ast.LetClause, *ast.ImportSpec:
		return nil, false
	}
	return r.session.InInput(object.Fields(id.Name).Append(tail...))
}

// isName reports whether the field called name takes the input.
func (r *reader) isName(name string) bool { return name != "" && name == r.module.InputField() }

// isInput reports whether n is the input of the module, or its value.
func (r *reader) isInput(n ast.Node) bool {
	for _, f := range r.module.Files {
		for _, d := range f.Decls {
			field, ok := d.(*ast.Field)
			isNode := ok && (field == n || field.Value == n)
			if isNode && module.LabelIs(field.Label, r.module.InputField()) {
				return true
			}
		}
	}
	return false
}
