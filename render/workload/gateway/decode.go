// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// maxErrors bounds what is reported on one document.
const maxErrors = 100

// decoder holds a document against the table.
type decoder struct {
	target string
	// can are the targets that can do all of it.
	can Set
	// names are those of the settings.
	names []string
	errs  object.Errors
}

// fail reports a mistake, unless one of the same part or in it is known: what is wrong is
// not missing too.
func (d *decoder) fail(pos object.Pos, at object.Path, hint, format string, args ...any) {
	path := at.String()
	known := slices.ContainsFunc(d.errs, func(e *object.Error) bool { return e.Path == path || strings.HasPrefix(e.Path, path+".") })
	if len(d.errs) < maxErrors && !known {
		d.errs = append(d.errs, mistake(pos, at, hint, format, args...))
	}
}

func mistake(pos object.Pos, at object.Path, hint, format string, args ...any) *object.Error {
	return &object.Error{Stage: object.StageSpec, Pos: pos, Path: at.String(), Err: fmt.Errorf(format, args...), Hint: hint}
}

// able reports whether the target can do what; else that is a mistake.
func (d *decoder) able(by Set, what string, pos object.Pos, at object.Path) bool {
	if by == 0 || d.target == "" || by.Has(d.target) {
		return true
	}
	d.fail(pos, at, "remove it"+by.instead(d.can), "the target %s has no %s", d.target, what)
	return false
}

// value holds v against a field. It returns what is good of it, and false where nothing is.
func (d *decoder) value(f Field, v object.Value, at object.Path) (object.Value, bool) {
	if f.Off && v.Kind == object.KindBool && v.Text == "false" {
		return v, true
	}
	scalar := v.Kind == object.KindString || v.Kind == object.KindNumber
	if v.Kind != f.Kind && (!f.Text || !scalar) {
		expected := cmp.Or(map[Rule]string{duration: "duration such as 30s", seconds: "number of seconds such as 600"}[f.Rule], f.Kind.String())
		if f.Text {
			expected = "string or a number"
		}
		if f.Off {
			expected += ", or false"
		}
		d.fail(v.Pos, at, "", "expected a %s, got a %s", expected, v.Kind)
		return v, false
	}
	if !d.able(f.By, what(at), v.Pos, at) {
		return v, false
	}
	switch {
	case f.Kind == object.KindMap && len(v.Members) == 0:
		d.fail(v.Pos, at, "remove it, or write a field", "must not be empty")
		return v, false
	case f.Kind == object.KindMap:
		return d.members(f, v, at), true
	case f.Kind == object.KindList:
		return d.items(f, v, at)
	default:
		return v, d.scalar(f, v, at)
	}
}

// what names a field in a message: timeouts.request, for that of a route as for the default.
func what(at object.Path) string {
	var names []string
	for i, step := range at[1:] {
		if !step.IsIndex && (i > 0 || step.Name != "routes") {
			names = append(names, step.Name)
		}
	}
	return strings.Join(names, ".")
}

// members are the good fields of a map.
func (d *decoder) members(f Field, v object.Value, at object.Path) object.Value {
	out := object.Value{Kind: object.KindMap, Pos: v.Pos}
	var known []string
	for _, own := range f.Fields {
		known = append(known, own.Name)
	}
	misspelt := map[string]bool{}
	for _, m := range v.Members {
		i, in := slices.Index(known, m.Name), at.Append(object.Field(m.Name))
		own := Field{Kind: object.KindString, Rule: f.Rule}
		switch {
		case f.Fields == nil && !headerName.holds(m.Name):
			d.fail(m.Pos, in, "", "%q is not %s", m.Name, headerName)
			continue
		case f.Fields != nil && i < 0:
			near, _ := object.Nearest(m.Name, known)
			misspelt[near] = true
			d.fail(m.Pos, in, object.Suggest(m.Name, known), "unknown field %q", m.Name)
			continue
		case i >= 0:
			own = f.Fields[i]
		}
		if m.Value.Kind == object.KindNull {
			continue
		}
		if good, ok := d.value(own, m.Value, in); ok {
			out.Members = append(out.Members, object.Member{Name: m.Name, Pos: m.Pos, Value: good})
		}
	}
	for _, own := range f.Fields {
		if given, ok := v.Get(own.Name); own.Need && (!ok || given.Kind == object.KindNull) && !misspelt[own.Name] {
			d.fail(v.Pos, at.Append(object.Field(own.Name)), own.Doc, "is missing")
		}
	}
	return out
}

// items are the items of a list, which has at least one, and no scalar twice; a map that is
// wrong is an empty one.
func (d *decoder) items(f Field, v object.Value, at object.Path) (object.Value, bool) {
	out := object.Value{Kind: object.KindList, Pos: v.Pos}
	if len(v.Items) == 0 {
		d.fail(v.Pos, at, "remove the field, or write an item", "must not be empty")
		return out, false
	}
	own := Field{Kind: object.KindString, Rule: f.Rule, Values: f.Values}
	if f.Fields != nil {
		own = Field{Kind: object.KindMap, Fields: f.Fields}
	}
	seen := map[string]bool{}
	for i, item := range v.Items {
		in := at.Append(object.Index(i))
		good, ok := d.value(own, item, in)
		switch {
		case !ok && f.Fields != nil:
			out.Items = append(out.Items, object.Value{Kind: object.KindMap, Pos: item.Pos})
		case !ok:
		case f.Fields == nil && seen[item.Text]:
			d.fail(item.Pos, in, "", "%q is written twice", item.Text)
		default:
			seen[item.Text] = true
			out.Items = append(out.Items, good)
		}
	}
	return out, len(out.Items) > 0
}

// scalar reports whether a text, a number or a truth is what the field may be.
func (d *decoder) scalar(f Field, v object.Value, at object.Path) bool {
	if !f.Rule.holds(v.Text) {
		shown := strconv.Quote(v.Text)
		if strings.Contains(v.Text, "@") || f.Name == "header" || f.Rule == headerValue { // It may be a password.
			shown = "this"
		}
		d.fail(v.Pos, at, "", "%s is not %s", shown, f.Rule)
		return false
	}
	if len(f.Values) == 0 {
		return true
	}
	var names []string
	for _, c := range f.Values {
		if c.Name == v.Text {
			return d.able(c.By, what(at)+": "+c.Name, v.Pos, at)
		}
		names = append(names, c.Name)
	}
	hint := object.DidYouMean(v.Text, names)
	if f.Name == "target" && strings.HasPrefix(v.Text, "haproxy") {
		hint = "HAProxy has two controllers with different annotations: " + Haproxytech +
			" is haproxytech/kubernetes-ingress, " + Jcmoraisjr + " is jcmoraisjr/haproxy-ingress"
	}
	d.fail(v.Pos, at, hint, "%q is not known: expected %s", v.Text, strings.Join(names, ", "))
	return false
}
