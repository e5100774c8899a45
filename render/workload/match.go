// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/generate"
)

// catalog is the provisioners of a project by type, those of a type in the
// order in which they are searched.
type catalog struct {
	types  []string // sorted
	byType map[string][]Provisioner
}

func newCatalog(provisioners []Provisioner) catalog {
	c := catalog{byType: map[string][]Provisioner{}}
	for _, p := range provisioners {
		c.byType[p.Type] = append(c.byType[p.Type], p)
	}
	c.types = object.SortedKeys(c.byType)
	return c
}

// find is the first provisioner of the type, class and id. The id is "" where
// the author gave none: an entry for one id is never for an id that is made up.
func (c catalog) find(kind, class, id string) (Provisioner, bool) {
	for _, p := range c.byType[kind] {
		if (p.Class == "" || p.Class == class) && (p.ID == "" || p.ID == id) {
			return p, true
		}
	}
	return Provisioner{}, false
}

// match finds the provisioner of i; without one i is broken.
func (p *Project) match(i *instance) object.Errors {
	r := i.resource
	if r.Type.Value == "" {
		i.broken = true // The document is partial, which is reported.
		return nil
	}
	entry, ok := p.catalog.find(r.Type.Value, class(r), r.ID.Value)
	if ok {
		i.entry = entry
		return i.checkRoute()
	}
	i.broken = true
	e := &object.Error{Stage: object.StageSpec, Pos: r.Type.Pos, Path: i.owner.resourcePath(r, "type")}
	entries := p.catalog.byType[r.Type.Value]
	if len(entries) == 0 {
		e.Err = fmt.Errorf("no provisioner makes a resource of type %q; known: %s", r.Type.Value, list(p.catalog.types))
		if near, ok := object.Nearest(r.Type.Value, p.catalog.types); ok {
			e.Hint = fmt.Sprintf("did you mean %q?", near)
		}
		return object.Errors{e}
	}
	var classes, ids []string
	for _, entry := range entries {
		if entry.ID != "" && (entry.Class == "" || entry.Class == class(r)) {
			ids = append(ids, entry.ID)
			continue
		}
		classes = append(classes, entry.Class)
	}
	if len(ids) > 0 {
		e.Path, e.Pos = i.owner.resourcePath(r, "id"), r.Pos
		if r.ID.Pos.IsValid() {
			e.Pos = r.ID.Pos
		}
		e.Err = fmt.Errorf("provisioners of type %q and class %q are for certain ids only: %s", r.Type.Value, class(r), list(ids))
		e.Hint = "name one of them as id"
		return object.Errors{e}
	}
	e.Path = i.owner.resourcePath(r, "class")
	if r.Class.Pos.IsValid() {
		e.Pos = r.Class.Pos
	}
	e.Err = fmt.Errorf("no provisioner of type %q has the class %q; known: %s", r.Type.Value, class(r), list(classes))
	if r.Class.Value == "" {
		e.Err = fmt.Errorf("no provisioner of type %q makes it without a class; known: %s", r.Type.Value, list(classes))
		e.Hint = "name one of them as class"
	} else if near, ok := object.Nearest(r.Class.Value, classes); ok {
		e.Hint = fmt.Sprintf("did you mean %q?", near)
	}
	return object.Errors{e}
}

// checkRoute refuses a route that leads nowhere. Our own provisioner refuses it,
// too, and knows only the params as the position; one of others may lead elsewhere.
func (i *instance) checkRoute() object.Errors {
	r := i.resource
	if r.Type.Value != generate.TypeRoute || i.entry.Name != spec.DefaultProvisioners || len(i.owner.source.Spec.Ports) > 0 || i.owner.source.Partial {
		return nil
	}
	i.broken = true
	return object.Errors{{
		Stage: object.StageSpec, Pos: r.Pos, Path: i.owner.resourcePath(r),
		Err:  fmt.Errorf("the workload %q has no port that a route could lead to", i.owner.name()),
		Hint: "give it one under service.ports",
	}}
}

// list writes names once each, sorted.
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(names))), ", ")
}
