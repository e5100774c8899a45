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

// Decode holds v against a field, whose place in its document is at. It returns what is good
// of v, and false where nothing is. In what is good, null is left out, an item of a list that
// is wrong is an empty map, or KindNone in a list of others, and all else is as it was written.
func (d *Decoder) Decode(f Field, v object.Value, at object.Path) (object.Value, bool) {
	place := (*Location)(nil)
	for _, step := range at {
		place = &Location{place, step}
	}
	return d.value(&f, v, place)
}

// value is Decode.
func (d *Decoder) value(f *Field, v object.Value, at *Location) (object.Value, bool) {
	before := len(d.Errs)
	if f.Sensitive {
		d.secret++
		defer func() { d.secret-- }()
	}
	good, ok := d.held(f, v, at)
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

func (d *Decoder) held(f *Field, v object.Value, at *Location) (object.Value, bool) {
	if f.Off && v.Kind == object.KindBool && v.Text == "false" {
		return v, true
	}
	if !f.takes(v) {
		for _, other := range f.Or {
			if other.takes(v) {
				other.Sensitive = other.Sensitive || f.Sensitive
				return d.value(&other, v, at)
			}
		}
		d.kind(f, v, at)
		return v, false
	}
	if f.By != 0 && d.Able != nil && !d.Able(f.By, what(at), v.Pos, at.Path()) {
		return v, false
	}
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
	switch f.Kind {
	case object.KindMap:
		return d.members(f, v, at)
	case object.KindList:
		return d.items(f, v, at)
	case object.KindString, object.KindNumber:
		return v, d.scalar(f, v, at)
	case object.KindNone, object.KindNull, object.KindBool:
	}
	return v, true
}

// takes reports whether the kind of a value is one that the field may have.
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

// kind reports a value of another kind, with what was probably meant.
func (d *Decoder) kind(f *Field, v object.Value, at *Location) {
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
	hint, scalar := "", v.Kind == object.KindNumber || v.Kind == object.KindBool
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

// members are the good fields of a map.
func (d *Decoder) members(f *Field, v object.Value, at *Location) (object.Value, bool) {
	if !d.bounded(f, v, len(v.Members), "field", at) {
		return v, false
	}
	if f.Free {
		return v, true
	}
	out := object.Value{Kind: object.KindMap, Pos: v.Pos, Members: make([]object.Member, 0, len(v.Members))}
	found := make([]bool, len(f.Fields))
	var known []string
	meant := map[string]bool{}
	var item *Field
	if f.Fields == nil {
		item = f.item()
	}
	for _, m := range v.Members {
		in, own := at.To(m.Name), item
		if f.Fields != nil {
			i := slices.IndexFunc(f.Fields, func(o Field) bool { return o.Name == m.Name })
			switch {
			case i >= 0:
				own, found[i] = &f.Fields[i], m.Value.Kind != object.KindNull
			case f.Apart != nil && f.Apart(m.Name):
				continue
			case f.Open && !f.instead(v, m.Name):
				out.Members = append(out.Members, m)
				continue
			default:
				if known == nil {
					known = f.names()
				}
				meant[d.unknown(f, m, in, known)] = true
				continue
			}
		}
		if good, ok := d.member(f, own, m, in); ok {
			out.Members = append(out.Members, object.Member{Name: m.Name, Pos: m.Pos, Value: good})
		}
	}
	for i := range f.Fields {
		if own := &f.Fields[i]; own.Need && !found[i] && !meant[own.Name] {
			d.Fail(v.Pos, at.To(own.Name).Path(), own.missing(), "is missing")
		}
	}
	d.together(f, v, found, meant, at)
	return out, true
}

// member is the good value of a member of f, whose field is own.
func (d *Decoder) member(f, own *Field, m object.Member, in *Location) (object.Value, bool) {
	if m.Value.Kind == object.KindNull && (f.Fields != nil && !own.NotNull || own.Null || d.Gone != nil && d.Gone(m.Value)) {
		d.null(f, own, m, in)
		return object.Value{}, false
	}
	if f.Fields == nil && !f.Names.Allows(m.Name) {
		before := len(d.Errs)
		d.Fail(m.Pos, in.Path(), f.Names.hint(m.Name), "%s", f.Names.wrong(Shown(m.Name), m.Name))
		if d.secret > 0 && m.Value.Kind != object.KindMap { // Its value is on the same line.
			d.Hide(before)
		}
	}
	return d.value(own, m.Value, in)
}

// missing is what to do where the field is missing.
func (f *Field) missing() string { return cmp.Or(f.Hint, plain(f.Doc)) }

// null reports a field that is null.
func (d *Decoder) null(f, own *Field, m object.Member, at *Location) {
	switch {
	case f.Fields == nil:
	case own.Need:
		d.fail(m.Value, at, own.missing(), "is null, but must be given")
	case d.Null != nil:
		d.Null(m.Value, at.Path())
	}
}

// instead reports whether a name that is not known was meant to be that of a field that must
// be there and is not, in a map that has others.
func (f *Field) instead(v object.Value, name string) bool {
	meant, ok := object.Nearest(name, f.names())
	if !ok {
		return false
	}
	_, given := v.Get(meant)
	return !given && slices.ContainsFunc(f.Fields, func(o Field) bool { return o.Need && o.Name == meant })
}

// names are those of the fields.
func (f *Field) names() []string {
	out := make([]string, len(f.Fields))
	for i, own := range f.Fields {
		out[i] = own.Name
	}
	return out
}

// unknown reports a member that is no field. It returns the field that was meant, which is
// thus not missing.
func (d *Decoder) unknown(f *Field, m object.Member, at *Location, known []string) (meant string) {
	d.Stray = d.Stray || at.up == nil || at.up.up == nil
	if d.full(object.SeverityError) {
		return ""
	}
	meant, _ = object.Nearest(m.Name, known)
	hint := object.Suggest(m.Name, known)
	said := f.Elsewhere != nil && f.Elsewhere(m.Name) != ""
	if said {
		hint, meant = f.Elsewhere(m.Name), ""
	}
	for _, own := range f.Fields {
		if !said && slices.ContainsFunc(own.Fields, func(o Field) bool { return o.Name == m.Name }) && own.Kind == object.KindMap && (own.Need || at.up == nil) {
			meant, hint = own.Name, "move it under "+own.Name
		}
	}
	if f.Sensitive { // A secret by its name, with its value.
		defer d.Hide(len(d.Errs))
	}
	d.Fail(m.Pos, at.Path(), hint, "unknown field %s", Shown(m.Name))
	return meant
}

// together reports fields that exclude one another, and those that are there without others.
func (d *Decoder) together(f *Field, v object.Value, found []bool, meant map[string]bool, at *Location) {
	if len(f.OneOf)+len(f.Together) == 0 {
		return
	}
	has := func(name string) bool {
		return found[slices.IndexFunc(f.Fields, func(o Field) bool { return o.Name == name })] || meant[name]
	}
	var given []string
	for _, name := range f.OneOf {
		if has(name) {
			given = append(given, name)
		}
	}
	switch {
	case len(f.OneOf) == 0:
	case len(given) == 0:
		first := f.Fields[slices.IndexFunc(f.Fields, func(o Field) bool { return o.Name == f.OneOf[0] })]
		d.Fail(v.Pos, at.To(first.Name).Path(), cmp.Or(first.Hint, "write one of "+strings.Join(f.OneOf, ", ")), "is missing")
	case len(given) > 1:
		first, _ := v.Get(given[0])
		d.Fail(first.Pos, at.To(given[0]).Path(), "remove it, or remove "+given[1], "has no meaning beside %s", given[1])
	}
	for _, name := range f.Together {
		if !has(name) && slices.ContainsFunc(f.Together, has) {
			d.Fail(v.Pos, at.To(name).Path(), "", "is missing")
		}
	}
}

// bounded reports too few or too many members or items; false says that there is none to read.
func (d *Decoder) bounded(f *Field, v object.Value, n int, part string, at *Location) bool {
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

// items are the good items of a list.
func (d *Decoder) items(f *Field, v object.Value, at *Location) (object.Value, bool) {
	if !d.bounded(f, v, len(v.Items), "item", at) {
		return v, false
	}
	if f.Free {
		return v, true
	}
	out := object.Value{Kind: object.KindList, Pos: v.Pos}
	own := f.item()
	seen := map[string]bool{}
	for i, item := range v.Items {
		in := at.Item(i)
		if own.Null && item.Kind == object.KindNull {
			out.Items = append(out.Items, object.Value{Pos: item.Pos})
			continue
		}
		good, ok := d.value(own, item, in)
		switch {
		case !ok && own.Kind == object.KindMap:
			out.Items = append(out.Items, object.Value{Kind: object.KindMap, Pos: item.Pos})
		case !ok: // It keeps its place, so that the paths of the others are right.
			out.Items = append(out.Items, object.Value{Pos: item.Pos})
		case f.Unique && seen[item.Text]:
			d.fail(item, in, "", "%q is written twice", item.Text)
		default:
			seen[item.Text] = true
			out.Items = append(out.Items, good)
		}
	}
	good := slices.ContainsFunc(out.Items, func(i object.Value) bool { return i.Kind != object.KindNone })
	return out, good || len(v.Items) == 0
}

// shown is a value as a message repeats it.
func (f *Field) shown(v object.Value) string {
	if f.Sensitive || f.Rule.Secret != nil && f.Rule.Secret(v.Text) {
		return "this"
	}
	return Shown(v.Text)
}

// scalar reports whether a text or a number is what the field may be.
func (d *Decoder) scalar(f *Field, v object.Value, at *Location) bool {
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
	if len(f.Values) == 0 {
		return true
	}
	var names []string
	for _, c := range f.Values {
		if c.Name == v.Text {
			return c.By == 0 || d.Able == nil || d.Able(c.By, what(at)+": "+c.Name, v.Pos, at.Path())
		}
		names = append(names, c.Name)
	}
	hint := object.DidYouMean(v.Text, names)
	if f.Other != nil && f.Other(v.Text) != "" {
		hint = f.Other(v.Text)
	}
	d.fail(v, at, hint, "%s is not known: expected %s", f.shown(v), strings.Join(names, ", "))
	return false
}
