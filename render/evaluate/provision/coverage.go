// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package provision

import (
	"cmp"

	"cuelang.org/go/cue"

	"github.com/ropewalk/ropewalk/render/evaluate"
	"github.com/ropewalk/ropewalk/render/evaluate/diagnose"
	"github.com/ropewalk/ropewalk/render/evaluate/inputs"
	"github.com/ropewalk/ropewalk/render/evaluate/module"
	"github.com/ropewalk/ropewalk/render/object"
)

// Cover returns what workloads may ask of the entries, and whether any of the given ones does: that
// there is a resource of the entry, and its params. Each given value is the spec of a Workload.
// Paths begin with the entry, such as redis/default.port.
func (p *Provisioners) Cover(s *module.Session, given []object.Value) (out []evaluate.Point) {
	params := make([][]object.Value, len(p.list))
	for _, workload := range given {
		resources, _ := workload.Get("resources")
		for _, m := range resources.Members {
			if i := p.entryOf(m.Value); i >= 0 {
				own, _ := m.Value.Get(diagnose.FieldParams)
				params[i] = append(params[i], own)
			}
		}
	}
	entries := p.Entries(s)
	for i, one := range p.list {
		title := one.title()
		out = append(out, evaluate.Point{Path: title, What: "set", Pos: entries[i].Pos, Covered: len(params[i]) > 0})
		if one.params {
			v := one.value.LookupPath(cue.MakePath(cue.Str(diagnose.FieldParams)))
			out = append(out, inputs.CoverPart(s, v, object.Fields(title), params[i])...)
		}
	}
	return out
}

// entryOf returns the index of the first entry that makes a resource, or -1 if there is none.
func (p *Provisioners) entryOf(resource object.Value) int {
	text := func(name string) string {
		v, _ := resource.Get(name)
		return v.Text
	}
	kind, class, id := text("type"), cmp.Or(text("class"), "default"), text("id")
	for i, one := range p.list {
		if one.Type == kind && (one.Class == "" || one.Class == class) && (one.ID == "" || one.ID == id) {
			return i
		}
	}
	return -1
}

// title returns how a workload asks for a resource of the entry. The class * is any class.
func (p *provisioner) title() string {
	out := p.Type + "/" + cmp.Or(p.Class, "*")
	if p.ID != "" {
		out += "#" + p.ID
	}
	return out
}
