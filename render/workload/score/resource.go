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
	meta := e.get("metadata")
	extras := e.part
	if e.doc.Score {
		extras = meta
	}
	out := Resource{
		Name: e.name, Pos: e.namePos, Type: e.get("type").text(), Class: e.get("class").text(), ID: e.get("id").text(),
		Metadata: meta.Value, Params: e.get("params").Value, Direction: extras.get("direction").text(), Wait: extras.get("waitFor").flag(),
	}
	if slices.ContainsFunc(e.Errs, func(w *object.Error) bool { return w.Pos == e.namePos && w.Severity == object.SeverityError }) {
		out.Type.Value = "" // The name is wrong: no provisioner is asked for it.
	}
	if old, ok := e.Get("properties"); ok {
		e.decoder.warn(old.Pos, e.at.To("properties"), "remove properties", "older files declare outputs here; the outputs of a resource follow from its type")
	}
	return out
}
