// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/document/kinds"
	"github.com/ropewalk/ropewalk/render/object"
)

// stray is a field that is near no other.
const stray = "qqqqqqqqqq"

// The tables of the reference are those that documents are held against.
func TestTheReferenceIsOfTheTables(t *testing.T) {
	const page = "../../docs/reference.md"
	text := read(t, page)
	want, r := text, &reference{}
	r.table(kinds.Workload()) // The defaults of workloads in a Project have its fields.
	r.known = slices.DeleteFunc(r.known, func(k known) bool { return k.way == "" || k.way == "metadata" })
	for _, d := range []document.Document{kinds.Project(), kinds.Workload(), kinds.Function(), kinds.Compose(), kinds.Apps()} {
		before, rest, ok := strings.Cut(want, "<!-- fields of "+d.Kind+" -->\n")
		require.True(t, ok, d.Kind)
		_, after, ok := strings.Cut(rest, "<!-- end -->")
		require.True(t, ok, d.Kind)
		want = before + "<!-- fields of " + d.Kind + " -->\n" + r.table(d) + "<!-- end -->" + after
	}
	if os.Getenv("ROPEWALK_UPDATE") != "" {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o600))
		return
	}
	require.Equal(t, want, text, "ROPEWALK_UPDATE=1 rewrites it")
}

// reference is the tables of the page in the making: of each document the fields, one in each
// row, by the way to it. A map whose fields are those of one above is a row that says so.
type reference struct {
	strings.Builder

	kind string
	// known are the maps that have rows, with the ways to them.
	known []known
}

// table is that of a document.
func (r *reference) table(d document.Document) string {
	r.Reset()
	r.kind = d.Kind
	r.known = slices.DeleteFunc(r.known, func(k known) bool { return k.kind == d.Kind })
	r.WriteString("| field | holds | meaning |\n|---|---|---|\n")
	r.fields(d.Root, "")
	return r.String()
}

type known struct {
	fields []document.Field
	// way leads to it in the document of a kind.
	way, kind string
}

// fields adds the rows of what is in a map or in the items of a list.
func (r *reference) fields(f document.Field, way string) {
	switch {
	case f.Free:
	case f.Kind == object.KindList:
		r.fields(item(f), way+"[]")
	case f.Kind == object.KindMap && f.Fields == nil:
		r.fields(item(f), strings.TrimPrefix(way+".NAME", "."))
	case f.Kind == object.KindMap:
		r.known = append(r.known, known{f.Fields, way, r.kind})
		for _, own := range f.Fields {
			r.row(own, strings.TrimPrefix(way+"."+own.Name, "."))
		}
	}
	for _, other := range f.Or {
		r.fields(other, way)
	}
}

// row adds a field, and what is in it.
func (r *reference) row(f document.Field, way string) {
	meaning := f.Doc
	if f.Kind == object.KindMap && (f.Most == 1 || len(f.OneOf) > 1 && len(f.OneOf) == len(f.Fields)) {
		meaning = strings.TrimSpace(meaning + " One of its fields.")
	}
	same := r.same(f)
	if same != "" {
		meaning = strings.TrimSpace(meaning + " " + same)
	}
	r.WriteString("| `" + way + "` | " + holds(f) + " | " + strings.NewReplacer("|", `\|`, "\n", " ").Replace(meaning) + " |\n")
	if same == "" {
		r.fields(f, way)
	}
}

// same says that a map above has the same fields, or all of these; "" is none.
func (r *reference) same(f document.Field) string {
	for _, other := range f.Or {
		if other.Kind == object.KindMap {
			return r.same(other)
		}
	}
	for f.Kind == object.KindList || f.Kind == object.KindMap && f.Fields == nil && f.Each != nil {
		f = item(f)
	}
	const few, many = 2, 6
	among := func(fields []document.Field) bool {
		return !slices.ContainsFunc(f.Fields, func(own document.Field) bool {
			return !slices.ContainsFunc(fields, func(o document.Field) bool {
				return o.Name == own.Name && slices.Equal(names(o.Fields), names(own.Fields))
			})
		})
	}
	for _, k := range r.known {
		of := "`" + k.way + "`"
		if k.kind != r.kind {
			of += " of a " + k.kind
		}
		switch {
		case len(f.Fields) < few:
		case slices.Equal(names(f.Fields), names(k.fields)):
			return "The fields are those of " + of + "."
		case len(f.Fields) >= many && among(k.fields):
			var some []string
			for _, field := range f.Fields {
				some = append(some, "`"+field.Name+"`")
			}
			return "Of " + of + " it may have " + strings.Join(some, ", ") + "."
		}
	}
	return ""
}

// names are those of fields, with all that is in them.
func names(fields []document.Field) []string {
	var out []string
	for _, f := range fields {
		out = append(out, f.Name)
		out = append(out, names(f.Fields)...)
		if f.Each != nil {
			out = append(out, names(f.Each.Fields)...)
		}
	}
	return out
}

// holds says of what kind a field is.
func holds(f document.Field) string {
	out := kindOf(f)
	for _, other := range f.Or {
		out += ", or " + kindOf(other)
	}
	if f.Off {
		out += ", or false"
	}
	if f.Need {
		out += "; needed"
	}
	return out
}

func kindOf(f document.Field) string {
	if len(f.Values) > 0 {
		var values []string
		for _, v := range f.Values {
			values = append(values, "`"+v.Name+"`")
		}
		out := strings.Join(values, ", ")
		if f.Kind == object.KindList {
			return "list of " + out
		}
		return out
	}
	switch f.Kind {
	case object.KindString:
		return "text"
	case object.KindNumber:
		if f.Range != nil {
			words := strings.TrimPrefix(f.Range.String(), "a ")
			return strings.Replace(words, " to "+strconv.Itoa(math.MaxInt32), " on", 1)
		}
		return "number"
	case object.KindBool:
		return "true or false"
	case object.KindList:
		if f.Free {
			return "list"
		}
		return "list of " + plural(item(f))
	case object.KindMap:
		if f.Fields == nil && !f.Free {
			return "map of " + plural(item(f))
		}
		return "map"
	case object.KindNone, object.KindNull:
	}
	return "any value"
}

// plural names several values.
func plural(f document.Field) string {
	out := map[object.Kind]string{object.KindString: "texts", object.KindNumber: "numbers", object.KindBool: "bools", object.KindList: "lists", object.KindMap: "maps"}[f.Kind]
	for _, other := range f.Or {
		out += " or " + plural(other)
	}
	return out
}

// item is an item of a list, or a value of a map whose names are free.
func item(f document.Field) document.Field {
	switch {
	case f.Each != nil:
		return *f.Each
	case f.Kind == object.KindList && f.Fields != nil:
		return document.Field{Kind: object.KindMap, Fields: f.Fields}
	}
	return document.Field{Kind: object.KindString, Values: f.Values}
}
