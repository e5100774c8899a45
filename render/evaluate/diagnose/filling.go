// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"

	"github.com/ropewalk/ropewalk/render/object"
)

// Fields of a native module.
const (
	FieldInput   = "input"
	FieldContext = "context"
	FieldGraph   = "graph"
	FieldNodes   = "nodes"
	FieldObject  = "object"
)

// Fields of a provisioner: what Ropewalk fills, beside context, and what it
// gives, beside graph.
const (
	FieldResource  = "resource"
	FieldParams    = "params"
	FieldConfig    = "config"
	FieldOutputs   = "outputs"
	FieldSensitive = "sensitive"
)

// UserFile is the name under which CUE knows what users wrote.
const UserFile = "ropewalk-input"

// Filling is a value to be unified with the root of a module. CUE knows a
// synthetic file in which offset i stands for entry i of Positions, so that every
// position of CUE leads back to the user's own file, line and column.
type Filling struct {
	Value     cue.Value
	file      *token.File
	Positions []Position
}

// Position is a part of what the user wrote.
type Position struct {
	pos object.Pos
	// parent is the entry of the part that holds this part, and step leads from
	// there to here; the entry of a root has itself as its parent.
	parent int
	step   object.Step
	// Root is the field of the module that was filled; "" in entry 0, which
	// stands for nothing.
	Root string
	key  bool // the place is the place of a field name
}

// Part is one field of the root of a module with what fills it.
type Part struct {
	// Field names the part in Positions; At are the fields that lead to it,
	// which are empty for the root itself.
	Field string
	At    []string
	Value object.Value
	// Soft marks the places of scalars that are defaults, which the module may replace.
	Soft map[object.Pos]bool
}

// Fill builds parts in a context of its own, which is thrown away with the
// filling: a value that was compiled in the context of a cached module would
// stay there for ever.
func Fill(parts ...Part) *Filling {
	f, root := build(false, parts)
	f.Value = cuecontext.New().BuildExpr(root)
	return f
}

// File returns parts as a file of the package pkg, with the members of maps in the order in which
// they were written. The filling has no value.
func File(pkg string, parts ...Part) (*Filling, *ast.File) {
	f, root := build(true, parts)
	file := &ast.File{Decls: root.Elts}
	if pkg != "" {
		file.Decls = append([]ast.Decl{&ast.Package{Name: ast.NewIdent(pkg)}}, file.Decls...)
	}
	for _, d := range root.Elts {
		// Only a name without quotes can be referred to by the other files.
		field, _ := d.(*ast.Field)
		if name, _, err := ast.LabelName(field.Label); err == nil && !ast.StringLabelNeedsQuoting(name) {
			field.Label = &ast.Ident{Name: name, NamePos: field.Label.Pos()}
		}
	}
	return f, file
}

// build returns parts as the fields of one struct.
func build(asWritten bool, parts []Part) (*Filling, *ast.StructLit) {
	b := &builder{asWritten: asWritten}
	b.size = 1
	for _, p := range parts {
		b.count(p.Value)
	}
	b.places = make([]Position, 1, b.size)
	f := &Filling{file: token.NewFile(UserFile, -1, b.size)}
	b.file = f.file
	root := &ast.StructLit{}
	for _, p := range parts {
		b.root = p.Field
		b.soft = p.Soft
		expr := b.buildExpr(p.Value, len(b.places), object.Step{})
		if len(p.At) == 0 {
			if s, ok := expr.(*ast.StructLit); ok {
				root.Elts = append(root.Elts, s.Elts...)
				continue
			}
		}
		root.Elts = append(root.Elts, nested(p.At, expr))
	}
	f.Positions = b.places
	return f, root
}

// nested returns expr below the fields called names.
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

// At returns the entry of the place that p stands for, or 0 if p stands for no place.
func (f *Filling) At(p token.Pos) int {
	if f == nil || p.File() != f.file || p.Offset() >= len(f.Positions) {
		return 0
	}
	return p.Offset()
}

// Path returns the path that leads to entry i from the field that was filled.
func (f *Filling) Path(i int) object.Path {
	var path object.Path
	for f.Positions[i].parent != i {
		path = append(path, f.Positions[i].step)
		i = f.Positions[i].parent
	}
	slices.Reverse(path)
	return path
}

// Filled is a module with an input in it.
type Filled struct {
	Root cue.Value
	With *Filling
}

