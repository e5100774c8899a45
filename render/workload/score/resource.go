// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// resources decodes what the workload needs.
func (d *decoder) resources(p part) {
	for _, e := range p.entries() {
		good := d.name(e.namePos, e.at, e.name)
		r := e.resource()
		if !good {
			r.Type.Value = "" // No provisioner is asked for it.
		}
		d.out.Resources = append(d.out.Resources, r)
	}
	slices.SortFunc(d.out.Resources, func(a, b Resource) int { return strings.Compare(a.Name, b.Name) })
}

// resource decodes one resource. Direction and waitFor are extras: in a Score
// file they stand in the metadata of the resource, which Score leaves open.
func (e entry) resource() Resource {
	out := Resource{Name: e.name, Pos: e.namePos}
	if e.Kind == object.KindNull {
		e.fail("write {type: postgres}, or the type that it is", "expected a map with the type of the resource, got null")
		return out
	}
	f := e.fields()
	if p := f.need("type", "write type: postgres, or the one that it is"); p.given() {
		out.Type = p.word()
	}
	if p := f.get("class"); p.given() {
		out.Class = p.word()
	}
	if p := f.get("id"); p.given() {
		out.ID = p.id()
	}
	extras := f
	if p := f.get("metadata"); p.given() && p.is(object.KindMap) {
		out.Metadata = p.Value
		meta := p.fields()
		meta.get("annotations").pairs(e.badKey, anything)
		if e.doc.Score {
			extras = meta
		}
	} else if e.doc.Score {
		extras = part{decoder: e.decoder}.fields()
	}
	if p := extras.get("direction"); p.given() {
		out.Direction = p.enum(DirectionInbound, DirectionOutbound)
	}
	out.Wait = extras.get("waitFor").flag()
	if p := f.get("params"); p.given() && p.is(object.KindMap) {
		out.Params = p.Value
	}
	if m, ok := e.Get("properties"); ok && e.doc.Score {
		f.known = append(f.known, "properties")
		e.decoder.warn(m.Pos, e.field("properties"), "remove properties", "older files declare outputs here; the outputs of a resource follow from its type")
	}
	f.done(func(name string) string {
		if e.doc.Score && (name == "direction" || name == "waitFor") {
			return "in a Score file it goes under metadata of the resource"
		}
		return ""
	})
	return out
}
