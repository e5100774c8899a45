// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"maps"
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/build"
	"cuelang.org/go/cue/token"
)

const (
	// linkedField is the field of a linked module for what depends on the input.
	// It is quoted, so that no name in the module can mean it.
	linkedField = "module"
	// vendoredField begins the names of the fields that stand for imported
	// packages. They are hidden, not definitions, which would close what they hold.
	vendoredField = "_vendored"
)

// link moves the declarations of a package, and of the vendored packages that
// it imports, into a new instance with one file:
//
//	_vendored0: {#Graph: {...}, ...}   // an imported package
//	#Input: {...}                      // what depends on no input
//	"module": {input: #Input, ...}     // all else
//
// A fill of the field "module" evaluates what is in it; the rest is evaluated
// once, when the instance is built. undo gives the declarations back. Both are
// nil where the package is not of a shape that can be taken apart, or where
// there is nothing to gain.
//
// The declarations themselves go over, so that positions stay. What every name
// means was found out when the package was loaded, and is kept: names are not
// looked up again, and none can come to mean another thing by chance.
//
// genuine reports whether the package of an import path is the schema that this
// program brings along. Where it is, and says what a graph is, that is left out:
// unchecked tells so.
func link(inst *build.Instance, genuine func(importPath string) bool) (linked *build.Instance, unchecked bool, undo func()) {
	l := &linker{
		inst: inst, file: &ast.File{}, inner: &ast.StructLit{}, vendored: map[*build.Instance]*ast.Field{}, genuine: genuine,
	}
	if inst.ResolutionErr != nil || !l.linkable() {
		return nil, false, nil
	}
	l.outer = l.movable()
	if len(l.outer) == 0 && len(inst.Imports) == 0 {
		return nil, false, nil
	}
	l.move()
	linked = build.NewContext().NewInstance(inst.Dir, nil)
	linked.Root, linked.Module, linked.DisplayPath = inst.Root, inst.Module, inst.DisplayPath
	// Hidden names belong to the package of this path.
	linked.ImportPath, linked.PkgName = inst.ImportPath, inst.PkgName
	linked.Files = []*ast.File{l.file}
	return linked, l.unchecked, l.undo
}

// linker is the work of one link.
type linker struct {
	inst *build.Instance
	// outer are the definitions that move out of the module.
	outer   map[string]bool
	genuine func(importPath string) bool
	// vendored are the fields that stand for imported packages.
	vendored map[*build.Instance]*ast.Field
	// inner is what stays in the module, file all of it.
	inner *ast.StructLit
	file  *ast.File
	// unchecked says that the schema of the graph was left out.
	unchecked bool
	// changed are the names that lead elsewhere now, with what they were.
	changed []change
}

type change struct {
	ident *ast.Ident
	was   ast.Ident
}

// linkable reports whether the package and all that it imports can be taken
// apart.
func (l *linker) linkable() bool {
	for _, f := range l.inst.Files {
		if !plainDecls(f.Decls, false) || holds(f, isVendoredField) {
			return false
		}
	}
	for _, pkg := range l.inst.Imports {
		if len(pkg.Imports) > 0 || pkg.ResolutionErr != nil {
			return false
		}
		for _, f := range pkg.Files {
			if !plainDecls(f.Decls, false) || holds(f, isHidden) || holds(f, isLet) {
				return false
			}
		}
	}
	return true
}

