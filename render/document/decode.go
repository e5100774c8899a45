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

// Decoder holds values against tables. The zero value is ready for use.
type Decoder struct {
	// Errs are the mistakes so far, those of one document, in no order that means anything.
	Errs object.Errors
	// Failed counts the errors, with those that are not in Errs as they are known.
	Failed int
	// Able reports whether the target of the document can do what, which By of a field or of
	// a value allows to some targets; a mistake where it cannot is reported by it. It may be
	// nil.
	Able func(by Set, what string, pos object.Pos, at object.Path) bool
	// Null is told of a field that is null, which is as if it were not there. Gone reports
	// whether a null takes a member of a map away whose names are free. They may be nil.
	Null func(v object.Value, at object.Path)
	Gone func(v object.Value) bool
	// Loose is told of a number or a bool where text is meant, and reports whether that is
	// read as text. All are where it is nil.
	Loose func(v object.Value, at object.Path) bool
	// Stray is set if a field near the root is not known, which may be a known one misspelt.
	Stray bool

	// secret is above 0 inside of a sensitive field.
	secret int
}

// Decode decodes v by the table of a field, whose place in the document is at. It returns the
// parts of v that are right, and false if there are none. Null is left out of these parts. An
// item of a list that is wrong becomes an empty map, or KindNone in a list of other values. All
// else is as it was written.
func (d *Decoder) Decode(f Field, v object.Value, at object.Path) (object.Value, bool) {
	place := (*Location)(nil)
	for _, step := range at {
		place = &Location{place, step}
	}
	return d.decode(&f, v, place)
}

// decode does the work of Decode. It also keeps sensitive values out of excerpts.
func (d *Decoder) decode(f *Field, v object.Value, at *Location) (object.Value, bool) {
	before := len(d.Errs)
	if f.Sensitive {
		d.secret++
		defer func() { d.secret-- }()
	}
	good, ok := d.decodeShape(f, v, at)
	if f.Hidden != nil && f.Hidden(v) {
		d.Hide(before)
	}
	return good, ok
}

// Hide keeps what is written out of the excerpts of the mistakes from before on.
func (d *Decoder) Hide(before int) {
	for _, e := range d.Errs[before:] {
		e.Secret = true
	}
}

