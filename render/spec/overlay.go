// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"cmp"
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

// overlays are what is laid over the objects of a spec called name.
func (p part) overlays(name string) []Overlay {
	var out []Overlay
	for _, item := range p.items("overlays") {
		out = append(out, item.overlay(name))
		if len(item.Members) < 2 {
			item.Fail("write what is laid over: readyWhen, dependsOn, apply or patch", "lays nothing over what it selects")
		}
	}
	return out
}

func (p part) overlay(name string) Overlay {
	s := p.at("select")
	out := Overlay{Pos: p.Pos, Path: p.Path, Patch: p.Field("patch"), Select: Selector{
		Pos: s.Pos, Kind: s.at("kind").Text, Name: s.at("name").Text, Namespace: s.at("namespace").Text, Group: s.at("group").Text, Labels: s.Texts("labels"),
	}}
	if s.Given() && len(s.Members) == 0 {
		s.Fail("write one of kind, name, namespace, group, labels; name: \"*\" selects all", "selects nothing")
	}
	for _, item := range p.items("dependsOn") {
		of, node, full := strings.Cut(item.Text, "/")
		if !full {
			of, node = name, item.Text
		}
		if of == "" || node == "" && !full || strings.ContainsAny(of+node, "/ \t\r\n") {
			item.Fail("", "%q is no node: expected a node of this spec (\"node\"), of another (\"spec/node\"), or a spec (\"spec/\")", item.Text)
			continue
		}
		out.DependsOn = append(out.DependsOn, object.Dependency{ID: object.MakeID(of, node), Pos: item.Pos})
	}
	for _, item := range p.items("readyWhen") {
		out.ReadyWhen = append(out.ReadyWhen, item.ready())
	}
	a := p.at("apply")
	out.Apply = object.Apply{Mode: a.at("mode").Text, Conflict: a.at("conflict").Text, Adopt: a.at("adopt").Text, Deletion: a.at("deletion").Text}
	if a.at("prune").Given() {
		prune := a.Flag("prune")
		out.Apply.Prune = &prune
	}
	for _, op := range p.items("patch") {
		for name, kinds := range map[string][]string{"from": {"copy", "move"}, "value": {"add", "replace", "test"}} {
			if !op.at(name).Given() && slices.Contains(kinds, op.at("op").Text) {
				op.at(name).Fail("", "is missing")
			}
		}
	}
	return out
}

// ready is a rule for when an object is ready.
func (p part) ready() object.Ready {
	r := object.Ready{Pos: p.Pos, Type: p.at("type").Text}
	for name, of := range map[string]string{"condition": object.ReadyConditionMatch, "status": object.ReadyConditionMatch, "expr": object.ReadyCEL} {
		switch v := p.at(name); {
		case v.Given() && r.Type != of && r.Type != "":
			v.Fail("remove it, or write type: "+of, "has no meaning for type %q", r.Type)
		case !v.Given() && r.Type == of && name != "status":
			v.Fail("", "is missing")
		}
	}
	switch r.Type {
	case object.ReadyConditionMatch:
		r.Condition, r.Status = p.at("condition").Text, cmp.Or(p.at("status").Text, "True")
	case object.ReadyCEL:
		expr := p.at("expr")
		r.Expr, r.ExprPos = expr.Text, expr.where().Pos
	}
	return r
}
