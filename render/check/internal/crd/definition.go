// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package crd

// Definition is what checking needs of a CustomResourceDefinition.
type Definition struct {
	Group    string
	Kind     string
	Scope    string // Namespaced or Cluster
	Versions []Version
}

// Version is one version; its schema is text for [Schema].
type Version struct {
	Name    string
	Served  bool
	Storage bool
	Schema  string
}

// Read reads a CustomResourceDefinition from JSON without spaces.
func Read(content string) (Definition, error) {
	r := &reader{rest: content}
	var d Definition
	r.members(func(name string) {
		if name == "spec" {
			r.spec(&d)
		} else {
			r.raw()
		}
	})
	if r.rest != "" && r.rest != "\n" {
		r.fail()
	}
	if r.bad {
		return Definition{}, errText
	}
	return d, nil
}

func (r *reader) spec(d *Definition) {
	r.members(func(name string) {
		switch name {
		case "group":
			d.Group = r.text()
		case "scope":
			d.Scope = r.text()
		case "names":
			r.members(func(name string) {
				if name == "kind" {
					d.Kind = r.text()
				} else {
					r.raw()
				}
			})
		case "versions":
			r.items(func() { d.Versions = append(d.Versions, r.version()) })
		default:
			r.raw()
		}
	})
}

func (r *reader) version() (v Version) {
	r.members(func(name string) {
		switch name {
		case "name":
			v.Name = r.text()
		case "served":
			v.Served = r.truth()
		case "storage":
			v.Storage = r.truth()
		case "schema":
			r.members(func(name string) {
				if text := r.raw(); name == "openAPIV3Schema" {
					v.Schema = text
				}
			})
		default:
			r.raw()
		}
	})
	return v
}
