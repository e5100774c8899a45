// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/internal/printable"
	"github.com/ropewalk/ropewalk/render/object"
)

// Decoder checks values against tables. The zero value is ready for use.
type Decoder struct {
	// Errs are the mistakes so far in one document, in no particular order.
	Errs object.Errors
	// Failed counts the errors, including errors that are not in Errs because they are known.
	Failed int
	// Able reports whether the target of the document supports what, which By of a field or
	// of a value allows only to some targets. It reports a mistake if the target does not. It
	// may be nil.
	Able func(by Set, what string, pos object.Pos, at object.Path) bool
	// Null gets each field that is null, which counts as absent. Gone reports whether a null
	// removes a member of a map with free names. They may be nil.
	Null func(v object.Value, at object.Path)
	Gone func(v object.Value) bool
	// Loose gets each number or bool in the place of a text, and reports whether it is read
	// as text. All of them are if Loose is nil.
	Loose func(v object.Value, at object.Path) bool
	// Stray is set if a field near the root is unknown, which may be a misspelt field.
	Stray bool

	// secret is above 0 inside of a sensitive field.
	secret int
}

// Decode decodes v by the table of a field, whose path in the document is at. It returns the valid
// parts of v, and false if no part is valid. Nulls are left out. An invalid item of a list becomes an
// empty map, or KindNone in a list of other values. All other parts are unchanged.
func (d *Decoder) Decode(f Field, v object.Value, at object.Path) (object.Value, bool) {
	location := (*Location)(nil)
	for _, step := range at {
		location = &Location{location, step}
	}
	return d.decode(&f, v, location)
}

// decode does the work of Decode. It also keeps sensitive values out of excerpts.
func (d *Decoder) decode(f *Field, v object.Value, at *Location) (object.Value, bool) {
	before := len(d.Errs)
	if f.Sensitive {
		d.secret++
		defer func() { d.secret-- }()
	}
	valid, ok := d.decodeShape(f, v, at)
	if f.Hidden != nil && f.Hidden(v) {
		d.Hide(before)
	}
	return valid, ok
}

// Hide keeps the text of the document out of the excerpts of the mistakes from before on.
func (d *Decoder) Hide(before int) {
	for _, e := range d.Errs[before:] {
		e.Secret = true
	}
}

// decodeShape decodes v by the shape of the field that accepts a value of its kind.
func (d *Decoder) decodeShape(f *Field, v object.Value, at *Location) (object.Value, bool) {
	if f.Off && v.Kind == object.KindBool && v.Text == "false" {
		return v, true
	}

	// A value of another kind may have one of the other shapes of the field.
	if !f.takes(v) {
		for _, other := range f.Or {
			if other.takes(v) {
				other.Sensitive = other.Sensitive || f.Sensitive
				return d.decode(&other, v, at)
			}
		}
		d.reportKind(f, v, at)
		return v, false
	}

	// The target may not support the field.
	if f.By != 0 && d.Able != nil && !d.Able(f.By, fieldName(at), v.Pos, at.Path()) {
		return v, false
	}

	// A number or a bool may stand in the place of a text.
	if f.Loose && v.Kind != object.KindString && d.Loose != nil {
		before := len(d.Errs)
		good := d.Loose(v, at.Path())
		if d.secret > 0 {
			d.Hide(before)
		}
		if !good {
			return v, false
		}
	}

	// Each kind of value has its own rules.
	switch f.Kind {
	case object.KindMap:
		return d.decodeMembers(f, v, at)
	case object.KindList:
		return d.decodeItems(f, v, at)
	case object.KindString, object.KindNumber:
		return v, d.checkScalar(f, v, at)
	case object.KindNone, object.KindNull, object.KindBool:
	}
	return v, true
}

// takes reports whether the field accepts a value of this kind.
func (f *Field) takes(v object.Value) bool {
	number := v.Kind == object.KindNumber
	switch {
	case f.Kind == object.KindNone, v.Kind == f.Kind:
		return true
	case f.Kind == object.KindBool:
		return f.Text && v.Kind == object.KindString && (v.Text == "true" || v.Text == "false")
	case f.Loose:
		return v.Kind == object.KindString || number || v.Kind == object.KindBool
	case f.Text:
		return v.Kind == object.KindString || number
	}
	return false
}

// reportKind reports a value of another kind, with a hint.
func (d *Decoder) reportKind(f *Field, v object.Value, at *Location) {
	// Name all shapes that the field may have.
	expected := f.expected()
	alternatives := slices.DeleteFunc(slices.Clone(f.Or), func(o Field) bool { return o.Kind == object.KindNull })
	for i, other := range alternatives {
		if f.Rule.Short != "" { // It names all shapes.
			break
		}
		expected = expected + map[bool]string{true: " or a ", false: ", a "}[i == len(alternatives)-1] + other.expected()
	}
	if f.Off {
		expected += ", or false"
	}

	// Guess the hint from the value.
	hint := ""
	scalar := v.Kind == object.KindNumber || v.Kind == object.KindBool
	if key, value, ok := strings.Cut(v.Text, ":"); f.Kind == object.KindMap && v.Kind == object.KindString && ok && isWord(key) {
		hint = fmt.Sprintf("write a space behind the colon: \"%s: %s\"", key, value)
	}
	if f.Kind == object.KindString && scalar && f.Rule.Short == "" {
		hint = "write it in quotes: " + strconv.Quote(v.Written())
	}
	if _, err := strconv.Atoi(v.Text); f.Kind == object.KindNumber && v.Kind == object.KindString && err == nil {
		hint = "write it without quotes"
	}
	if f.Kind == object.KindString && v.Kind == object.KindNull {
		hint = "write \"\" for empty text"
	}
	if f.Mistyped != nil {
		hint = cmp.Or(f.Mistyped(v), hint)
	}
	if d.secret > 0 { // The hint repeats the value.
		hint, _, _ = strings.Cut(hint, ":")
		defer d.Hide(len(d.Errs))
	}
	got := "a " + v.Kind.String()
	if v.Kind == object.KindNull {
		got = "null"
	}
	d.failAt(v, at, hint, "expected a %s, got %s", expected, got)
}

