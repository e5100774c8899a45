// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"slices"

	"github.com/ropewalk/ropewalk/internal/reftype"
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/source"
)

// Reference is a reference of a document, with what it leads to.
type Reference struct {
	source.Ref
	Tree source.Tree
	// Pos is the place of its text.
	Pos object.Pos
	// Version is the place of the version where that is a field of its own; the zero value
	// elsewhere.
	Version object.Pos
	// Digest is the place of the digest beside the version; the zero value where there is none.
	Digest object.Pos
	// Module says that it is a module, and not files of a component.
	Module bool
}

// references are those to servers that were fetched. Dependencies of charts, remote bases of
// kustomizations and dependencies of modules of CUE are none of a document.
func (m *modules) references(all []reference) (out []Reference) {
	for _, w := range all {
		kind, _ := reftype.Of(w.key.Type)
		tree, ok := m.trees[w.key]
		if !ok || m.errs[w.key] != nil || !kind.Remote {
			continue
		}
		out = append(out, Reference{Ref: w.key.Ref, Tree: tree, Pos: w.ref.RefPos, Version: w.ref.VersionPos, Digest: w.ref.DigestPos, Module: !w.key.files})
	}
	slices.SortStableFunc(out, func(a, b Reference) int { return a.Pos.Compare(b.Pos) })
	return out
}
