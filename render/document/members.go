// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// decodeMembers returns the fields of a map that are right. It returns false if there is nothing
// to read.
func (d *Decoder) decodeMembers(f *Field, v object.Value, at *Location) (object.Value, bool) {
	if !d.checkLength(f, v, len(v.Members), "field", at) {
		return v, false
	}
	if f.Free {
		return v, true
	}

	// What was found, and what an unknown name was meant to be, is not missing.
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

		// Find the field of the name, or report the name.
		if f.Fields != nil {
			i := slices.IndexFunc(f.Fields, func(o Field) bool { return o.Name == m.Name })
			switch {
			case i >= 0:
				own = &f.Fields[i]
				found[i] = m.Value.Kind != object.KindNull
			case f.Apart != nil && f.Apart(m.Name):
				continue
			case f.Open && !f.meansAbsent(v, m.Name):
				out.Members = append(out.Members, m)
				continue
			default:
				if known == nil {
					known = f.names()
				}
				meant[d.reportUnknown(f, m, in, known)] = true
				continue
			}
		}
		if good, ok := d.decodeMember(f, own, m, in); ok {
			out.Members = append(out.Members, object.Member{Name: m.Name, Pos: m.Pos, Value: good})
		}
	}

	// Fields may be missing, or exclude one another.
	for i := range f.Fields {
		if own := &f.Fields[i]; own.Need && !found[i] && !meant[own.Name] {
			d.Fail(v.Pos, at.To(own.Name).Path(), own.missing(), "is missing")
		}
	}
	d.checkTogether(f, v, found, meant, at)
	return out, true
}

// decodeMember returns the value of a member of f, whose field is own. It returns false if it is
// null or wrong.
func (d *Decoder) decodeMember(f, own *Field, m object.Member, in *Location) (object.Value, bool) {
	// A null is as if it were not there, unless the field allows it.
	if m.Value.Kind == object.KindNull && (f.Fields != nil && !own.NotNull || own.Null || d.Gone != nil && d.Gone(m.Value)) {
		d.reportNull(f, own, m, in)
		return object.Value{}, false
	}

	// Where names are free, the name itself has a rule.
	if f.Fields == nil && !f.Names.Allows(m.Name) {
		before := len(d.Errs)
		d.Fail(m.Pos, in.Path(), f.Names.hint(m.Name), "%s", f.Names.wrong(Shown(m.Name), m.Name))
		if d.secret > 0 && m.Value.Kind != object.KindMap { // Its value is on the same line.
			d.Hide(before)
		}
	}
	return d.decode(own, m.Value, in)
}

// missing returns what to do about a field that is missing.
func (f *Field) missing() string { return cmp.Or(f.Hint, plain(f.Doc)) }

// reportNull reports a field that is null.
func (d *Decoder) reportNull(f, own *Field, m object.Member, at *Location) {
	switch {
	case f.Fields == nil:
	case own.Need:
		d.fail(m.Value, at, own.missing(), "is null, but must be given")
	case d.Null != nil:
		d.Null(m.Value, at.Path())
	}
}

// meansAbsent reports whether an unknown name was meant to be that of a field that must be given
// and is absent. The map may have other members, so the name alone is no mistake.
func (f *Field) meansAbsent(v object.Value, name string) bool {
	meant, ok := object.Nearest(name, f.names())
	if !ok {
		return false
	}
	_, given := v.Get(meant)
	return !given && slices.ContainsFunc(f.Fields, func(o Field) bool { return o.Need && o.Name == meant })
}

// names returns the names of the fields.
func (f *Field) names() []string {
	out := make([]string, len(f.Fields))
	for i, own := range f.Fields {
		out[i] = own.Name
	}
	return out
}

// reportUnknown reports a member that is no field. It returns the field that was meant, which is
// thus not missing.
func (d *Decoder) reportUnknown(f *Field, m object.Member, at *Location, known []string) (meant string) {
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

// checkTogether reports fields that exclude one another, and fields that are given without those
// that belong to them.
func (d *Decoder) checkTogether(f *Field, v object.Value, found []bool, meant map[string]bool, at *Location) {
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