// expected names the kinds that the field accepts.
func (f *Field) expected() string {
	switch {
	case f.Rule.Short != "":
		return f.Rule.Short
	case f.Text && f.Kind != object.KindBool:
		return "string or a number"
	}
	return f.Kind.String()
}

// isWord reports whether text has the form of a key.
func isWord(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool { return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') })
}

// fieldName names a field in a message, such as timeouts.request. An item of a list has the name of
// its list.
func fieldName(at *Location) string {
	var names []string
	for path := at.Path(); len(path) > 1; path = path[1:] {
		if !path[1].IsIndex && (len(path) < 3 || !path[2].IsIndex || len(names) > 0) {
			names = append(names, path[1].Name)
		}
	}
	return strings.Join(names, ".")
}

// checkLength reports too few or too many members or items. It returns false if there is nothing to
// read.
func (d *Decoder) checkLength(f *Field, v object.Value, n int, unit string, at *Location) bool {
	switch {
	case n == 0 && f.Least > 0 && f.Hint != "":
		d.failAt(v, at, f.Hint, "must not be empty")
		return false
	case n == 0 && f.Least > 0:
		hint := "remove it, or write " + map[string]string{"field": "a field", "item": "an item"}[unit]
		d.failAt(v, at, cmp.Or(f.Hint, hint), "must not be empty")
		return false
	case n < f.Least:
		d.failAt(v, at, "", "expected %d %ss at least, got %d", f.Least, unit, n)
	case f.Most > 0 && n > f.Most:
		if v.Kind == object.KindMap {
			v.Pos = v.Members[f.Most].Pos
		}
		d.failAt(v, at, "remove the others", "expected at most %s, got %d", printable.Count(f.Most, unit), n)
	}
	return true
}

// decodeItems returns the valid items of a list. It returns false if the list has items and no item
// is valid.
func (d *Decoder) decodeItems(f *Field, v object.Value, at *Location) (object.Value, bool) {
	if !d.checkLength(f, v, len(v.Items), "item", at) {
		return v, false
	}
	if f.Free {
		return v, true
	}

	// An invalid item keeps its place, so that the paths of the others are right.
	out := object.Value{Kind: object.KindList, Pos: v.Pos}
	itemField := f.item()
	seen := map[string]bool{}
	for i, item := range v.Items {
		place := at.Item(i)
		if itemField.Null && item.Kind == object.KindNull {
			out.Items = append(out.Items, object.Value{Pos: item.Pos})
			continue
		}
		valid, ok := d.decode(itemField, item, place)
		switch {
		case !ok && itemField.Kind == object.KindMap:
			out.Items = append(out.Items, object.Value{Kind: object.KindMap, Pos: item.Pos})
		case !ok:
			out.Items = append(out.Items, object.Value{Pos: item.Pos})
		case f.Unique && seen[item.Text]:
			d.failAt(item, place, "", "%q is written twice", item.Text)
		default:
			seen[item.Text] = true
			out.Items = append(out.Items, valid)
		}
	}
	someRight := slices.ContainsFunc(out.Items, func(i object.Value) bool { return i.Kind != object.KindNone })
	return out, someRight || len(v.Items) == 0
}

// shown returns a value in the form of messages.
func (f *Field) shown(v object.Value) string {
	if f.Sensitive || (f.Rule.Secret != nil && f.Rule.Secret(v.Text)) {
		return "this"
	}
	return Shown(v.Text)
}

// checkScalar reports whether the field accepts a text or a number.
func (d *Decoder) checkScalar(f *Field, v object.Value, at *Location) bool {
	if f.Full && v.Text == "" {
		d.failAt(v, at, "", "must not be empty")
		return false
	}
	if !f.Rule.Allows(v.Text) {
		if f.Sensitive {
			defer d.Hide(len(d.Errs))
		}
		d.failAt(v, at, cmp.Or(f.Rule.suggestion(v.Text), f.Hint), "%s", f.Rule.problem(f.shown(v), v.Text))
		return false
	}

	// A number may be out of range.
	if r := f.Range; r != nil {
		n, err := strconv.Atoi(v.Text)
		if err == nil && r.Bounded && (n < r.Least || n > r.Most) && !f.Sensitive {
			d.failAt(v, at, "", "%d is out of range: expected %d to %d", n, r.Least, r.Most)
			return false
		}
		if err != nil || n < r.Least || (r.Bounded && n > r.Most) {
			d.failAt(v, at, "", "expected %s, got %s", r, strings.Trim(f.shown(v), `"`))
			return false
		}
	}

	// The values of a text may be listed.
	if len(f.Values) == 0 {
		return true
	}
	var names []string
	for _, c := range f.Values {
		if c.Name == v.Text {
			return c.By == 0 || d.Able == nil || d.Able(c.By, fieldName(at)+": "+c.Name, v.Pos, at.Path())
		}
		names = append(names, c.Name)
	}

	// The nearest name is the hint, unless the field knows a better one.
	hint := object.DidYouMean(v.Text, names)
	if f.Other != nil && f.Other(v.Text) != "" {
		hint = f.Other(v.Text)
	}
	d.failAt(v, at, hint, "%s is not known: expected %s", f.shown(v), strings.Join(names, ", "))
	return false
}
