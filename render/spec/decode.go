// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"slices"
	"sync"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/document/kinds"
	"github.com/ropewalk/ropewalk/render/object"
)

// decoder reads one document: the tables of render/document/kinds define its fields, and the other
// rules are checked here.
type decoder struct {
	document.Decoder

	blocks map[object.Pos]Block
}

// mistake returns an error about the part of a document at pos and path.
func mistake(pos object.Pos, path object.Path, hint, format string, args ...any) *object.Error {
	return document.Mistake(pos, path, hint, format, args...)
}

// part is a part of a document that was checked against its table.
type part struct {
	document.Part

	blocks map[object.Pos]Block
}

// check decodes v, which is at path in its document, and returns the valid parts of it.
func (d *decoder) check(table document.Field, v object.Value, path object.Path) part {
	return part{d.Hold(table, v, path), d.blocks}
}

// child returns the part at the end of names.
func (p part) child(names ...string) part { return part{p.At(names...), p.blocks} }

// children returns the valid items of a list.
func (p part) children(name string) []part {
	var out []part
	for _, item := range p.List(name) {
		out = append(out, part{item, p.blocks})
	}
	return out
}

// textAndPos returns a text with its position, which is not valid if there is no text.
func (p part) textAndPos(name string) (string, object.Pos) {
	v := p.Field(name)
	return v.Text, v.Pos
}

// asText returns a text with its place.
func (p part) asText() Text {
	if b, ok := p.blocks[p.Pos]; ok {
		return Text{Text: p.Text, Pos: b.Pos, Indent: b.Indent}
	}
	if !p.Given() {
		return Text{}
	}
	return Text{Text: p.Text, Pos: p.Pos}
}

// The tables that documents are checked against. They are made on first use: a project has thousands
// of documents, and each table hundreds of fields.
//
//nolint:gochecknoglobals // constants
var (
	transformTable = sync.OnceValue(func() document.Field {
		return kinds.Transform().Root.Unread("spec", "component").Judged("apiVersion", "kind")
	})
	projectTable = sync.OnceValue(func() document.Field {
		table := kinds.Project().Root
		for _, at := range [][]string{{"spec"}, {"spec", "environments", "*"}} {
			table = table.Unread(append(at, "workloads", "defaults")...) // render/workload/score reads them.
		}
		return table.Judged("apiVersion", "kind")
	})
	workloadsTable = sync.OnceValue(func() document.Field { return kinds.Workloads().Unread("defaults") })
	componentTable = sync.OnceValue(func() document.Field { return header(kinds.OfSpec()...) })
	pivotTable     = sync.OnceValue(func() document.Field { return header(kinds.CueRef(clusterModule, "")) })
	gatewayTable   = sync.OnceValue(func() document.Field { return header(kinds.CueRef(moduleField, ""), kinds.DependsOn()) })
	builtTable     = sync.OnceValue(func() document.Field { return kinds.Built(false) })
	ownBuiltTable  = sync.OnceValue(func() document.Field { return kinds.Built(true) })
)

// header returns the fields that a document begins with, and the fields of its spec. Other decoders
// read the rest of the spec.
func header(spec ...document.Field) document.Field {
	specField := document.Field{Name: "spec", Kind: object.KindMap, Need: true, Open: true, Fields: spec}
	return kinds.Whole("", "", kinds.Metadata(), specField, kinds.Status()).Root.Judged("apiVersion", "kind")
}

// errorsAt returns err with every mistake at pos.
func errorsAt(err error, pos object.Pos) error {
	if err == nil {
		return nil
	}
	var out object.Errors
	for _, e := range object.AsErrors(err, object.StageSpec) {
		moved := *e
		moved.Pos = pos
		out = append(out, &moved)
	}
	return out
}

// moveTo returns v with every part at pos.
func moveTo(v object.Value, pos object.Pos) object.Value {
	v.Pos = pos
	v.Items = slices.Clone(v.Items)
	for i := range v.Items {
		v.Items[i] = moveTo(v.Items[i], pos)
	}
	v.Members = slices.Clone(v.Members)
	for i, m := range v.Members {
		v.Members[i] = object.Member{Name: m.Name, Pos: pos, Value: moveTo(m.Value, pos)}
	}
	return v
}
