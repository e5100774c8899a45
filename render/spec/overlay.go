// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"path"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// Overlay is laid over the objects of a spec that it selects.
type Overlay struct {
	// Pos and Path are its place in the document.
	Pos       object.Pos
	Path      object.Path
	Select    Selector
	DependsOn []object.Dependency
	ReadyWhen []object.Ready
	// Apply has the policies that are set; "" and nil leave those of the object.
	Apply object.Apply
	// Patch is a strategic merge patch (a map) or a list of operations of RFC 6902; of
	// KindNone where there is none.
	Patch object.Value
}

// Selector selects objects of a spec: all that is given must match. Texts are patterns of
// path.Match.
type Selector struct {
	Pos                          object.Pos
	Kind, Name, Namespace, Group string
	Labels                       map[string]string
}

// Matches reports whether o is selected.
func (s Selector) Matches(o object.Object) bool {
	for _, field := range [...]struct{ pattern, text string }{{s.Kind, o.Kind()}, {s.Name, o.Name()}, {s.Namespace, o.Namespace()}, {s.Group, o.Group()}} {
		if ok, err := path.Match(field.pattern, field.text); field.pattern != "" && (err != nil || !ok) {
			return false
		}
	}
	labels := o.Labels()
	for name, want := range s.Labels {
		if got, ok := labels[name]; !ok || got != want {
			return false
		}
	}
	return true
}

// overlays decodes what is laid over the objects of a spec called name.
func (f *fields) overlays(name string) []Overlay {
	items, at := f.list("overlays")
	var out []Overlay
	for i, v := range items {
		in := at.Append(object.Index(i))
		o := f.fields(v, in)
		before := len(f.errs)
		out = append(out, o.overlay(name, Overlay{Pos: v.Pos, Path: in}))
		if len(f.errs) == before && v.Kind == object.KindMap && len(v.Members) < 2 {
			f.fail(v.Pos, in, "write what is laid over: readyWhen, dependsOn, apply or patch", "lays nothing over what it selects")
		}
	}
	return out
}

func (f *fields) overlay(name string, out Overlay) Overlay {
	s := f.needChild("select")
	out.Select = Selector{Pos: s.value.Pos, Kind: s.pattern("kind"), Name: s.pattern("name"), Namespace: s.pattern("namespace"), Group: s.pattern("group")}
	out.Select.Labels = s.texts("labels", true)
	if s.done(); s.value.Kind == object.KindMap && len(s.value.Members) == 0 {
		f.fail(s.value.Pos, s.path, "write one of kind, name, namespace, group, labels; name: \"*\" selects all", "selects nothing")
	}
	items, at := f.list("dependsOn")
	for i, v := range items {
		in := at.Append(object.Index(i))
		if !f.kind(v, in, object.KindString) {
			continue
		}
		of, node, full := strings.Cut(v.Text, "/")
		if !full {
			of, node = name, v.Text
		}
		if of == "" || node == "" && !full || strings.ContainsAny(of+node, "/ \t\r\n") {
			f.fail(v.Pos, in, "", "%q is no node: expected a node of this spec (\"node\"), of another (\"spec/node\"), or a spec (\"spec/\")", v.Text)
			continue
		}
		out.DependsOn = append(out.DependsOn, object.Dependency{ID: object.MakeID(of, node), Pos: v.Pos})
	}
	rules, at := f.list("readyWhen")
	for i, v := range rules {
		out.ReadyWhen = append(out.ReadyWhen, f.fields(v, at.Append(object.Index(i))).ready())
	}
	if a, ok := f.child("apply"); ok {
		out.Apply = object.Apply{
			Mode:     a.enum("mode", object.ModeApply, object.ModeCreate, object.ModeReplace, object.ModeForce),
			Conflict: a.enum("conflict", object.ConflictEngine, object.ConflictError),
			Adopt:    a.enum("adopt", object.AdoptNever, object.AdoptTakeOwnership, object.AdoptMirror),
			Deletion: a.enum("deletion", object.DeletionDelete, object.DeletionOrphan),
		}
		if _, _, ok := a.get("prune"); ok {
			prune := a.flag("prune")
			out.Apply.Prune = &prune
		}
		a.done()
	}
	f.patch(&out)
	f.done()
	return out
}

// patch decodes what is changed of an object.
func (f *fields) patch(out *Overlay) {
	v, at, ok := f.get("patch")
	switch {
	case !ok:
		return
	case v.Kind == object.KindString:
		f.fail(v.Pos, at, "write the patch as YAML below patch:, without the bar", "expected a map or a list of operations, got text")
		return
	case v.Kind == object.KindList:
		for i, op := range v.Items {
			in := at.Append(object.Index(i))
			o := f.fields(op, in)
			kind := o.enum("op", "add", "copy", "move", "remove", "replace", "test")
			o.needText("op")
			o.needText("path")
			if slices.Contains([]string{"copy", "move"}, kind) {
				o.needText("from")
			}
			if slices.Contains([]string{"add", "replace", "test"}, kind) {
				o.need("value")
			}
			o.done()
		}
	case !f.kind(v, at, object.KindMap):
		return
	}
	out.Patch = v
}

// pattern is an optional pattern of path.Match.
func (f *fields) pattern(name string) string {
	text, pos := f.text(name)
	if _, err := path.Match(text, ""); err != nil {
		f.fail(pos, f.path.Append(object.Field(name)), "write a name, or a pattern such as \"app-*\"", "%q is not a valid pattern", text)
		return ""
	}
	return text
}

// ready decodes a rule for when an object is ready.
func (f *fields) ready() object.Ready {
	r := object.Ready{Pos: f.value.Pos}
	r.Type = f.enum("type", object.ReadyExists, object.ReadyConditionMatch, object.ReadyDeploymentAvailable, object.ReadyCEL)
	f.needText("type")
	for name, of := range map[string]string{"condition": object.ReadyConditionMatch, "status": object.ReadyConditionMatch, "expr": object.ReadyCEL} {
		if v, at, ok := f.get(name); ok && r.Type != of && r.Type != "" {
			f.fail(v.Pos, at, "remove it, or write type: "+of, "has no meaning for type %q", r.Type)
		}
	}
	switch r.Type {
	case object.ReadyConditionMatch:
		r.Condition = f.needText("condition").Text
		if r.Status = f.enum("status", "True", "False", "Unknown"); r.Status == "" {
			r.Status = "True"
		}
	case object.ReadyCEL:
		expr := f.needText("expr")
		r.Expr, r.ExprPos = expr.Text, f.where(expr).Pos
	}
	f.done()
	return r
}
