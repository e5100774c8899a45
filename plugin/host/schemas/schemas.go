// Copyright 2026 The Ropewalk Authors
// SPDX-License-Identifier: Apache-2.0

// Package schemas gives the JSON Schema of each kind of document that users write, for
// editors and other tools. They are made of the tables that the decoders hold documents
// against ([document.Document.Schema]).
//
// Caller: the command line.
package schemas

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ropewalk/ropewalk/plugin/host/release"
	"github.com/ropewalk/ropewalk/render/document"
	"github.com/ropewalk/ropewalk/render/document/kinds"
	"github.com/ropewalk/ropewalk/render/workload/gateway"
)

// Tables are the tables of all kinds, sorted by their names.
func Tables() []document.Document {
	all := append(append(kinds.All(), gateway.Table()), release.Tables()...)
	slices.SortFunc(all, func(a, b document.Document) int { return strings.Compare(a.Kind, b.Kind) })
	return all
}

// Kinds are the kinds that have a schema, sorted.
func Kinds() []string {
	var out []string
	for _, d := range Tables() {
		out = append(out, d.Kind)
	}
	return out
}

// Of is the JSON Schema of a kind, whose letters may be small. The error says that there is
// none.
func Of(kind string) ([]byte, error) {
	for _, d := range Tables() {
		if strings.EqualFold(d.Kind, kind) {
			return d.Schema()
		}
	}
	return nil, fmt.Errorf("there is no schema of %q", kind)
}
