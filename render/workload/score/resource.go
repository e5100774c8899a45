// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"slices"

	"github.com/ropewalk/ropewalk/render/object"
)

// resource decodes one resource. Direction and waitFor are extras: in a Score file they are in
// the metadata of the resource, which Score leaves open.
func (e entry) resource() Resource {
	meta := e.field("metadata")
	extras := e.part
	if e.doc.Score {
		extras = meta
	}
	out := Resource{
		Name: e.name, Pos: e.namePos, Type: e.field("type").asText(), Class: e.field("class").asText(), ID: e.field("id").asText(),
		Metadata: meta.Value, Params: e.field("params").Value,
		Direction: extras.field("direction").asText(), Wait: extras.field("waitFor").flag(),
	}

	// No provisioner is looked up for a resource whose name has a mistake.
	badName := slices.ContainsFunc(e.Errs, func(w *object.Error) bool {
		return w.Pos == e.namePos && w.Severity == object.SeverityError
	})
	if badName {
		out.Type.Value = ""
	}
	if properties, ok := e.Get("properties"); ok {
		e.warnAt(properties.Pos, e.loc.To("properties"), "remove properties",
			"older files declare outputs here; the outputs of a resource follow from its type")
	}
	return out
}