// ContextValue returns c as a module sees it. Its parts have no position.
func ContextValue(c object.Context) object.Value {
	v := object.Value{Kind: object.KindMap}
	add := func(name, text string) {
		v.Members = append(v.Members, object.Member{Name: name, Value: object.Value{Kind: object.KindString, Text: text}})
	}
	add("name", c.Name)
	add("namespace", c.Namespace)
	if c.Environment != "" {
		add("environment", c.Environment)
	}
	add("engine", c.Engine)
	add("kubeVersion", c.KubeVersion)
	add("clusterDomain", c.ClusterDomain)
	return v
}

// builder turns values into CUE syntax.
type builder struct {
	file   *token.File
	places []Position
	size   int
	root   string
	// asWritten keeps the members of maps in their order.
	asWritten bool
	soft      map[object.Pos]bool
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

// addPlace adds a place to the table and returns the position that stands for it.
func (b *builder) addPlace(pos object.Pos, parent int, step object.Step, key bool) token.Pos {
	b.places = append(b.places, Position{pos: pos, parent: parent, step: step, Root: b.root, key: key})
	return b.file.Pos(len(b.places)-1, token.Blank)
}

// buildExpr returns v as an expression, and adds the places of its parts to the table. A soft
// scalar becomes the default of its type.
func (b *builder) buildExpr(v object.Value, parent int, step object.Step) ast.Expr {
	if b.soft[v.Pos] {
		kinds := map[object.Kind]string{object.KindString: "string", object.KindNumber: "number", object.KindBool: "bool"}
		if kind, isScalar := kinds[v.Kind]; isScalar {
			value := b.scalar(v, b.addPlace(v.Pos, parent, step, false))
			return &ast.BinaryExpr{X: &ast.UnaryExpr{Op: token.MUL, X: value}, Op: token.OR, Y: ast.NewIdent(kind)}
		}
	}

	// A part comes after its parent, so that the table leads from it to its parent.
	self := len(b.places)
	pos := b.addPlace(v.Pos, parent, step, false)
	switch v.Kind {
	case object.KindMap:
		s := &ast.StructLit{Lbrace: pos, Rbrace: pos}
		members := v.Members
		if !b.asWritten {
			members = Sorted(members)
		}
		for _, m := range members {
			at := object.Field(m.Name)
			key := b.addPlace(m.Pos, self, at, true)
			name := &ast.BasicLit{ValuePos: key, Kind: token.STRING, Value: literal.String.Quote(m.Name)}
			s.Elts = append(s.Elts, &ast.Field{Label: name, TokenPos: key, Value: b.buildExpr(m.Value, self, at)})
		}
		return s
	case object.KindList:
		l := &ast.ListLit{Lbrack: pos, Rbrack: pos}
		for i, e := range v.Items {
			l.Elts = append(l.Elts, b.buildExpr(e, self, object.Index(i)))
		}
		return l
	default:
		return b.scalar(v, pos)
	}
}

// scalar returns the expression of v, which is neither a map nor a list.
func (b *builder) scalar(v object.Value, pos token.Pos) ast.Expr {
	switch v.Kind {
	case object.KindString:
		return &ast.BasicLit{ValuePos: pos, Kind: token.STRING, Value: literal.String.Quote(v.Text)}
	case object.KindNumber:
		return NumberLit(v.Text, pos)
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

// Sorted returns members by name. A module can see the order of a map by a comprehension over it,
// and the same values must give the same result in whatever order they were written: results are
// cached by canonical input.
func Sorted(members []object.Member) []object.Member {
	byName := func(a, b object.Member) int { return strings.Compare(a.Name, b.Name) }
	if slices.IsSortedFunc(members, byName) {
		return members
	}
	members = slices.Clone(members)
	slices.SortFunc(members, byName)
	return members
}

// NumberLit writes a JSON number; a sign is an operator in CUE.
func NumberLit(text string, pos token.Pos) ast.Expr {
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

// ValueOf returns rendered data as a value without positions.
func ValueOf(v any) object.Value {
	switch v := v.(type) {
	case map[string]any:
		out := object.Value{Kind: object.KindMap}
		for _, k := range object.SortedKeys(v) {
			out.Members = append(out.Members, object.Member{Name: k, Value: ValueOf(v[k])})
		}
		return out
	case []any:
		out := object.Value{Kind: object.KindList}
		for _, e := range v {
			out.Items = append(out.Items, ValueOf(e))
		}
		return out
	case string:
		return object.Value{Kind: object.KindString, Text: v}
	case bool:
		return object.Value{Kind: object.KindBool, Text: strconv.FormatBool(v)}
	case nil:
		return object.Value{Kind: object.KindNull}
	default:
		// int64 and float64 always encode; CUE reads the same text.
		data, _ := json.Marshal(v)
		return object.Value{Kind: object.KindNumber, Text: string(data)}
	}
}
