// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ropewalk/ropewalk/render/object"
)

// hashSuffix is the suffix that generators put behind the name of a ConfigMap or a Secret: the
// beginning of a hash in hex (Timoni, uuid.SHA1), or in the alphabet of kustomize.
var hashSuffix = regexp.MustCompile(`-([0-9a-f]{8,10}|[2456789bcdfghkmt]{10})$`)

// hashedName is the name of an object without its hash.
type hashedName struct{ kind, namespace, base string }

// withoutHash returns the name of an object whose name ends in a hash, and false if it does not.
func withoutHash(r object.Ref) (hashedName, bool) {
	at := hashSuffix.FindStringIndex(r.Name)
	if at == nil {
		return hashedName{}, false
	}
	return hashedName{r.Kind, r.Namespace, r.Name[:at[0]]}, true
}

// noteMissing notes a reference to a ConfigMap or a Secret that is not rendered. If a rendered
// object differs in the hash only, the reference is its older name: no pod with that reference
// starts.
func (f *finder) noteMissing(r object.Ref, place *link) {
	name, ok := withoutHash(r)
	if !ok {
		return
	}
	target, ok := f.hashed[name]
	if !ok {
		return
	}
	path := cursor{at: place}.path()
	for _, w := range f.warnings {
		if w.Node == f.item.node.ID && strings.Contains(w.Err.Error(), fmt.Sprintf("%q", r.Name)) {
			return
		}
	}
	rendered := f.items[target]
	f.warnings = append(f.warnings, &object.Error{
		Stage: object.StageGraph, Severity: object.SeverityWarning, Pos: f.item.node.Pos, Node: f.item.node.ID, Path: path.String(),
		Err:   fmt.Errorf("refers to the %s %q, which is not rendered; %q is", r.Kind, r.Name, rendered.ref.Name),
		Hint:  "the names differ in the hash only: compute both from the same data",
		Notes: []object.Note{{Pos: rendered.node.Pos, Text: "rendered here"}},
	})
}
