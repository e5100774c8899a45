// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/spec"
	"github.com/ropewalk/ropewalk/render/workload/score"
)

// Provisioner is one entry of a catalog.
type Provisioner struct {
	// Module is the index of its module in the project's list, and Index its own
	// index in that module.
	Module, Index int
	Type          string
	// Class and ID are "" for every class or id.
	Class, ID string
	// Name is the name of its module, for messages, and Pos its position there, which is not
	// valid if it is not known.
	Name string
	Pos  object.Pos
	// Config lists the fields of the project's config that it declares; with AnyConfig it
	// may read any field.
	Config    []string
	AnyConfig bool
}

// label returns the name of a provisioner for messages.
func (p Provisioner) label() string {
	if p.Name == "" {
		return fmt.Sprintf("the provisioner of type %q", p.Type)
	}
	return fmt.Sprintf("the provisioner of type %q in the module %q", p.Type, p.Name)
}

// Catalog holds the provisioners of a project by type, for each type in the order in which they are
// searched.
type Catalog struct {
	types  []string // sorted
	byType map[string][]Provisioner
}

// NewCatalog returns a catalog that searches the provisioners in their order.
func NewCatalog(provisioners []Provisioner) Catalog {
	c := Catalog{byType: map[string][]Provisioner{}}
	for _, p := range provisioners {
		c.byType[p.Type] = append(c.byType[p.Type], p)
	}
	c.types = object.SortedKeys(c.byType)
	return c
}

// DefaultClass is the class of a resource without a class (Score 0.4.1).
const DefaultClass = "default"

// Class returns the class of a resource, or DefaultClass.
func Class(r *score.Resource) string { return cmp.Or(r.Class.Value, DefaultClass) }

// OtherClasses returns the classes that resources of the type of r may have besides its own,
// sorted.
func (c Catalog) OtherClasses(r *score.Resource) []string {
	var out []string
	for _, p := range c.byType[r.Type.Value] {
		if p.Class != "" && p.Class != Class(r) && p.ID == "" {
			out = append(out, p.Class)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Find returns the first provisioner for the type, class and id of a resource. The function path
// returns the path of a field of the resource, for messages. An entry for one id never serves a
// resource without an id.
func (c Catalog) Find(r *score.Resource, path func(field string) string) (Provisioner, *object.Error) {
	entries := c.byType[r.Type.Value]
	for _, p := range entries {
		if (p.Class == "" || p.Class == Class(r)) && (p.ID == "" || p.ID == r.ID.Value) {
			return p, nil
		}
	}

	// The type is unknown.
	e := &object.Error{Stage: object.StageSpec, Pos: r.Type.Pos, Path: path("type")}
	if len(entries) == 0 {
		e.Err = fmt.Errorf("no provisioner makes a resource of type %q", r.Type.Value)
		e.Hint = fmt.Sprintf("add it with a CUE module under spec.workloads.provisioners of %s: "+
			"\"ropewalk provisioners --help\" shows how, \"ropewalk provisioners list\" which types there are", spec.ProjectFile)
		if near := c.suggestType(r.Type.Value); near != "" {
			e.Hint = near + " \"ropewalk provisioners --help\" shows how to add a type"
		}
		return Provisioner{}, e
	}

	// The type is known, but not for this class and id. Entries for certain ids are the closer
	// match.
	var classes, ids []string
	for _, p := range entries {
		if p.ID != "" && (p.Class == "" || p.Class == Class(r)) {
			ids = append(ids, p.ID)
			continue
		}
		classes = append(classes, p.Class)
	}
	if len(ids) > 0 {
		e.Path = path("id")
		e.Pos = cmp.Or(r.ID.Pos, r.Pos)
		e.Err = fmt.Errorf("provisioners of type %q and class %q are for certain ids only: %s", r.Type.Value, Class(r), joinNames(ids))
		e.Hint = "name one of them as id"
		return Provisioner{}, e
	}

	// No entry has the class.
	e.Path = path("class")
	e.Pos = cmp.Or(r.Class.Pos, e.Pos)
	e.Err = fmt.Errorf("no provisioner of type %q has the class %q; known: %s", r.Type.Value, Class(r), joinNames(classes))
	if r.Class.Value == "" {
		e.Err = fmt.Errorf("no provisioner of type %q makes it without a class; known: %s", r.Type.Value, joinNames(classes))
		e.Hint = "name one of them as class"
	} else if near, ok := object.Nearest(r.Class.Value, classes); ok {
		e.Hint = fmt.Sprintf("did you mean %q?", near)
	}
	return Provisioner{}, e
}

// suggestType returns a question for a type with a name like word, or "".
func (c Catalog) suggestType(word string) string {
	others := map[string]string{
		"postgresql": "postgres", "rabbitmq": "amqp", "mariadb": "mysql", "sqlserver": "mssql", "bucket": "s3", "minio": "s3",
		"ingress": "route", "config": "environment", "hpa": "horizontal-pod-autoscaler", "persistent-volume": "volume",
	}
	if name, ok := others[strings.ToLower(word)]; ok && len(c.byType[name]) > 0 {
		return fmt.Sprintf("did you mean %q?", name)
	}
	return object.DidYouMean(word, c.types)
}

// list returns the names sorted, each once, separated by commas.
func joinNames(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(names))), ", ")
}
