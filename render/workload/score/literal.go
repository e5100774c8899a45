// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

package score

import (
	"github.com/ropewalk/ropewalk/render/object"
	"github.com/ropewalk/ropewalk/render/workload/placeholder"
)

// The hints for a placeholder where Score does not expand it: only Kubernetes expands variables,
// and only in commands and arguments.
const (
	useVariable = "put it into a variable and write $(VARIABLE) here"
	useValue    = "write the value itself"
)

// warnLiterals warns of placeholders in the texts of p, which Score does not expand.
func (p part) warnLiterals(hint string) {
	switch p.Kind {
	case object.KindString:
		p.warnLiteral(p.Pos, p.loc, p.Text, hint)
	case object.KindList:
		for _, item := range p.parts() {
			item.warnLiterals(hint)
		}
	case object.KindMap:
		for _, e := range p.entries() {
			e.warnLiterals(hint)
		}
	default:
	}
}

// warnLiteral warns of a placeholder in a text that is used unchanged.
func (d *decoder) warnLiteral(pos object.Pos, loc *location, text, hint string) {
	if found := placeholder.Find(text); found != "" {
		d.warnAt(pos, loc, hint, "%s is not expanded: placeholders have no effect here", shown(found))
	}
}