// decodeShape decodes v by the shape of the field that takes a value of its kind.
func (d *Decoder) decodeShape(f *Field, v object.Value, at *Location) (object.Value, bool) {
	if f.Off && v.Kind == object.KindBool && v.Text == "false" {
		return v, true
	}

	// A value of another kind may be one of the other shapes of the field.
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

	// The target may not be able to do what the field says.
	if f.By != 0 && d.Able != nil && !d.Able(f.By, fieldName(at), v.Pos, at.Path()) {
		return v, false
	}

	// A number or a bool may stand where text is meant.
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

	// Each kind of value has rules of its own.
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

// takes reports whether the field may have a value of this kind.
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

// reportKind reports a value of another kind, with what was probably meant.
func (d *Decoder) reportKind(f *Field, v object.Value, at *Location) {
	// Name all shapes that the field may have.
	expected := f.expected()
	or := slices.DeleteFunc(slices.Clone(f.Or), func(o Field) bool { return o.Kind == object.KindNull })
	for i, other := range or {
		if f.Rule.Short != "" { // It names all shapes.
			break
		}
		expected = expected + map[bool]string{true: " or a ", false: ", a "}[i == len(or)-1] + other.expected()
	}
	if f.Off {
		expected += ", or false"
	}

	// The hint says what the author most likely meant.
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
	d.fail(v, at, hint, "expected a %s, got %s", expected, got)
}

// expected names what the field may be.
func (f *Field) expected() string {
	switch {
	case f.Rule.Short != "":
		return f.Rule.Short
	case f.Text && f.Kind != object.KindBool:
		return "string or a number"
	}
	return f.Kind.String()
}

// isWord reports whether text is a name as keys are.
func isWord(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(c rune) bool { return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') })
}

// fieldName names a field in a message, such as timeouts.request. An item of a list has the same
// name as the field without a list.
func fieldName(at *Location) string {
	var names []string
	for path := at.Path(); len(path) > 1; path = path[1:] {
		if !path[1].IsIndex && (len(path) < 3 || !path[2].IsIndex || len(names) > 0) {
			names = append(names, path[1].Name)
		}
	}
	return strings.Join(names, ".")
}

// checkLength reports too few or too many members or items. It returns false if there are none to
// read.
func (d *Decoder) checkLength(f *Field, v object.Value, n int, part string, at *Location) bool {
	switch {
	case n == 0 && f.Least > 0 && f.Hint != "":
		d.fail(v, at, f.Hint, "must not be empty")
		return false
	case n == 0 && f.Least > 0:
		d.fail(v, at, cmp.Or(f.Hint, "remove it, or write "+map[string]string{"field": "a field", "item": "an item"}[part]), "must not be empty")
		return false
	case n < f.Least:
		d.fail(v, at, "", "expected %d %ss at least, got %d", f.Least, part, n)
	case f.Most > 0 && n > f.Most:
		if v.Kind == object.KindMap {
			v.Pos = v.Members[f.Most].Pos
		}
		d.fail(v, at, "remove the others", "expected at most %s, got %d", printable.Count(f.Most, part), n)
	}
	return true
}

// decodeItems returns the items of a list that are right. It returns false if there are none,
// though the list has some.
func (d *Decoder) decodeItems(f *Field, v object.Value, at *Location) (object.Value, bool) {
	if !d.checkLength(f, v, len(v.Items), "item", at) {
		return v, false
	}
	if f.Free {
		return v, true
	}

	// An item that is wrong keeps its place, so that the paths of the others are right.
	out := object.Value{Kind: object.KindList, Pos: v.Pos}
	own := f.item()
	seen := map[string]bool{}
	for i, item := range v.Items {
		in := at.Item(i)
		if own.Null && item.Kind == object.KindNull {
			out.Items = append(out.Items, object.Value{Pos: item.Pos})
			continue
		}
		good, ok := d.decode(own, item, in)
		switch {
		case !ok && own.Kind == object.KindMap:
			out.Items = append(out.Items, object.Value{Kind: object.KindMap, Pos: item.Pos})
		case !ok:
			out.Items = append(out.Items, object.Value{Pos: item.Pos})
		case f.Unique && seen[item.Text]:
			d.fail(item, in, "", "%q is written twice", item.Text)
		default:
			seen[item.Text] = true
			out.Items = append(out.Items, good)
		}
	}
	someRight := slices.ContainsFunc(out.Items, func(i object.Value) bool { return i.Kind != object.KindNone })
	return out, someRight || len(v.Items) == 0
}

// shown returns a value as a message repeats it.
func (f *Field) shown(v object.Value) string {
	if f.Sensitive || f.Rule.Secret != nil && f.Rule.Secret(v.Text) {
		return "this"
	}
	return Shown(v.Text)
}

// checkScalar reports whether a text or a number is what the field may be.
func (d *Decoder) checkScalar(f *Field, v object.Value, at *Location) bool {
	if f.Full && v.Text == "" {
		d.fail(v, at, "", "must not be empty")
		return false
	}
	if !f.Rule.Allows(v.Text) {
		if f.Sensitive {
			defer d.Hide(len(d.Errs))
		}
		d.fail(v, at, cmp.Or(f.Rule.hint(v.Text), f.Hint), "%s", f.Rule.wrong(f.shown(v), v.Text))
		return false
	}

	// A number may be out of range.
	if r := f.Range; r != nil {
		n, err := strconv.Atoi(v.Text)
		if err == nil && r.Bounded && (n < r.Least || n > r.Most) && !f.Sensitive {
			d.fail(v, at, "", "%d is out of range: expected %d to %d", n, r.Least, r.Most)
			return false
		}
		if err != nil || n < r.Least || r.Bounded && n > r.Most {
			d.fail(v, at, "", "expected %s, got %s", r, strings.Trim(f.shown(v), `"`))
			return false
		}
	}

	// A text may be one of a few that are known.
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
	d.fail(v, at, hint, "%s is not known: expected %s", f.shown(v), strings.Join(names, ", "))
	return false
}
