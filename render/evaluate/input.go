// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package evaluate

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"

	"github.com/ropewalk/ropewalk/render/object"
)

// userFile is the name under which CUE knows what users wrote.
const userFile = "ropewalk-input"

// filling is what is unified with the root of a module. CUE knows one
// synthetic file in which offset i stands for entry i of places, so that every
// position of CUE leads back to the user's own file, line and column.
type filling struct {
	value  cue.Value
	file   *token.File
	places []place
}

// place is a part of what the user wrote.
type place struct {
	pos object.Pos
	// parent is the entry of the part that holds this one, and step leads from
	// there to here; the entry of a root has itself as its parent.
	parent int
	step   object.Step
	// root is the field of the module that was filled; "" in entry 0, which
	// stands for nothing.
	root string
	key  bool // the place is that of a field name
}

// part is one field of the root of a module with what fills it.
type part struct {
	// field names the part in places; at are the fields that lead to it, none
	// for the root itself.
	field string
	at    []string
	value object.Value
}

// fill builds parts in a context of its own, which is thrown away with the
// filling: a value that was compiled in the context of a cached module would
// stay there for ever.
func fill(parts ...part) *filling {
	b := &builder{places: []place{{}}}
	b.size = 1
	for _, p := range parts {
		b.count(p.value)
	}
	f := &filling{file: token.NewFile(userFile, -1, b.size)}
	b.file = f.file
	root := &ast.StructLit{}
	for _, p := range parts {
		b.root = p.field
		expr := b.expr(p.value, len(b.places), object.Step{})
		if len(p.at) == 0 {
			if s, ok := expr.(*ast.StructLit); ok {
				root.Elts = append(root.Elts, s.Elts...)
				continue
			}
		}
		root.Elts = append(root.Elts, nested(p.at, expr))
	}
	f.places = b.places
	f.value = cuecontext.New().BuildExpr(root)
	return f
}

// nested is expr below the fields called names.
func nested(names []string, expr ast.Expr) ast.Decl {
	for i := len(names) - 1; i > 0; i-- {
		expr = &ast.StructLit{Elts: []ast.Decl{&ast.Field{Label: label(names[i]), Value: expr}}}
	}
	if len(names) == 0 {
		return &ast.EmbedDecl{Expr: expr}
	}
	return &ast.Field{Label: label(names[0]), Value: expr}
}

func label(name string) ast.Label {
	return &ast.BasicLit{Kind: token.STRING, Value: literal.String.Quote(name)}
}

// at is the entry of the place that p stands for; 0 is none.
func (f *filling) at(p token.Pos) int {
	if f == nil || p.File() != f.file || p.Offset() >= len(f.places) {
		return 0
	}
	return p.Offset()
}

// path leads to entry i from the field that was filled.
func (f *filling) path(i int) object.Path {
	var path object.Path
	for f.places[i].parent != i {
		path = append(path, f.places[i].step)
		i = f.places[i].parent
	}
	slices.Reverse(path)
	return path
}

// builder turns values into CUE syntax.
type builder struct {
	file   *token.File
	places []place
	size   int
	root   string
}

// count reserves an offset for each part of v, because the size of a file
// cannot change.
func (b *builder) count(v object.Value) {
	b.size++
	for _, m := range v.Members {
		b.size++
		b.count(m.Value)
	}
	for _, e := range v.Items {
		b.count(e)
	}
}

func (b *builder) pos(pos object.Pos, parent int, step object.Step, key bool) token.Pos {
	b.places = append(b.places, place{pos: pos, parent: parent, step: step, root: b.root, key: key})
	return b.file.Pos(len(b.places)-1, token.Blank)
}

func (b *builder) expr(v object.Value, parent int, step object.Step) ast.Expr {
	self := len(b.places)
	pos := b.pos(v.Pos, parent, step, false)
	switch v.Kind {
	case object.KindMap:
		s := &ast.StructLit{Lbrace: pos, Rbrace: pos}
		for _, m := range sorted(v.Members) {
			at := object.Field(m.Name)
			key := b.pos(m.Pos, self, at, true)
			name := &ast.BasicLit{ValuePos: key, Kind: token.STRING, Value: literal.String.Quote(m.Name)}
			s.Elts = append(s.Elts, &ast.Field{Label: name, TokenPos: key, Value: b.expr(m.Value, self, at)})
		}
		return s
	case object.KindList:
		l := &ast.ListLit{Lbrack: pos, Rbrack: pos}
		for i, e := range v.Items {
			l.Elts = append(l.Elts, b.expr(e, self, object.Index(i)))
		}
		return l
	case object.KindString:
		return &ast.BasicLit{ValuePos: pos, Kind: token.STRING, Value: literal.String.Quote(v.Text)}
	case object.KindNumber:
		return number(v.Text, pos)
	case object.KindBool:
		if v.Text == "true" {
			return &ast.BasicLit{ValuePos: pos, Kind: token.TRUE, Value: "true"}
		}
		return &ast.BasicLit{ValuePos: pos, Kind: token.FALSE, Value: "false"}
	case object.KindNone:
		// A part that was taken out says nothing of its value.
		return &ast.Ident{NamePos: pos, Name: "_"}
	default:
		return &ast.BasicLit{ValuePos: pos, Kind: token.NULL, Value: "null"}
	}
}

// sorted is members by name. A module can see the order of a map by a
// comprehension over it, and the same values must give the same result in
// whatever order they were written: results are cached by canonical input.
func sorted(members []object.Member) []object.Member {
	byName := func(a, b object.Member) int { return strings.Compare(a.Name, b.Name) }
	if slices.IsSortedFunc(members, byName) {
		return members
	}
	members = slices.Clone(members)
	slices.SortFunc(members, byName)
	return members
}

// number writes a JSON number; a sign is an operator in CUE.
func number(text string, pos token.Pos) ast.Expr {
	digits, negative := strings.CutPrefix(text, "-")
	kind := token.INT
	if strings.ContainsAny(digits, ".eE") {
		kind = token.FLOAT
	}
	lit := &ast.BasicLit{ValuePos: pos, Kind: kind, Value: digits}
	if negative {
		return &ast.UnaryExpr{OpPos: pos, Op: token.SUB, X: lit}
	}
	return lit
}
