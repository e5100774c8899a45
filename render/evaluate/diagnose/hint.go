// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cuelang.org/go/cue"
	cueerrors "cuelang.org/go/cue/errors"

	"github.com/ropewalk/ropewalk/render/object"
)

// quotesHint is the hint for numbers and the like where text is expected, before the text.
const quotesHint = "write it in quotes: "

// typeHint returns what to do about a scalar of another kind than the schema asks for, such as text
// without quotes or a number with quotes. Without a schema, CUE's errors name the kind. It returns
// "" if there is no hint.
func typeHint(schema cue.Value, errs []cueerrors.Error, v object.Value) string {
	want := wantedKind(schema, errs)
	fits := func(kind object.Kind, text string) bool {
		other := Fill(Part{Field: FieldInput, Value: object.Value{Kind: kind, Text: text}})
		return want&kindOf(object.Value{Kind: kind}) != 0 && (!schema.Exists() || schema.Unify(other.Value).Validate() == nil)
	}
	switch v.Kind {
	case object.KindNumber, object.KindBool:
		if want&kindOf(v) != 0 {
			return ""
		}
		quantity := v.Kind == object.KindNumber && isQuantity(schema)
		if unit := v.Text + "Gi"; quantity && fits(object.KindString, unit) {
			return fmt.Sprintf("write it with its unit: %q", unit)
		}
		if fits(object.KindString, v.Written()) {
			return quotesHint + strconv.Quote(v.Written())
		}
	case object.KindNull:
		if fits(object.KindString, "") {
			return `write "" for empty text`
		}
	case object.KindString:
		return textHint(strings.ToLower(v.Text), fits)
	case object.KindMap:
		if want&cue.StringKind != 0 {
			return fieldHint(v)
		}
	default:
	}
	return ""
}

// textHint returns what to do about text if a number or a boolean is required.
func textHint(text string, fits func(object.Kind, string) bool) string {
	n, err := strconv.ParseInt(text, 10, 64)
	isNumber := err == nil && fits(object.KindNumber, strconv.FormatInt(n, 10))
	isBool := (text == "true" || text == "false") && fits(object.KindBool, text)
	if isNumber || isBool {
		return "write it without quotes"
	}
	for _, b := range []struct{ text, words string }{{"true", "yes on y"}, {"false", "no off n"}} {
		if slices.Contains(strings.Fields(b.words), text) && fits(object.KindBool, b.text) {
			return "write " + b.text
		}
	}
	return ""
}

// fieldHint returns what to do about a struct if text is required. In CUE, text without quotes is a
// field with a value, such as nginx:1.29.
func fieldHint(v object.Value) string {
	if len(v.Members) != 1 || !strings.HasSuffix(v.Pos.File, ".cue") {
		return ""
	}
	m := v.Members[0]
	if m.Value.Kind != object.KindNumber && m.Value.Kind != object.KindString {
		return ""
	}
	return "in CUE text stands in quotes: " + strconv.Quote(m.Name+":"+m.Value.Text)
}

// isQuantity reports whether a schema requires a quantity of Kubernetes. A bare number there means
// bytes, which is rarely intended.
func isQuantity(schema cue.Value) bool {
	return schema.Exists() && strings.Contains(Expected(schema), "an amount such as")
}

// mapHint returns how to write the last name of path if the schema requires a map. It lists the
// fields that the map must have, which CUE names if the map is empty. It returns "" if there is no
// hint.
func (sc Scope) mapHint(path object.Path, schema cue.Value, input object.Value) string {
	if len(path) == 0 || time.Now().After(sc.deadline) {
		return ""
	}
	isMap := schema.Exists() && schema.IncompleteKind() == cue.StructKind && len(alternatives(schema)) == 0
	if !isMap {
		return ""
	}

	// An empty map at the path shows which fields are required.
	overlay := object.Value{Kind: object.KindMap}
	for _, step := range slices.Backward(path) {
		if step.IsIndex {
			return ""
		}
		overlay = object.Value{Kind: object.KindMap, Members: []object.Member{{Name: step.Name, Value: overlay}}}
	}
	with := input.Merge(overlay)
	f, err := sc.try(with)
	var needed []string
	for _, g := range sc.Groups(err, f.With, with) {
		switch {
		case !IsIncomplete(g):
			return "" // CUE hides what is missing behind it.
		case len(g.Path) == len(path)+1 && IsPrefix(path, g.Path):
			needed = append(needed, g.Path[len(path)].Name+": …")
		}
	}
	slices.Sort(needed)
	return fmt.Sprintf("write %s: {%s}", path[len(path)-1].Name, strings.Join(needed, ", "))
}

// strayHint returns the question whether a field beside the missing field at path was meant to be it.
// In an open map, CUE takes a misspelt name for a field of its own.
func (sc Scope) strayHint(path object.Path, input object.Value) string {
	last := len(path) - 1
	if last < 0 || path[last].IsIndex {
		return ""
	}
	beside, n := input.Lookup(path[:last])
	if n < last {
		return ""
	}
	const most = 1000 // Of a map that long the hint is of no use.
	known := KnownFields(SchemaAt(sc.schema, path[:last]))
	for _, m := range beside.Members[:min(len(beside.Members), most)] {
		if _, near := object.Nearest(m.Name, []string{path[last].Name}); near && !slices.Contains(known, m.Name) {
			return fmt.Sprintf("did you mean %q by %q?", path[last].Name, m.Name)
		}
	}
	return ""
}

// wantedKind returns the kind that a schema requires. Without a schema it returns the kinds that
// CUE's errors name.
func wantedKind(schema cue.Value, errs []cueerrors.Error) cue.Kind {
	if schema.Exists() {
		return schema.IncompleteKind()
	}
	want := cue.BottomKind
	for _, e := range errs {
		format, args := e.Msg()
		if format != formatKinds {
			continue
		}
		for _, kind := range []cue.Kind{cue.StringKind, cue.NumberKind, cue.IntKind, cue.BoolKind} {
			if text := kind.String(); text == fmt.Sprint(args[2]) || text == fmt.Sprint(args[3]) {
				want |= kind
			}
		}
	}
	return want
}
