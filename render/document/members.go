// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// decodeMembers returns the valid fields of a map. It returns false if there is nothing to read.
func (d *Decoder) decodeMembers(f *Field, v object.Value, at *Location) (object.Value, bool) {
	if !d.checkLength(f, v, len(v.Members), "field", at) {
		return v, false
	}
	if f.Free {
		return v, true
	}

	// A field that was found, or that an unknown name was meant to be, is not missing.
	out := object.Value{Kind: object.KindMap, Pos: v.Pos, Members: make([]object.Member, 0, len(v.Members))}
	found := make([]bool, len(f.Fields))
	var names []string
	meant := map[string]bool{}
	var item *Field
	if f.Fields == nil {
		item = f.item()
	}
	for _, m := range v.Members {
		place, field := at.To(m.Name), item

		// Find the field of the name, or report the name.
		if f.Fields != nil {
			i := slices.IndexFunc(f.Fields, func(o Field) bool { return o.Name == m.Name })
			switch {
			case i >= 0:
				field = &f.Fields[i]
				found[i] = m.Value.Kind != object.KindNull
			case f.Apart != nil && f.Apart(m.Name):
				continue
			case f.Open && !f.meansAbsent(v, m.Name):
				out.Members = append(out.Members, m)
				continue
			default:
				if names == nil {
					names = f.names()
				}
				meant[d.reportUnknown(f, m, place, names)] = true
				continue
			}
		}
		if valid, ok := d.decodeMember(f, field, m, place); ok {
			out.Members = append(out.Members, object.Member{Name: m.Name, Pos: m.Pos, Value: valid})
		}
	}

	// Fields may be missing, or exclude one another.
	for i := range f.Fields {
		if field := &f.Fields[i]; field.Need && !found[i] && !meant[field.Name] {
			d.Fail(v.Pos, at.To(field.Name).Path(), field.missing(), "is missing")
		}
	}
	d.checkTogether(f, v, found, meant, at)
	return out, true
}

// decodeMember returns the value of a member of f with its own field. It returns false if the value is
// null or invalid.
func (d *Decoder) decodeMember(f, field *Field, m object.Member, place *Location) (object.Value, bool) {
	// A null counts as absent, unless the field allows it.
	nullField := f.Fields != nil && !field.NotNull
	removes := d.Gone != nil && d.Gone(m.Value)
	if m.Value.Kind == object.KindNull && (nullField || field.Null || removes) {
		d.reportNull(f, field, m, place)
		return object.Value{}, false
	}

	// The rule of free names applies to the name itself.
	if f.Fields == nil && !f.Names.Allows(m.Name) {
		before := len(d.Errs)
		d.Fail(m.Pos, place.Path(), f.Names.suggestion(m.Name), "%s", f.Names.problem(Shown(m.Name), m.Name))
		if d.secret > 0 && m.Value.Kind != object.KindMap { // Its value is on the same line.
			d.Hide(before)
		}
	}
	return d.decode(field, m.Value, place)
}

// missing returns the hint for a missing field.
func (f *Field) missing() string { return cmp.Or(f.Hint, plain(f.Doc)) }

// reportNull reports a field that is null.
func (d *Decoder) reportNull(f, field *Field, m object.Member, at *Location) {
	switch {
	case f.Fields == nil:
	case field.Need:
		d.failAt(m.Value, at, field.missing(), "is null, but must be given")
	case d.Null != nil:
		d.Null(m.Value, at.Path())
	}
}

// meansAbsent reports whether an unknown name was meant to be a required field that is absent. The
// map may have other members, so the name alone is not a mistake.
func (f *Field) meansAbsent(v object.Value, name string) bool {
	meant, ok := object.Nearest(name, f.names())
	if !ok {
		return false
	}
	_, found := v.Get(meant)
	return !found && slices.ContainsFunc(f.Fields, func(o Field) bool { return o.Need && o.Name == meant })
}

// names returns the names of the fields.
func (f *Field) names() []string {
	out := make([]string, len(f.Fields))
	for i, field := range f.Fields {
		out[i] = field.Name
	}
	return out
}

// reportUnknown reports a member that is not a field. It returns the field that was meant, which is
// not reported as missing.
func (d *Decoder) reportUnknown(f *Field, m object.Member, at *Location, names []string) (meant string) {
	d.Stray = d.Stray || at.parent == nil || at.parent.parent == nil
	if d.full(object.SeverityError) {
		return ""
	}
	meant, _ = object.Nearest(m.Name, names)
	hint := object.Suggest(m.Name, names)
	isElsewhere := f.Elsewhere != nil && f.Elsewhere(m.Name) != ""
	if isElsewhere {
		hint, meant = f.Elsewhere(m.Name), ""
	}
	for _, field := range f.Fields {
		hasName := slices.ContainsFunc(field.Fields, func(o Field) bool { return o.Name == m.Name })
		isMap := field.Kind == object.KindMap && (field.Need || at.parent == nil)
		if !isElsewhere && hasName && isMap {
			meant, hint = field.Name, "move it under "+field.Name
		}
	}
	if f.Sensitive { // The name is the name of a secret, with its value behind it.
		defer d.Hide(len(d.Errs))
	}
	d.Fail(m.Pos, at.Path(), hint, "unknown field %s", Shown(m.Name))
	return meant
}

// checkTogether reports fields that exclude one another, and fields that lack the fields that belong
// to them.
func (d *Decoder) checkTogether(f *Field, v object.Value, found []bool, meant map[string]bool, at *Location) {
	if len(f.OneOf)+len(f.Together) == 0 {
		return
	}
	has := func(name string) bool {
		return found[slices.IndexFunc(f.Fields, func(o Field) bool { return o.Name == name })] || meant[name]
	}
	var present []string
	for _, name := range f.OneOf {
		if has(name) {
			present = append(present, name)
		}
	}
	switch {
	case len(f.OneOf) == 0:
	case len(present) == 0:
		first := f.Fields[slices.IndexFunc(f.Fields, func(o Field) bool { return o.Name == f.OneOf[0] })]
		d.Fail(v.Pos, at.To(first.Name).Path(), cmp.Or(first.Hint, "write one of "+strings.Join(f.OneOf, ", ")), "is missing")
	case len(present) > 1:
		first, _ := v.Get(present[0])
		d.Fail(first.Pos, at.To(present[0]).Path(), "remove it, or remove "+present[1], "has no meaning beside %s", present[1])
	}
	for _, name := range f.Together {
		if !has(name) && slices.ContainsFunc(f.Together, has) {
			d.Fail(v.Pos, at.To(name).Path(), "", "is missing")
		}
	}
}