// plainDecls reports whether decls, which stand at the root of a package, are
// nothing but fields with a name, and conditions under which there are such
// fields that are no definitions.
func plainDecls(decls []ast.Decl, conditional bool) bool {
	for _, d := range decls {
		switch d := d.(type) {
		case *ast.Package, *ast.ImportDecl:
		case *ast.Field:
			label, named := fieldName(d)
			if !named || conditional && isDefinition(label) {
				return false
			}
		case *ast.Comprehension:
			body, ok := d.Value.(*ast.StructLit)
			if !ok || d.Fallback != nil || !plainDecls(body.Elts, true) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// fieldName is the name by which others can mean a field, which a quoted one
// does not have; ok tells that it has neither an alias nor an attribute, and
// that its name is not computed.
func fieldName(f *ast.Field) (name string, ok bool) {
	if _, alias := f.Value.(*ast.Alias); alias || f.Alias != nil || len(f.Attrs) > 0 {
		return "", false
	}
	switch label := f.Label.(type) {
	case *ast.Ident:
		return label.Name, true
	case *ast.BasicLit:
		return "", true
	default:
		return "", false
	}
}

func isDefinition(name string) bool {
	return strings.HasPrefix(name, "#") || strings.HasPrefix(name, "_#")
}

// isHidden finds names that belong to their package, and would to another.
func isHidden(n ast.Node) bool {
	id, ok := n.(*ast.Ident)
	return ok && strings.HasPrefix(id.Name, "_") && id.Name != "_"
}

func isVendoredField(n ast.Node) bool {
	id, ok := n.(*ast.Ident)
	return ok && strings.HasPrefix(id.Name, vendoredField)
}

// isLet finds let clauses. CUE remembers their values where they stand, and what
// all evaluations share must not change.
func isLet(n ast.Node) bool {
	_, ok := n.(*ast.LetClause)
	return ok
}

// holds reports whether a part of root is of a kind.
func holds(root ast.Node, kind func(ast.Node) bool) bool {
	found := false
	ast.Walk(root, func(n ast.Node) bool {
		found = found || kind(n)
		return !found
	}, nil)
	return found
}

// movable are the definitions that depend on nothing but such definitions and
// imports.
func (l *linker) movable() map[string]bool {
	out, needs := map[string]bool{}, map[string][]string{}
	for _, file := range l.inst.Files {
		for _, d := range file.Decls {
			f, ok := d.(*ast.Field)
			if !ok {
				continue
			}
			label, _ := fieldName(f)
			if !isDefinition(label) {
				continue
			}
			before, again := out[label]
			out[label] = (before || !again) && f.Constraint == token.ILLEGAL && !holds(f, isLet)
			needs[label] = append(needs[label], rootNames(f.Value)...)
		}
	}
	for again := true; again; {
		again = false
		for label, ok := range out {
			for _, n := range needs[label] {
				if ok && !out[n] {
					out[label], ok, again = false, false, true
				}
			}
		}
	}
	maps.DeleteFunc(out, func(_ string, ok bool) bool { return !ok })
	return out
}

// rootNames are the fields at the root of the package that e needs.
func rootNames(e ast.Expr) (names []string) {
	ast.Walk(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && atRoot(id) {
			names = append(names, id.Name)
		}
		return true
	}, nil)
	return names
}

// atRoot reports whether a name means a field at the root of its package, in
// whatever file.
func atRoot(id *ast.Ident) bool {
	_, ok := id.Scope.(*ast.File)
	return ok
}

// move fills the new file and makes names lead there.
func (l *linker) move() {
	// CUE reads the version of the language from the position of a file, which is
	// that of its first declaration.
	l.file.Decls = append(l.file.Decls, packageClause(l.inst), &ast.ImportDecl{Specs: l.imports()})
	for i, pkg := range l.inst.Imports {
		f := &ast.Field{Label: ast.NewIdent(vendoredField + strconv.Itoa(i)), Value: &ast.StructLit{Elts: declarations(pkg)}}
		l.vendored[pkg] = f
		l.file.Decls = append(l.file.Decls, f)
	}
	for _, d := range declarations(l.inst) {
		if f, ok := d.(*ast.Field); ok {
			if label, _ := fieldName(f); l.outer[label] {
				l.file.Decls = append(l.file.Decls, d)
				continue
			}
			if l.checksGraph(f) {
				l.unchecked = true
				continue
			}
		}
		l.inner.Elts = append(l.inner.Elts, d)
	}
	l.file.Decls = append(l.file.Decls, &ast.Field{Label: ast.NewString(linkedField), Value: l.inner})
	for _, pkg := range append([]*build.Instance{l.inst}, l.inst.Imports...) {
		for _, d := range declarations(pkg) {
			l.lead(d, pkg)
		}
	}
}

// checksGraph reports whether f is graph: schema.#Graph, which a linked module
// does without: it gives no value, the schema refuses nothing that the reading
// of nodes lets pass, and to unify it with all that a module makes costs up to
// a third of an evaluation. What it would say of a mistake it says in the module
// as it was written.
func (l *linker) checksGraph(f *ast.Field) bool {
	if name, ok := fieldName(f); !ok || name != fieldGraph || f.Constraint != token.ILLEGAL {
		return false
	}
	value, ok := f.Value.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := value.X.(*ast.Ident)
	if !ok {
		return false
	}
	spec, ok := pkg.Node.(*ast.ImportSpec)
	label, isName := value.Sel.(*ast.Ident)
	return ok && isName && label.Name == "#Graph" && l.genuine(unquote(spec.Path.Value)) && l.graphs() > 1
}

// graphs is how many declarations of graph there are in all files.
func (l *linker) graphs() (n int) {
	for _, f := range l.inst.Files {
		n += len(values(f.Decls, fieldGraph))
	}
	return n
}

// imports are those of CUE's own library, each once. Names that lead to one know
// its path; that CUE knows the path too is found out from here.
func (l *linker) imports() (specs []*ast.ImportSpec) {
	seen := map[string]bool{}
	for _, pkg := range append([]*build.Instance{l.inst}, l.inst.Imports...) {
		for _, f := range pkg.Files {
			for spec := range f.ImportSpecs() {
				if path := unquote(spec.Path.Value); !seen[path] && l.inst.LookupImport(path) == nil {
					seen[path] = true
					specs = append(specs, spec)
				}
			}
		}
	}
	return specs
}

// lead makes the names in d, which is of a package, lead to where the
// declarations are now.
func (l *linker) lead(d ast.Decl, pkg *build.Instance) {
	ast.Walk(d, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		was := *id
		if spec, isImport := id.Node.(*ast.ImportSpec); isImport {
			field := l.vendored[l.inst.LookupImport(unquote(spec.Path.Value))]
			if field == nil {
				return true // CUE finds its own library by the path of the import
			}
			label, _ := fieldName(field)
			id.Name, id.Node, id.Scope = label, field.Value, l.file
		} else if atRoot(id) {
			id.Scope = l.home(pkg, id.Name)
		} else {
			return true
		}
		l.changed = append(l.changed, change{ident: id, was: was})
		return true
	}, nil)
}

// home is where a field is now that was at the root of a package.
func (l *linker) home(pkg *build.Instance, name string) ast.Node {
	switch {
	case pkg != l.inst:
		return l.vendored[pkg].Value
	case l.outer[name]:
		return l.file
	default:
		return l.inner
	}
}

// undo makes all names what they were.
func (l *linker) undo() {
	for _, c := range l.changed {
		*c.ident = c.was
	}
}

// declarations are those of all files of a package, without imports: names that
// mean one know which.
func declarations(pkg *build.Instance) (out []ast.Decl) {
	for _, f := range pkg.Files {
		for _, d := range f.Decls {
			switch d.(type) {
			case *ast.Package, *ast.ImportDecl:
			default:
				out = append(out, d)
			}
		}
	}
	return out
}

func packageClause(pkg *build.Instance) ast.Decl {
	for _, d := range pkg.Files[0].Decls {
		if p, ok := d.(*ast.Package); ok {
			return p
		}
	}
	return nil
}
