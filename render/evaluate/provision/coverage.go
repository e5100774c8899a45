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

// Cover returns what workloads may ask of the entries, a resource and its params, and whether one of
// the given workloads does. Each of them is the spec of a Workload. Paths begin with the entry, such as redis/default.port.
func (p *Provisioners) Cover(s *module.Session, workloads []object.Value) (points []evaluate.Point) {
	params := make([][]object.Value, len(p.list))
	for _, workload := range workloads {
		resources, _ := workload.Get("resources")
		for _, m := range resources.Members {
			if i := p.entryOf(m.Value); i >= 0 {
				workloadParams, _ := m.Value.Get(diagnose.FieldParams)
				params[i] = append(params[i], workloadParams)
			}
		}
	}
	entries := p.Entries(s)
	for i, listed := range p.list {
		title := listed.title()
		points = append(points, evaluate.Point{Path: title, What: "set", Pos: entries[i].Pos, Covered: len(params[i]) > 0})
		if listed.params {
			v := listed.value.LookupPath(cue.MakePath(cue.Str(diagnose.FieldParams)))
			points = append(points, inputs.CoverPart(s, v, object.Fields(title), params[i])...)
		}
	}
	return points
}

// entryOf returns the index of the first entry that makes a resource, or -1 if no entry does.
func (p *Provisioners) entryOf(resource object.Value) int {
	text := func(name string) string {
		v, _ := resource.Get(name)
		return v.Text
	}
	kind, class, id := text("type"), cmp.Or(text("class"), "default"), text("id")
	for i, listed := range p.list {
		anyClass, anyID := listed.Class == "", listed.ID == ""
		if listed.Type == kind && (anyClass || listed.Class == class) && (anyID || listed.ID == id) {
			return i
		}
	}
	return -1
}

// title returns how a workload asks for a resource of the entry. The class * is any class.
func (p *provisioner) title() string {
	title := p.Type + "/" + cmp.Or(p.Class, "*")
	if p.ID != "" {
		title += "#" + p.ID
	}
	return title
}
